package main

import (
	"fmt"
	"os"

	"github.com/heldcall/heldcall/approvals/policy/claudecode"
	"github.com/heldcall/heldcall/internal/sanitize"
)

type policyImportCommand struct {
	From string `required:"" enum:"claude-code" placeholder:"claude-code" help:"The agent whose settings these are."`
	File string `arg:"" help:"The settings file, such as .claude/settings.json."`
}

// Run prints a policy with the permissions of a settings file. What it cannot take over is in its first lines and on
// standard error.
func (c *policyImportCommand) Run(s *streams) error {
	settings, err := os.ReadFile(c.File)
	if err != nil {
		return fmt.Errorf("read the settings: %w", err)
	}
	text, left, err := claudecode.Import("heldcall policy import --from claude-code "+c.File, c.File, settings)
	if err != nil {
		return err
	}
	for _, one := range left {
		fmt.Fprintf(s.err, "not taken over: %s\n", sanitize.Line(one.String()))
	}
	if _, err := s.out.Write(text); err != nil {
		return fmt.Errorf("write the policy: %w", err)
	}
	return nil
}
