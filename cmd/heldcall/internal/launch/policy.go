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
	if !p.Absent() {
		file := p.File
		if !filepath.IsAbs(file) {
			file = filepath.Join(work, file)
		}
		u.policy = "heldcall: the policy is " + sanitize.Line(file)
		return nil
	}
	if own := filepath.Join(work, "policy.yaml"); exists(own) { // as without a configuration elsewhere
		p.File, p.FileNamed = own, true
		u.policy = "heldcall: the configuration names no policy, so that of this folder applies: " + sanitize.Line(own)
		return nil
	}
	if state == "" {
		u.policy = "heldcall: there is no policy, and no home folder for one, so you are asked about every call"
		return nil
	}
	o := starter.Options{Command: "heldcall run", File: filepath.Join(state, "policy.yaml"), Workspace: []string{work}}
	text, err := starter.Policy(o)
	if err != nil {
		u.policy = "heldcall: there is no policy, and none is made for this folder, so you are asked about every call: " + sanitize.Line(err.Error())
		return nil
	}
	if err := os.WriteFile(o.File, text, 0o600); err != nil {
		return fmt.Errorf("write the policy of this run: %w", err)
	}
	p.File, p.FileNamed = o.File, true
	u.policy = "heldcall: there is no policy.yaml here, so the policy to start from applies: " + sanitize.Line(o.File)
	u.trust = sanitize.Lines(starter.Trust(o))
	return nil
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
