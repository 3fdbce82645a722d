package shell

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals/policy/shell/programs"
)

func (f *finder) command(words []word, piped bool, depth int) *Command {
	c := &Command{data: dataFlow{piped: piped}, Words: make([]string, len(words))}
	for i, one := range words {
		c.Words[i] = one.Text
		if one.Wild {
			if c.wild == nil {
				c.wild = make([]bool, len(words))
			}
			c.wild[i] = true
		}
		if one.Shown != "" {
			if c.seen == nil {
				c.seen = make([]string, len(words))
			}
			c.seen[i] = one.Shown
		}
	}
	text := strings.Join(c.Words, " ")
	c.opens[0] = text
	if slices.ContainsFunc(words, func(w word) bool { return !w.certain() }) {
		open := make([]string, len(words))
		for i, one := range words {
			open[i] = one.Open
		}
		c.opens[0] = strings.Join(open, " ")
	}
	f.script.texts = append(f.script.texts, text)
	if i := strings.LastIndexByte(c.Words[0], '/'); i >= 0 {
		f.script.texts = append(f.script.texts, text[i+1:])
		if j := strings.LastIndexByte(words[0].Open, '/'); j >= 0 {
			c.opens[1] = c.opens[0][j+1:]
		}
	}
	c.mayStar = f.table.StarMay(c.Words, c.wild)
	c.kind.runsOthers = f.table.RunsOthers(c.Words[0])
	c.kind.interprets = c.kind.runsOthers && f.table.IsInterpreter(c.Words[0])
	c.complete = f.harmless(c)
	if c.kind.runsOthers {
		f.findInner(c, words, depth)
		c.data.runs = f.readsScript(c)
	}
	if !c.complete && len(words) > 1 {
		c.findMentions()
	}
	c.same = f.withoutGlobals(c)
	return c
}

// withoutGlobals returns the commands that do the same as one with options in front of its
// subcommand, or nil.
func (f *finder) withoutGlobals(c *Command) []*Command {
	rest, folders, ok := f.table.WithoutGlobals(c.Words)
	if !ok {
		return nil
	}
	plain := func(at ...int) *Command {
		one := &Command{data: c.data, kind: c.kind, source: c.source}
		for _, i := range at {
			one.Words = append(one.Words, c.Words[i])
			one.wild = append(one.wild, c.isWild(i))
		}
		return one
	}
	var same []*Command
	for _, i := range folders {
		to := plain(0, i)
		to.Words[0], to.kind = "cd", programKind{}
		same = append(same, to)
	}
	short := plain(rest...)
	for i := 1; len(rest) > 1 && i < rest[1]; i++ {
		if !slices.Contains(folders, i) {
			short.source.leftOut = append(short.source.leftOut, c.Words[i])
		}
	}
	same = append(same, short)
	for _, one := range same {
		if !slices.Contains(one.wild, true) {
			one.wild = nil
		}
		one.mayStar = f.table.StarMay(one.Words, one.wild)
		one.complete = f.harmless(one)
	}
	return same
}

// findInner finds the commands that a program runs.
func (f *finder) findInner(c *Command, words []word, depth int) {
	if w := f.table.Wrapper(c.Words[0]); w != nil {
		c.kind.transparent = w.Transparent && !strings.Contains(c.Words[0], "/")
	}
	found := f.table.look(words)
	if c.Words[0] == "env" && len(found.own) > 0 && !slices.ContainsFunc(found.own, func(one word) bool { return !f.table.setsLook(one) }) {
		c.kind.transparent = true
	}
	if depth == maxThrough {
		c.opaque = true
		return
	}
	c.opaque = found.hides
	c.complete = c.complete || found.certain
	f.assigned(c, found.own)
	for _, inner := range found.commands {
		c.inner = append(c.inner, f.command(inner, c.data.piped, depth+1))
	}
	for _, src := range found.scripts {
		f.findNested(c, src, depth)
	}
}

// harmless reports whether the table lists all words of a command, so that it runs nothing.
func (f *finder) harmless(c *Command) bool {
	if f.table.Listed(c.Words[0]) && !slices.Contains(c.mayStar[1:], false) {
		return true
	}
	if !f.table.TakesScript(c.Words[0]) && !c.kind.interprets {
		return false
	}
	// sed -i, or an interpreter that only checks a script or shows its version
	entry, _ := f.table.ClassOf(c.Words, c.wild)
	return entry.Class == programs.Read || (entry.Class == programs.Format && f.table.TakesScript(c.Words[0]))
}
