package policy

import (
	"fmt"

	"github.com/heldcall/heldcall/approvals/policy/workspace"
)

// Workspace returns the folders in which agents work, nil if the policy names none.
func (p *Policy) Workspace() *workspace.Workspace {
	if w := p.rules.Known.Workspace; w.HasFolders() {
		return w
	}
	return nil
}

// In returns the policy with another workspace, such as that of one client, or with the
// folder of an agent: see [workspace.Workspace.Of].
func (p *Policy) In(w *workspace.Workspace) *Policy {
	return &Policy{rules: p.rules.Work(w), grants: p.grants, results: p.results}
}

// CheckOwn returns an error if the workspace holds one of heldcall's files.
func (p *Policy) CheckOwn(files ...string) error {
	for _, file := range files {
		if folder := p.Workspace().Holds(file); folder != "" {
			return fmt.Errorf("the workspace %s holds heldcall's own file %s, which agents may not write: move it (docs/hardening.md)", folder, file)
		}
	}
	return nil
}
