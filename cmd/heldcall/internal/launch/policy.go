package launch

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/heldcall/heldcall/approvals/policy/starter"
	"github.com/heldcall/heldcall/internal/sanitize"
)

// choosePolicy makes a policy for the folder of the command where there is none. It is kept with the
// state of the run, where the command cannot write, and made again for each run.
func (u *Setup) choosePolicy(state, work string) error {
	p := &u.Config.Policy
	if !p.Absent() || state == "" {
		return nil
	}
	if own := filepath.Join(work, "policy.yaml"); exists(own) { // as without a configuration elsewhere
		p.File, p.FileNamed = own, true
		u.Notes += fmt.Sprintf("heldcall: the configuration names no policy, so that of this folder applies: %s\n", sanitize.Line(own))
		return nil
	}
	o := starter.Options{Command: "heldcall run", File: filepath.Join(state, "policy.yaml"), Workspace: []string{work}}
	text, err := starter.Policy(o)
	if err != nil {
		u.Notes += fmt.Sprintf("heldcall: there is no policy, and none is made for this folder, so every call is asked about: %s\n", sanitize.Line(err.Error()))
		return nil
	}
	if err := os.MkdirAll(state, 0o700); err != nil {
		return fmt.Errorf("make the folder of this run: %w", err)
	}
	if err := os.WriteFile(o.File, text, 0o600); err != nil {
		return fmt.Errorf("write the policy of this run: %w", err)
	}
	p.File, p.FileNamed = o.File, true
	u.Notes += fmt.Sprintf("heldcall: there is no policy.yaml here, so the policy to start from applies: %s\n%s", sanitize.Line(o.File), sanitize.Lines(starter.Trust(o)))
	return nil
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
