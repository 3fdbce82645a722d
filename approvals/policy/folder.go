package policy

import (
	"path/filepath"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/workspace"
)

// Grant returns the grant without its compiled form.
func (c *CompiledGrant) Grant() approvals.Grant { return c.grant }

// Holds returns the first of some files that is in the folder of the grant, or "".
func (c *CompiledGrant) Holds(files ...string) string {
	folder := workspace.New([]workspace.Folder{c.folder})
	for _, file := range files {
		absolute, err := filepath.Abs(file)
		if err != nil || folder.Holds(absolute) != "" {
			return file
		}
	}
	return ""
}

// foldersOf returns the grants that add folders to the workspace of the run of a call.
func (g *Grants) foldersOf(c *Call) (found []*CompiledGrant) {
	for _, set := range g.of(c.Principal, c.Session) {
		for _, folder := range set.folders {
			if folder.isOpenFor(c) {
				found = append(found, folder)
			}
		}
	}
	return found
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

func idsOf(grants []*CompiledGrant) []string {
	ids := make([]string, len(grants))
	for i, g := range grants {
		ids[i] = g.grant.ID
	}
	return ids
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
