package call

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/shell"
	"github.com/heldcall/heldcall/approvals/policy/shell/programs"
)

// Class returns what the command does, by the table and by what heldcall sees of the files: to remove files that the
// repository has as they are, each by its name, and to check out a branch are no more than a write.
func (e *Execution) Class() programs.Class {
	if e.Use.Class == programs.Destroy && (e.removesKept() || e.switchesBranch()) {
		return programs.Write
	}
	return e.Use.Class
}

// operandsOf returns the operands of a command whose words are all known and whose options are among some. It reports false
// for other commands, and without an operand.
func (e *Execution) operandsOf(begin string, options ...string) (operands []string, ok bool) {
	named := strings.Fields(begin)
	words := e.Use.Words
	if len(words) <= len(named) {
		return nil, false
	}
	for i, word := range words {
		switch isOption := strings.HasPrefix(word.Text, "-") && word.Text != "-"; {
		case !word.Known || word.Glob || strings.ContainsAny(word.Text, "*?["):
			return nil, false
		case i < len(named):
			if word.Text != named[i] {
				return nil, false
			}
		case !isOption:
			operands = append(operands, word.Text)
		case !slices.Contains(options, word.Text):
			return nil, false
		}
	}
	return operands, len(operands) > 0
}

// removesKept reports whether the command removes only files that the repository has as they are. No other command of the
// call may change one of them first.
func (e *Execution) removesKept() bool {
	if !e.isAmongReaders() {
		return false
	}
	return e.removesOnlyKept()
}

// maxKeptFiles is how many files are looked up in the repository for one command. Each reads the index.
const maxKeptFiles = 20

func (e *Execution) removesOnlyKept() bool {
	files, ok := e.operandsOf("rm", "-f")
	if !ok {
		if files, ok = e.operandsOf("git rm", "--cached", "-q"); !ok {
			return false
		}
	}
	return len(files) <= maxKeptFiles && !slices.ContainsFunc(files, func(file string) bool { return !e.call.spendLook() || !e.keeps(file) })
}

// keeps reports whether the repository has a file as it is in each folder in which the command may run. A cd before it may
// fail, or not run at all, so the file of that name in the folder of the call counts too, if there is one.
func (e *Execution) keeps(file string) bool {
	w, p := e.call.Known.Workspace, &e.call.Places
	isLost := func(folder string) bool { return !w.Keeps(match.JoinFolder(folder, file)) }
	if slices.ContainsFunc(p.foldersOf(e.Command), isLost) {
		return false
	}
	return !slices.ContainsFunc(p.from(""), func(folder string) bool {
		return !w.Lacks(match.JoinFolder(folder, file)) && isLost(folder)
	})
}

// isAmongReaders reports whether all other commands of the call only read, or remove such files too.
func (e *Execution) isAmongReaders() bool {
	if e.call.AnyScript(func(s *shell.Script) bool { return s.NotSimple != "" || s.Compound != "" }) {
		return false
	}
	return !slices.ContainsFunc(e.call.Executions(), func(other *Execution) bool {
		return other.Use.Class != programs.Read && !(other.Use.Class == programs.Destroy && other.removesOnlyKept())
	})
}

// switchesBranch reports whether the command is git checkout with nothing but the name of a branch, which changes nothing
// that is not committed.
func (e *Execution) switchesBranch() bool {
	names, ok := e.operandsOf("git checkout", "-q", "--quiet")
	if !ok || len(names) != 1 {
		return false
	}
	folders := append(e.call.Places.foldersOf(e.Command), e.call.Places.from("")...)
	return names[0] == "-" || !slices.ContainsFunc(folders, func(folder string) bool {
		return !e.call.Known.Workspace.HasBranch(folder, names[0])
	})
}
