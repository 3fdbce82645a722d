package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/heldcall/heldcall/approvals/policy/shell/programs"
)

// Words that a shell or xargs takes from the output of another command are not known. A reader may
// have them, where the other command lists files: what it lists is in the folder that it names, and
// options among the words only change the output.

// filters are programs that select lines of their input.
var filters = []string{"head", "tail", "sort", "uniq", "grep"}

// substitutes reports whether a word is the output of a command that lists files, a glob of files of
// the folder, or a part of what echo prints.
func (w *walk) substitutes(program string, arg *syntax.Word, known scope) bool {
	shows := w.in.table.OnlyShows(program)
	if shows && wordOf(arg).Leading {
		return true // options only change the output
	}
	return (shows || program == "echo") && w.substitutesOnly(program, arg, known)
}

// substitutesOnly is substitutes for substitutions.
func (w *walk) substitutesOnly(program string, arg *syntax.Word, known scope) bool {
	rest, subs := withoutSubstitutions(arg)
	if len(subs) == 0 || wordOf(rest).Why != "" {
		return false
	}
	if program != "echo" && (len(rest.Parts) > 0 || len(subs) > 1) {
		return false
	}
	return !slices.ContainsFunc(subs, func(sub *syntax.CmdSubst) bool {
		read := w.outputs[sub]
		if sub.Backquotes || sub.TempFile || sub.ReplyVar || read == nil || len(read.stmts) != 1 || read.why != "" {
			return true
		}
		return program != "echo" && !w.listsFiles(read.stmts[0], known, false)
	})
}

// withoutSubstitutions separates a word's substitutions, in double quotes or not, from the rest.
func withoutSubstitutions(w *syntax.Word) (rest *syntax.Word, subs []*syntax.CmdSubst) {
	rest = &syntax.Word{}
	for _, part := range w.Parts {
		if sub, ok := part.(*syntax.CmdSubst); ok {
			subs = append(subs, sub)
			continue
		}
		quoted, ok := part.(*syntax.DblQuoted)
		if !ok || quoted.Dollar {
			rest.Parts = append(rest.Parts, part)
			continue
		}
		var parts []syntax.WordPart
		for _, inner := range quoted.Parts {
			if sub, ok := inner.(*syntax.CmdSubst); ok {
				if _, literal := documentWord(sub); !literal {
					subs = append(subs, sub)
					continue
				}
			}
			parts = append(parts, inner)
		}
		if len(parts) > 0 {
			rest.Parts = append(rest.Parts, &syntax.DblQuoted{Parts: parts})
		}
	}
	return rest, subs
}

// listsFiles reports whether a statement is a command that lists files, with filters behind it. ends: the names may end with a
// NUL character.
func (w *walk) listsFiles(stmt *syntax.Stmt, known scope, ends bool) bool {
	t := w.in.table
	for {
		pipe, ok := stmt.Cmd.(*syntax.BinaryCmd)
		if !ok {
			break
		}
		argv := w.argvOf(pipe.Y, known)
		if pipe.Op != syntax.Pipe || len(argv) == 0 || !slices.Contains(filters, argv[0]) || slices.Contains(t.StarMay(argv, nil)[1:], false) || slices.ContainsFunc(argv[1:], changesLines) || !t.readsInput(argv) {
			return false
		}
		stmt = pipe.X
	}
	argv := w.argvOf(stmt, known)
	if ends {
		argv = slices.DeleteFunc(argv, func(word string) bool { return word == "-print0" })
	}
	return len(argv) > 0 && t.ListsFiles(argv)
}

// readsInput reports whether a filter names no file, whose lines it would select.
func (t *Programs) readsInput(argv []string) bool {
	operands := len(programs.AppendSubcommand(nil, t.Table, argv))
	return operands == 0 || (operands == 1 && argv[0] == "grep")
}

// changesLines reports whether an option of a filter may change the lines that it selects.
func changesLines(option string) bool {
	return isOption(option) && (strings.HasPrefix(option, "--") || strings.ContainsAny(option, "ocbnHZTABCefl"))
}

// argvOf returns the words of a command that has only plain words, or nil.
func (w *walk) argvOf(stmt *syntax.Stmt, known scope) []string {
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || slices.ContainsFunc(stmt.Redirs, func(r *syntax.Redirect) bool { return !harmlessRedirect(r) }) {
		return nil
	}
	var argv []string
	for i, arg := range call.Args {
		if i > 0 {
			arg = w.resolved(arg, known, false)
		}
		one := wordOf(arg)
		if one.Why != "" {
			return nil
		}
		argv = append(argv, one.Text)
	}
	return argv
}

// showsListed reports whether a command is xargs with a reader, and its input is a list of files.
func (w *walk) showsListed(c *Command, from *syntax.Stmt, known scope) bool {
	if c.Words[0] != "xargs" || !c.complete || len(c.inner) != 1 || !w.listsFiles(from, known, slices.Contains(c.Words, "-0")) {
		return false
	}
	readsList := func(word string) bool { // -a names a file with the words
		return isOption(word) && (strings.HasPrefix(word, "--arg-file") || (!strings.HasPrefix(word, "--") && strings.Contains(word, "a")))
	}
	part := func(word string) bool { return strings.Contains(word, unknown) && word != unknown } // {}env
	return w.in.table.OnlyShows(c.inner[0].Words[0]) && !slices.ContainsFunc(c.Words[1:], readsList) && !slices.ContainsFunc(c.inner[0].Words, part)
}
