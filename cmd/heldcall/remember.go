package main

import (
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/strictyaml"
)

// rememberFlags are how a decision is remembered.
type rememberFlags struct {
	Always   bool     `help:"Remember the decision: apply it to the same call in this session for 8 hours."`
	Pattern  []string `sep:"none" help:"With --always: pattern to remember, such as 'bash(npm run *)'; repeatable. Default: exactly this call." placeholder:"PATTERN"`
	Scope    string   `help:"With --always: session (default), agent, user (every agent of the user) or tenant." placeholder:"SCOPE"`
	Expires  string   `help:"With --always: expiry, e.g. 30m, 7d, 2026-12-31T00:00:00Z or never. Default: 8h." placeholder:"WHEN"`
	Template string   `help:"With --always: a template of grants.templates in the configuration, instead of pattern, scope and expiry." placeholder:"NAME"`
}

// grantFlags are what a grant has beside its patterns.
type grantFlags struct {
	Scope    string `help:"user (every agent of the user; default), agent, session or tenant." placeholder:"SCOPE"`
	Expires  string `help:"Expiry, e.g. 8h or 2026-12-31T00:00:00Z; default: never." placeholder:"WHEN"`
	Template string `help:"Template of grants.templates in the configuration, which defines the rest." placeholder:"NAME"`
}

// remember turns a decision into a remembered one if the flags ask for it.
func (f *rememberFlags) remember(d approvals.Decision, always approvals.Action) (approvals.Decision, error) {
	if !f.Always {
		if len(f.Pattern) > 0 || f.Scope != "" || f.Expires != "" || f.Template != "" {
			return d, usagef("--pattern, --scope, --expires and --template require --always")
		}
		return d, nil
	}
	expires := approvals.NeverExpires()
	if f.Expires != "never" {
		var err error
		if expires, err = (&grantFlags{Expires: f.Expires}).expires(time.Now()); err != nil {
			return d, err
		}
	}
	d.Action, d.Patterns, d.Scope, d.Template, d.GrantExpiresAt = always, f.Pattern, approvals.GrantScope(f.Scope), f.Template, expires
	return d, nil
}

// expires is when the grant ends, nil if it does not.
func (f *grantFlags) expires(now time.Time) (*time.Time, error) {
	if f.Expires == "" {
		return nil, nil
	}
	expires, err := time.Parse(time.RFC3339, f.Expires)
	if err == nil {
		return &expires, nil
	}
	after, err := strictyaml.ParseDuration(f.Expires)
	if err != nil || after <= 0 {
		return nil, usagef("--expires: %q is neither a time such as 8h or 7d nor one such as 2026-12-31T00:00:00Z", f.Expires)
	}
	expires = now.Add(after).UTC()
	return &expires, nil
}
