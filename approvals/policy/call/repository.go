package call

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/shell"
)

// withoutRepository are words of git that use no repository that is there.
var withoutRepository = []string{"--version", "version", "help", "--help", "init", "clone"}

// Foreign returns why the call may have git use another repository than the workspace's own, or changes one, in one
// sentence, or "".
func (c *Reading) Foreign() string {
	why := ""
	for _, r := range c.Candidates {
		why = r.Foreign
		if why != "" {
			break
		}
	}
	for _, script := range c.Scripts() {
		for _, command := range script.All {
			if why == "" {
				why = c.Execution(command).Foreign()
			}
		}
	}
	if why == "" {
		return ""
	}
	return "The call may use a repository other than the workspace's own: " + why + "."
}

// Foreign returns why the command may have git use another repository than the workspace's own, or changes one, as a
// part of a sentence, or "".
func (e *Execution) Foreign() string { return e.foreign.get(e.findForeign) }

func (e *Execution) findForeign() string {
	of, p := e.Command, &e.call.Places
	if len(of.Words) == 0 {
		return ""
	}
	for _, replacement := range of.Instead() {
		if why := e.call.Execution(replacement).Foreign(); why != "" {
			return why
		}
	}
	switch name := path.Base(of.Words[0]); {
	case name == "git":
		if len(of.Words) == 1 || slices.Contains(withoutRepository, of.Words[1]) {
			return ""
		}
		return cmp.Or(e.call.foreignFolder(p.from(of.Folder)), p.foreignShell.get(p.findForeignShell), e.call.foreignFolder(p.gitFolders(of)))
	case name == "cd":
		for _, folder := range of.Words[1:] {
			for _, path := range p.from(match.JoinFolder(of.Folder, folder)) {
				if why := e.call.bareRepository(path + "/config"); why != "" {
					return match.Quote(folder) + " is, or may be, a repository of its own, whose settings can run programs"
				}
			}
		}
	default:
		return e.writesRepository()
	}
	return ""
}

// gitFolders are the folders of repositories that the options of git name.
func (p *Places) gitFolders(of *shell.Command) (folders []string) {
	for i, word := range of.Words {
		name, folder, inline := strings.Cut(word, "=")
		if name != "--git-dir" && name != "--work-tree" {
			continue
		}
		if !inline && i+1 < len(of.Words) {
			folder = of.Words[i+1]
		}
		folders = append(folders, p.from(match.JoinFolder(of.Folder, folder))...)
	}
	return folders
}

// findForeignShell returns why git may use a foreign repository in a folder to which a command of the call changes, or "". It
// counts for all commands: a cd may fail or be in brackets.
func (p *Places) findForeignShell() string { return p.call.foreignFolder(p.changedTo()) }

// foldersOf are the folders in which a command may run: its own, and those of other commands of the call.
func (p *Places) foldersOf(of *shell.Command) []string {
	folders := append(p.from(of.Folder), p.changedTo()...)
	slices.Sort(folders)
	return slices.Compact(folders)
}

// changedTo are the folders to which commands of the call change.
func (p *Places) changedTo() (folders []string) {
	seen := map[string]bool{"": true}
	for _, execution := range p.call.Executions() {
		if folder := execution.Use.Folder; !seen[folder] {
			seen[folder] = true
			folders = append(folders, p.from(folder)...)
		}
	}
	return folders
}

// foreignFolder returns why git in one of some folders may use another repository than the workspace's own, or "". Each
// folder is looked at once for a call.
func (c *Reading) foreignFolder(folders []string) string {
	p := &c.Places
	for _, folder := range folders {
		why, known := p.repositories[folder]
		switch {
		case known:
		case !c.spendLook():
			return manyFolders
		default:
			why = c.Known.Workspace.ForeignRepository(folder)
			if p.repositories == nil {
				p.repositories = map[string]string{}
			}
			p.repositories[folder] = why
		}
		if why != "" {
			return why
		}
	}
	return ""
}

// bareRepository returns why a path is, or may be, in a repository that is no part of a working tree, or "".
func (c *Reading) bareRepository(path string) string {
	if !c.spendLook() {
		return manyFolders
	}
	return c.Known.Workspace.InBareRepository(path)
}

// manyFolders is why a call counts as one of another repository where there are too many folders to look at.
const manyFolders = "it names more folders than heldcall looks at"

// spendLook spends what it costs to look for the repository of a folder.
func (c *Reading) spendLook() bool {
	if c.Known.Workspace.Sees() {
		return c.Spend(50)
	}
	return c.Spend(2)
}

// writesRepository returns why the command may write into a repository that is no part of a working tree, or "".
func (e *Execution) writesRepository() string {
	for _, used := range e.Use.Paths {
		if used.Access == shell.Reads || !used.Known {
			continue
		}
		for _, path := range e.call.Places.from(match.JoinFolder(e.Command.Folder, used.Text)) {
			if why := e.call.bareRepository(path); why != "" {
				return why
			}
		}
	}
	return ""
}

// lookAtRepositories notes the paths that a call may write into such a repository.
func (c *Reading) lookAtRepositories() {
	if c.Kind != Path || c.Tool.RiskOr("") == approvals.RiskLow {
		return
	}
	for i := range c.Candidates {
		c.Candidates[i].Foreign = c.bareRepository(c.Candidates[i].Text)
	}
}
