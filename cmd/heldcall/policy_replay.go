package main

import (
	"context"
	"fmt"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/policylearn"
	"github.com/heldcall/heldcall/internal/strictyaml"
	"github.com/heldcall/heldcall/internal/textview"
)

// recorded selects calls that a running heldcall has recorded.
type recorded struct {
	connection
	outputFlag
	Since  string `placeholder:"TIME" default:"7d" help:"Age of the oldest calls to judge, such as 12h (default: 7d)."`
	Tenant string `help:"Only calls of this tenant."`
	User   string `help:"Only calls of this user."`
	Agent  string `help:"Only calls of this agent."`
}

// each calls take with the events of the calls, oldest first.
func (c *recorded) each(ctx context.Context, s *streams, take func(*approvals.Event)) error {
	since, err := strictyaml.ParseDuration(c.Since)
	if err != nil {
		return usagef("--since: %w", err)
	}
	console, err := c.dial(ctx, s)
	if err != nil {
		return err
	}
	for e, err := range console.Audit(ctx, time.Now().Add(-since)) {
		if err != nil {
			return err
		}
		p := e.Principal
		if (c.Tenant == "" || c.Tenant == p.Tenant) && (c.User == "" || c.User == p.User) && (c.Agent == "" || c.Agent == p.Agent) {
			take(&e)
		}
	}
	return nil
}

type policyReplayCommand struct {
	recorded
	agentPolicy
}

// Help explains the exit codes.
func (c *policyReplayCommand) Help() string {
	return "Exit code 0 if the policy gives every recorded call its recorded verdict, else 1."
}

// Run judges the calls that a running heldcall has recorded by another policy, and
// prints what would have changed. It fails if anything would have.
func (c *policyReplayCommand) Run(ctx context.Context, s *streams) error {
	rules, err := c.load()
	if err != nil {
		return err
	}
	r := policylearn.NewReplay(rules)
	if err := c.each(ctx, s, r.Take); err != nil {
		return err
	}
	if c.json() {
		err = textview.JSON(s.out, r)
	} else {
		err = r.Print(s.out)
	}
	if err == nil && r.Changed > 0 {
		err = fmt.Errorf("%d of %d calls would have another verdict", r.Changed, r.Judged)
	}
	return err
}
