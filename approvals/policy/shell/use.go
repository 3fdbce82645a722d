package shell

import (
	"path"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/shell/programs"
)

// Access is what a command does with a path.
type Access string

// The ways to access a path.
const (
	Reads   Access = "read"
	Writes  Access = "write" // creates, changes, moves or removes it
	Touches Access = "use"   // nothing is known of it: it may read, write or run it, or be no path
)

// Use is what one simple command, or one redirection, of a script does.
type Use struct {
	Command    *Command
	Program    string // its name without folder; "<" and ">" of a redirection
	Subcommand string // the words of a subcommand, such as "remote show", or ""
	Class      programs.Class
	Operands   programs.Operands // which of them are paths
	Why        string            // what it does or why that is not known, as the end of the sentence "The command ..."
	Words      []Word            // the program and all that follows
	Paths      []PathUse
	Named      int    // how many words there are up to the subcommand; 0: of a redirection
	Script     int    // of the class Project: the index of the word that is run
	Folder     string // that cd has changed to before it; "": the folder of the call
}

// Word is one word of a command.
type Word struct {
	Text  string // with … in place of what only a running shell knows
	Known bool   // it has no such part
	Glob  bool   // a shell expands a * or ? in it, to no option and no folder further up
}

// PathUse is a word that is a path, or may be one.
type PathUse struct {
	Word
	Access Access
}

// Acting returns the simple commands of a script, at any depth, and its redirections, in order. Programs that only start
// one other command (timeout, xargs, sh -c) are left out. A script that is not simple may do more than that.
func (s *Script) Acting() []*Command {
	acting := make([]*Command, 0, len(s.All))
	for _, c := range s.All {
		switch {
		case c.Idle || c.passesThrough():
		case len(c.same) > 0:
			acting = append(acting, c.same...)
		default:
			acting = append(acting, c)
		}
	}
	return acting
}

// passesThrough reports whether a command does no more than those that it runs.
func (c *Command) passesThrough() bool {
	if !c.complete || c.opaque || len(c.inner) == 0 || strings.Contains(c.Words[0], "/") {
		return false
	}
	name, _ := programs.Names(c.Words[0])
	return c.kind.transparent || name == "xargs" || isPlainShell(name)
}

// Use describes a command. A command without paths may work on its folder. Of one that only starts others, which [Script.Acting]
// leaves out, nothing is known but its words.
func (t *Programs) Use(c *Command) Use {
	if c.Idle || c.passesThrough() || len(c.same) > 0 {
		u := Use{Command: c}
		for _, word := range c.Words[1:] {
			u.Paths = append(u.Paths, PathUse{Word: Word{Text: word}, Access: Touches})
		}
		return u
	}
	u := Use{Command: c, Program: path.Base(c.Words[0]), Folder: c.Folder}
	u.Words = make([]Word, len(c.Words))
	for i, text := range c.Words {
		u.Words[i] = Word{Text: text, Known: !strings.Contains(text, unknown), Glob: c.isWild(i)}
		if !u.Words[i].Known {
			u.Words[i].Text = strings.ReplaceAll(text, unknown, "…")
		}
	}
	if c.Redirect {
		return u.redirection()
	}
	entry, length := t.ClassOf(c.Words, c.wild)
	u.Class, u.Operands, u.Why, u.Script, u.Named = entry.Class, entry.Operands, entry.Why, entry.Script, length
	if t.depends(c, entry) {
		u.Class, u.Why = programs.Unknown, "has words that are not known before it runs"
	}
	if u.Class == programs.Read && len(c.Sets()) > 0 {
		u.Class, u.Why = programs.Check, "may load code from the folders of a variable"
	}
	var room [4]string
	u.Subcommand = strings.Join(programs.AppendSubcommand(room[:0], t.Table, c.Words[:length]), " ")
	if u.Operands == programs.PatchPaths {
		u.patch()
	} else {
		u.Paths = u.paths(entry, length)
	}
	return u
}

// patch finds the files that a command changes by a patch for apply_patch: its only operand, or what it reads. Nothing is known
// of a command without a patch that all programs read alike.
func (u *Use) patch() {
	text := u.Command.InputText()
	if len(u.Words) == 2 && !u.Command.Fed() {
		text = u.Words[1].Text
	}
	paths, problem := match.PatchPaths(text)
	several := u.Command.Piped() || len(u.Words) > 2 || (len(u.Words) == 2 && u.Command.Fed())
	if several || problem != "" || len(paths) > match.MaxReadings {
		paths = paths[:min(len(paths), match.MaxReadings)]
		u.Class, u.Why = programs.Unknown, "reads a patch that heldcall does not see or understand"
	}
	for _, path := range paths {
		u.Paths = append(u.Paths, PathUse{Word{Text: path, Known: true}, u.access()})
	}
}

func (u Use) redirection() Use {
	u.Class, u.Why = programs.Write, "writes its output to a file"
	access := Writes
	if u.Program == "<" {
		u.Class, u.Why, access = programs.Read, "reads a file", Reads
	}
	u.Program = u.Program[:1]
	u.Paths = []PathUse{{u.Words[1], access}}
	return u
}

// paths are the words that are paths: the operands, as far as the table knows which, and the values
// of options, which may be.
func (u *Use) paths(entry programs.Entry, length int) []PathUse {
	access := u.access()
	if u.Class == programs.Unknown {
		entry = programs.Entry{} // nothing is known of its operands
	}
	found := u.ownPath(access)
	skip, only := entry.Skip, false
	if slices.ContainsFunc(u.Words[length:], givesText) {
		skip = 0
	}
	for _, word := range u.Words[length:] {
		switch {
		case !only && word.Text == "--":
			only = true
		case !only && isOption(word.Text):
			if entry.Operands == programs.FirstPaths && len(word.Text) > 2 {
				return found
			}
			if value := u.optionValue(word.Text); value != "" {
				found = append(found, PathUse{Word{value, word.Known, word.Glob}, Touches})
			}
		case skip > 0:
			skip--
		case entry.Operands != programs.NoPaths:
			found = append(found, PathUse{word, access})
		}
	}
	for i := range readOf(found, entry.Operands) {
		found[i].Access = Reads
	}
	return found
}

// readOf returns the paths that are only read, whatever the class.
func readOf(found []PathUse, operands programs.Operands) []PathUse {
	switch operands {
	case programs.ReadPaths:
		return found
	case programs.LastPath:
		return found[:max(len(found)-1, 0)]
	}
	return nil
}

// ownPath is the path of a program of the project.
func (u *Use) ownPath(access Access) []PathUse {
	if u.Class != programs.Project || !strings.Contains(u.Words[0].Text, "/") {
		return nil
	}
	return []PathUse{{u.Words[0], access}}
}

// access is what the class of a command states of its operands.
func (u *Use) access() Access {
	switch u.Class {
	case programs.Read:
		return Reads
	case programs.Write, programs.Format, programs.Destroy:
		return Writes
	}
	return Touches
}

// depends reports whether words that only a running shell knows decide what a command does.
func (t *Programs) depends(c *Command, entry programs.Entry) bool {
	hidden := func(word string) bool { return strings.Contains(word, unknown) }
	return c.isWild(0) || hidden(c.Words[0]) || (entry.Class.OnlyKnown() && !t.OnlyShows(c.Words[0]) && slices.ContainsFunc(c.Words, hidden))
}

// givesText reports whether an option may be the text or script that is the first operand otherwise.
func givesText(w Word) bool {
	if strings.HasPrefix(w.Text, "--") {
		return strings.HasPrefix(w.Text, "--regexp") || strings.HasPrefix(w.Text, "--file") || strings.HasPrefix(w.Text, "--type-list")
	}
	return isOption(w.Text) && strings.ContainsAny(w.Text, "ef")
}

// optionValue is the part of an option of the command that may be a path.
func (u *Use) optionValue(word string) string {
	if u.Class == programs.Read && leavesOut(word) {
		return ""
	}
	return optionValue(word)
}

// leavesOut reports whether the value of an option of a reader is which files it leaves out.
func leavesOut(word string) bool {
	name, _, found := strings.Cut(word, "=")
	return found && slices.Contains([]string{"--exclude", "--exclude-dir", "--ignore", "--ignore-dir"}, name)
}

// optionValue is the part of an option that may be a path.
func optionValue(word string) string {
	if _, value, inline := strings.Cut(word, "="); inline {
		return value
	}
	if at := strings.IndexAny(word, "/~."); at > 0 {
		if colon := strings.LastIndexByte(word[:at], ':'); colon >= 0 { // -L1,9:src/a.go
			at = colon + 1
		}
		return word[at:]
	}
	return ""
}

// ShowsOwnTexts reports whether a command that asks a server shows no text that others can write: it asks a server on this
// machine, or the table lists its output as states and numbers.
func (t *Programs) ShowsOwnTexts(u *Use) bool {
	if u.Class == programs.Read {
		return true
	}
	var words []string
	for _, word := range u.Words {
		words = append(words, word.Text)
	}
	return t.Table.ShowsStates(strings.TrimSpace(u.Program+" "+u.Subcommand), words)
}
