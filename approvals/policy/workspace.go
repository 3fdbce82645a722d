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

// withFolders returns the policy with the folders of grants in its workspace, if it has one.
func (p *Policy) withFolders(grants []*CompiledGrant) *Policy {
	folders := make([]workspace.Folder, len(grants))
	for i, g := range grants {
		folders[i] = g.folder
	}
	return p.withMore(folders...)
}

func (p *Policy) withMore(folders ...workspace.Folder) *Policy {
	w := p.Workspace()
	if w == nil || len(folders) == 0 {
		return p
	}
	return p.In(w.With(folders...))
}

// folderThatAllows returns the repository outside of the workspace in which a call works that people are asked about, if the
// call would be allowed with it in the workspace; else "".
func (e *evaluation) folderThatAllows() string {
	c := &e.c.Call
	if c.Run == "" || c.Unoffered != "" || e.policy.Workspace() == nil || e.c.Exhausted() != "" {
		return ""
	}
	folder, err := workspace.NewFolder(e.c.Places.RepositoryOutside(), "")
	if err != nil {
		return ""
	}
	if v, _ := e.policy.withMore(folder).judged(*c); v.Action != Allow {
		return ""
	}
	return folder.Path()
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
