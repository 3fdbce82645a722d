package shell

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/shell/programs"
)

// wordsGlob is the argument of a deny or ask pattern as words, with options in any place and
// spelling.
type wordsGlob struct {
	program  string
	options  []match.Glob
	like     [][]string   // of each option, the other words that do the same
	operands []match.Glob // those that come first
	least    int          // so many words there are in all
}

// newWordsGlob is nil where only the first word is fixed, or not even that.
func newWordsGlob(text string) *wordsGlob {
	words := strings.Fields(strings.TrimSuffix(text, ":*"))
	if len(words) < 2 || strings.ContainsAny(words[0], "*/") {
		return nil
	}
	if words[len(words)-1] == "*" {
		words = words[:len(words)-1] // which covers nothing too
	}
	g := &wordsGlob{program: words[0], least: len(words)}
	for _, w := range words[1:] {
		if isOption(w) {
			g.options = append(g.options, match.NewGlob(w))
		} else {
			g.operands = append(g.operands, match.NewGlob(w))
		}
	}
	if len(words) == 1 {
		return nil
	}
	g.findLike()
	return g
}

// findLike finds the words of the table with the same effect as the options.
func (g *wordsGlob) findLike() {
	begin := g.program
	for _, operand := range g.operands {
		begin += " " + operand.Prefix()
	}
	g.like = make([][]string, len(g.options))
	for i, option := range g.options {
		g.like[i] = programs.Known().Like(begin + " " + option.Prefix())
	}
}

// match compares the words with a command. It is Maybe if a word may be an option's value, an
// option another spelling, or a shell expands a word.
func (g *wordsGlob) match(c *Command) match.Result {
	if g == nil {
		return match.No
	}
	found, name := match.Yes, match.LastSegment(c.Words[0])
	switch {
	case !strings.EqualFold(name, g.program):
		return match.No
	case name != g.program:
		found = match.Maybe
	}
	options, operands := c.sorted()
	open := slices.ContainsFunc(options, commandWord.opens) || slices.ContainsFunc(operands, commandWord.opens)
	if len(c.Words) < g.least && !open {
		return match.No
	}
	for i, option := range g.options {
		spelled := spelledBy(option, options)
		if open || hasLike(g.like[i], options, operands) {
			spelled = max(spelled, match.Maybe)
		}
		found = min(found, spelled)
	}
	return min(found, g.begin(operands))
}

// commandWord is a word that follows a program's name.
type commandWord struct {
	text  string
	known bool // an option that the table lists
	value bool // may be the value of the option in front of it
	open  bool // a shell expands it
}

func (a commandWord) opens() bool { return a.open }

// sortedWords are the options and the operands of a command.
type sortedWords struct{ options, operands []commandWord }

// sorted are the options and the operands of a command.
func (c *Command) sorted() (options, operands []commandWord) {
	if c.words == nil {
		options, operands = c.sort()
		c.words = &sortedWords{options, operands}
	}
	return c.words.options, c.words.operands
}

func (c *Command) sort() (options, operands []commandWord) {
	only, value := false, false
	for i, text := range c.Words {
		if i == 0 {
			continue
		}
		a := commandWord{text: text, known: c.mayStar[i], value: value, open: strings.Contains(text, unknown) || c.isWild(i) || c.follows(i)}
		if value = false; !only && isOption(text) {
			options = append(options, a)
			only = text == "--"
			value = !only && !strings.Contains(text, "=")
			continue
		}
		operands = append(operands, a)
	}
	return options, operands
}

// spelledBy reports whether an option is among those of a command, in any spelling: short or long,
// letters joined or apart, abbreviated.
func spelledBy(option match.Glob, among []commandWord) match.Result {
	if slices.ContainsFunc(among, func(a commandWord) bool { return option.Match(a.text) }) {
		return match.Yes
	}
	text := option.Prefix()
	if long, ok := strings.CutPrefix(text, "--"); ok {
		return spelledLong(long, among)
	}
	return spelledShort(text[1:], among)
}

// hasLike reports whether a command has another word with the same effect as an option.
func hasLike(like []string, options, operands []commandWord) bool {
	return slices.ContainsFunc(like, func(word string) bool {
		if isOption(word) {
			return spelledBy(match.NewGlob(word), options) != match.No
		}
		return slices.ContainsFunc(operands, func(a commandWord) bool { return strings.HasPrefix(a.text, word) })
	})
}

func spelledLong(name string, among []commandWord) match.Result {
	for _, a := range among {
		text, _, _ := strings.Cut(strings.ToLower(strings.TrimLeft(a.text, "-")), "=")
		switch long := strings.HasPrefix(a.text, "--"); {
		case a.known || text == "" || name == "":
		case long && strings.HasPrefix(strings.ToLower(name), text):
			return match.Maybe
		case !long && strings.Contains(text, strings.ToLower(name[:1])):
			return match.Maybe
		}
	}
	return match.No
}

// spelledShort looks for each letter of an option.
func spelledShort(letters string, among []commandWord) match.Result {
	exact, loose := "", ""
	for _, a := range among {
		text := strings.TrimLeft(a.text, "-")
		switch {
		case a.known || text == "":
		case strings.HasPrefix(a.text, "--"):
			loose += text[:1]
		default:
			loose += text
			if strings.Trim(text, letters) == "" {
				exact += text
			}
		}
	}
	switch {
	case holdsAll(exact, letters):
		return match.Yes
	case holdsAll(strings.ToLower(loose), strings.ToLower(letters)):
		return match.Maybe
	}
	return match.No
}

func holdsAll(text, letters string) bool {
	return letters != "" && !strings.ContainsFunc(letters, func(r rune) bool { return !strings.ContainsRune(text, r) })
}

// begin reports whether operands begin with those of the pattern. Possible values of options may be
// skipped, and other paths may precede a path.
func (g *wordsGlob) begin(operands []commandWord) match.Result {
	reached := make([]match.Result, len(g.operands)+1) // how surely so many of the pattern's were met
	reached[0] = match.Yes
	for _, a := range operands {
		for i := len(g.operands) - 1; i >= 0; i-- {
			want := g.operands[i]
			met := match.No
			switch {
			case want.Match(a.text):
				met = match.Yes
			case a.open:
				met = match.Maybe
			}
			reached[i+1] = max(reached[i+1], min(reached[i], met))
			if a.value || a.open || isPathLike(want) {
				reached[i] = min(reached[i], match.Maybe)
			} else {
				reached[i] = match.No
			}
		}
	}
	return reached[len(g.operands)]
}

func isPathLike(word match.Glob) bool {
	return word.Prefix() != "" && strings.IndexByte("/~.", word.Prefix()[0]) >= 0
}
