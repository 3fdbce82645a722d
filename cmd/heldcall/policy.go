package main

import (
	"fmt"

	"github.com/heldcall/heldcall/approvals/policy"
)

type policyCommand struct {
	Check policyCheckCommand `cmd:"" help:"Say whether a policy file is valid."`
}

type policyCheckCommand struct {
	File string `arg:"" help:"The policy file."`
}

// Run checks a policy file.
func (c *policyCheckCommand) Run(s *streams) error {
	if _, err := policy.Load(c.File); err != nil {
		return err
	}
	_, err := fmt.Fprintf(s.out, "%s: ok\n", printable(c.File))
	return err
}
