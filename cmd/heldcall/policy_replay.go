package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/approvals/policy"
)

type policyReplayCommand struct {
	connection
	outputFlag
	Policy string `placeholder:"FILE" default:"policy.yaml" help:"The new policy file (policy.yaml)."`
	Since  string `placeholder:"TIME" default:"7d" help:"Age of the oldest calls to judge, such as 12h (default: 7d)."`
	Tenant string `help:"Only calls of this tenant."`
	User   string `help:"Only calls of this user."`
	Agent  string `help:"Only calls of this agent."`
}

// Help explains the exit codes.
func (c *policyReplayCommand) Help() string {
	return "Exit code 0 if the policy gives every recorded call its recorded verdict, else 1."
}

// Run judges the calls that a running heldcall has recorded by another policy, and
// prints what would have changed. It fails if anything would have.
func (c *policyReplayCommand) Run(ctx context.Context, s *streams) error {
	since, err := app.ParseDuration(c.Since)
	if err != nil {
		return usagef("--since: %w", err)
	}
	rules, err := loadPolicy(c.Policy)
	if err != nil {
		return err
	}
	console, err := c.dial()
	if err != nil {
		return err
	}
	r := newReplay(rules)
	for e, err := range console.Audit(ctx, time.Now().Add(-since)) {
		if err != nil {
			return err
		}
		if c.wants(e.Principal) {
			r.take(&e)
		}
	}
	if c.json() {
		err = printJSON(s.out, r)
	} else {
		err = r.print(s.out)
	}
	if err == nil && r.Changed > 0 {
		err = fmt.Errorf("%d of %d calls would have another verdict", r.Changed, r.Judged)
	}
	return err
}

func (c *policyReplayCommand) wants(p approvals.Principal) bool {
	return (c.Tenant == "" || c.Tenant == p.Tenant) && (c.User == "" || c.User == p.User) && (c.Agent == "" || c.Agent == p.Agent)
}

// replay is recorded calls as a policy judges them.
type replay struct {
	Judged  int       `json:"judged"`
	Same    int       `json:"same"`
	Changed int       `json:"changed"`
	Skipped int       `json:"skipped"` // decided by a grant, or a call that wraps others
	Changes []*change `json:"changes"`

	rules *judge.Rules
	known map[change]*change // without their numbers
}

// change is a call, or several alike, that would have been decided otherwise.
type change struct {
	Was     policy.Action `json:"was"`
	Now     policy.Action `json:"now"`
	Calls   int           `json:"calls"`
	Tool    string        `json:"tool"`
	Preview string        `json:"preview"`
	WasRule string        `json:"was_rule"`
	Rule    string        `json:"rule"`
	Reason  string        `json:"reason"`
}

func newReplay(rules *policy.Policy) *replay {
	return &replay{rules: judge.NewRules(rules), Changes: []*change{}, known: map[change]*change{}}
}

// take judges the call of an event, if it has one.
func (r *replay) take(e *approvals.Event) {
	from, call, was, ok := judge.Recorded(e)
	if !ok {
		return
	}
	_, wraps := call.Wrapped()
	if byGrant := strings.HasPrefix(e.Rule, "grant ") || strings.Contains(e.Rule, ", grant "); wraps || byGrant {
		r.Skipped++
		return
	}
	r.Judged++
	judged, _ := r.rules.Judge(context.Background(), from, call, nil) // counts in memory do not fail
	v := judged.Verdict
	if v.Action == was {
		r.Same++
		return
	}
	r.Changed++
	one := change{Was: was, Now: v.Action, Tool: call.Name, Preview: v.Preview, WasRule: e.Rule, Rule: v.Rule, Reason: v.Reason}
	if r.known[one] == nil {
		like := one
		r.known[one] = &like
		r.Changes = append(r.Changes, &like)
	}
	r.known[one].Calls++
}

// print shows what would have changed, and how much.
func (r *replay) print(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(r.Changes) > 0 {
		fmt.Fprintln(table, "WAS\tNOW\tCALLS\tTOOL\tCALL\tRULE")
	}
	for _, one := range r.Changes {
		fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%s\t%s\n", one.Was, one.Now, one.Calls,
			printable(one.Tool), shorten(printable(one.Preview), previewWidth), printable(one.Rule))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%d calls judged: %d as they were, %d otherwise; %d not judged\n", r.Judged, r.Same, r.Changed, r.Skipped)
	return err
}
