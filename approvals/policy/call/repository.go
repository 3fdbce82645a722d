package call

import (
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
	w := e.call.Known.Workspace
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
		for _, folder := range append(p.foldersOf(of), p.gitFolders(of)...) {
			if why := w.ForeignRepository(folder); why != "" {
				return why
			}
		}
	case name == "cd":
		for _, folder := range of.Words[1:] {
			for _, path := range p.from(match.JoinFolder(of.Folder, folder)) {
				if why := w.InBareRepository(path + "/config"); why != "" {
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

// foldersOf are the folders in which a command may run: its own, and those of other commands of the call, as a cd may
// fail or be in brackets.
func (p *Places) foldersOf(of *shell.Command) []string {
	folders := p.from(of.Folder)
	for _, execution := range p.call.Executions() {
		for _, folder := range p.from(execution.Use.Folder) {
			if execution.Use.Folder != "" && !slices.Contains(folders, folder) {
				folders = append(folders, folder)
			}
		}
	}
	return folders
}

// writesRepository returns why the command may write into a repository that is no part of a working tree, or "".
func (e *Execution) writesRepository() string {
	for _, used := range e.Use.Paths {
		if used.Access == shell.Reads || !used.Known {
			continue
		}
		for _, path := range e.call.Places.from(match.JoinFolder(e.Command.Folder, used.Text)) {
			if why := e.call.Known.Workspace.InBareRepository(path); why != "" {
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
		c.Candidates[i].Foreign = c.Known.Workspace.InBareRepository(c.Candidates[i].Text)
	}
}
