package approvals

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// GrantTerms are the default terms of a remembered decision: the exact call, in its own
// session, for [DefaultGrantTime].
type GrantTerms struct {
	Patterns []string   `json:"patterns"` // suggested patterns without a *; none: the reviewer must write some
	Scope    GrantScope `json:"scope"`    // the narrowest that the call and its rules permit
	Expires  string     `json:"expires"`  // a duration, such as "8h0m0s"
}

// DefaultGrantTime is how long a decision is remembered by default.
const DefaultGrantTime = 8 * time.Hour

// narrowestFirst has all scopes in the order in which a default is chosen.
var narrowestFirst = [...]GrantScope{GrantSession, GrantAgent, GrantUser, GrantTenant}

// GrantScopesOf returns the scopes that a grant for the request may have, the narrowest
// first. A request without a session id has no scope session.
func (r *Request) GrantScopesOf() []GrantScope {
	return slices.DeleteFunc(slices.Clone(narrowestFirst[:]), func(s GrantScope) bool {
		return (len(r.RememberScopes) > 0 && !slices.Contains(r.RememberScopes, s)) || (s == GrantSession && r.SessionID == "")
	})
}

// DefaultGrant returns the terms of an allow_always or deny_always without patterns, scope
// and end; nil if decisions on the request are not remembered. A pattern that covers more
// than one call has a *, an exact one has none.
func (r *Request) DefaultGrant() *GrantTerms {
	scopes := r.GrantScopesOf()
	if r.whyNotRemember() != "" {
		return nil
	}
	exact := slices.DeleteFunc(slices.Clone(r.SuggestedPatterns), func(p string) bool { return strings.Contains(p, "*") })
	return &GrantTerms{Patterns: append([]string{}, exact...), Scope: scopes[0], Expires: DefaultGrantTime.String()}
}

// Whose describes the calls that a grant of a scope for the request covers, such as "this
// session" or "every agent of the user ann".
func (r *Request) Whose(s GrantScope) string {
	user := " of the user " + r.Principal.User
	if r.Principal.User == "" {
		user = " without a user"
	}
	agent := "the agent " + r.Principal.Agent
	if r.Principal.Agent == "" {
		agent = "each agent without a name"
	}
	switch s {
	case GrantSession:
		return "this session"
	case GrantAgent:
		return agent + user
	case GrantUser:
		return "every agent" + user
	}
	return "all agents of the tenant " + r.Principal.Tenant
}

// NeverExpires is the GrantExpiresAt of a decision whose grant lasts until it is
// revoked. It is the zero time; nil would mean [DefaultGrantTime].
func NeverExpires() *time.Time { return &time.Time{} }

// FillGrant sets the missing terms of the grant of a decision to their defaults. A
// template has its own terms.
func (d *Decision) FillGrant(r *Request, now time.Time) error {
	never := d.GrantExpiresAt != nil && d.GrantExpiresAt.IsZero()
	if d.Template != "" {
		if never {
			return Invalid("grant_expires_at", "the template has an end; name a time or leave it out")
		}
		return nil
	}
	if terms := r.DefaultGrant(); terms != nil {
		if len(d.Patterns) == 0 {
			d.Patterns = terms.Patterns
		}
		if d.Scope == "" {
			d.Scope = terms.Scope
		}
	}
	switch {
	case never:
		d.GrantExpiresAt = nil
	case d.GrantExpiresAt == nil:
		at := now.UTC().Add(DefaultGrantTime)
		d.GrantExpiresAt = &at
	}
	return nil
}

// GrantEnd is the end of a grant in the payload of a decision: a time, or "never".
type GrantEnd struct{ Time time.Time }

const neverWord = "never"

// UnmarshalJSON reads a time of RFC 3339 or "never", which is the zero time.
func (e *GrantEnd) UnmarshalJSON(text []byte) error {
	if string(text) == `"`+neverWord+`"` {
		e.Time = time.Time{}
		return nil
	}
	return json.Unmarshal(text, &e.Time)
}

// MarshalJSON writes what UnmarshalJSON reads.
func (e GrantEnd) MarshalJSON() ([]byte, error) {
	if e.Time.IsZero() {
		return []byte(`"` + neverWord + `"`), nil
	}
	text, err := json.Marshal(e.Time)
	if err != nil {
		return nil, fmt.Errorf("write the end of a grant: %w", err)
	}
	return text, nil
}
