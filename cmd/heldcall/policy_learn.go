package main

import (
	"context"
	"fmt"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/internal/policylearn"
	"github.com/heldcall/heldcall/internal/sanitize"
	"github.com/heldcall/heldcall/internal/textview"
)

type policyLearnCommand struct {
	recorded
	agentPolicy
	Approved int  `default:"3" help:"How many approved requests a proposal needs."`
	Sessions int  `default:"2" help:"In how many sessions."`
	Verbose  bool `short:"v" help:"List the other patterns of approved calls too, and why they are not proposed."`
	Write    bool `help:"Write the rules into the policy file."`
}

// Run proposes rules from the decisions that a running heldcall has recorded.
func (c *policyLearnCommand) Run(ctx context.Context, s *streams) error {
	if c.Approved < 1 || c.Sessions < 1 {
		return usagef("--approved and --sessions: write a number above 0")
	}
	rules, err := c.load()
	if err != nil {
		return err
	}
	q := approvals.ProposalQuery{Approved: c.Approved, Sessions: c.Sessions}
	l := policylearn.New(c.Policy, q, func(approvals.Principal) *policy.Policy { return rules })
	if err := c.each(ctx, s, l.Take); err != nil {
		return err
	}
	proposals := l.Proposals()
	if c.json() {
		err = textview.JSON(s.out, proposals)
	} else {
		err = policylearn.Print(s.out, &proposals, c.Verbose)
	}
	if err != nil || len(proposals.Items) == 0 || (c.json() && !c.Write) {
		return err
	}
	file, err := policylearn.Open(c.Policy, proposals.Items)
	switch {
	case err != nil:
		return err
	case !c.Write:
		return file.Diff(s.out)
	}
	if err := file.Write(); err != nil || c.json() {
		return err
	}
	_, err = fmt.Fprintf(s.out, "%s: written\n", sanitize.Line(c.Policy))
	return err
}
