package policy

import (
	"slices"
	"strings"
)

// wordsGlob is the argument of a deny or ask pattern as the words of a command,
// whose options may stand elsewhere and be spelled in other ways.
type wordsGlob struct {
	program  string
	options  []glob
	like     [][]string // of each option, the other words that do the same
	operands []glob     // those that come first
	least    int        // so many words there are in all
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
			g.options = append(g.options, newGlob(w))
		} else {
			g.operands = append(g.operands, newGlob(w))
		}
	}
	if len(words) == 1 {
		return nil
	}
	g.findLike()
	return g
}

// findLike finds in the table what does the same as the options.
func (g *wordsGlob) findLike() {
	begin := g.program
	for _, operand := range g.operands {
		begin += " " + operand.prefix()
	}
	g.like = make([][]string, len(g.options))
	for i, option := range g.options {
		g.like[i] = knownPrograms().like[begin+" "+option.prefix()]
	}
}

// match says whether a command has the words: maybe where one may be the value
// of an option, an option may be another way to write the same, or a shell
// expands something.
func (g *wordsGlob) match(c *command) match {
	if g == nil {
		return no
	}
	found, name := yes, c.words[0][strings.LastIndexByte(c.words[0], '/')+1:]
	switch {
	case !strings.EqualFold(name, g.program):
		return no
	case name != g.program:
		found = maybe
	}
	options, operands := c.sorted()
	open := slices.ContainsFunc(options, commandWord.opens) || slices.ContainsFunc(operands, commandWord.opens)
	if len(c.words) < g.least && !open {
		return no
	}
	for i, option := range g.options {
		spelled := spelledBy(option, options)
		if open || hasLike(g.like[i], options, operands) {
			spelled = max(spelled, maybe)
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

// sorted are the options and the operands of a command.
func (c *command) sorted() (options, operands []commandWord) {
	only, value := false, false
	for i, text := range c.words {
		if i == 0 {
			continue
		}
		a := commandWord{text: text, known: c.star[i], value: value, open: strings.Contains(text, unknown) || c.wild != nil && c.wild[i]}
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

// spelledBy reports whether an option is among those of a command, if only in
// another spelling: short for long, letters together or apart, cut short.
func spelledBy(option glob, among []commandWord) match {
	if slices.ContainsFunc(among, func(a commandWord) bool { return option.match(a.text) }) {
		return yes
	}
	text := option.prefix()
	if long, ok := strings.CutPrefix(text, "--"); ok {
		return spelledLong(long, among)
	}
	return spelledShort(text[1:], among)
}

// hasLike reports whether a command has another word that does the same as an option:
// an option, or an operand that begins so.
func hasLike(like []string, options, operands []commandWord) bool {
	return slices.ContainsFunc(like, func(word string) bool {
		if isOption(word) {
			return spelledBy(newGlob(word), options) != no
		}
		return slices.ContainsFunc(operands, func(a commandWord) bool { return strings.HasPrefix(a.text, word) })
	})
}

func spelledLong(name string, among []commandWord) match {
	for _, a := range among {
		text, _, _ := strings.Cut(strings.ToLower(strings.TrimLeft(a.text, "-")), "=")
		switch long := strings.HasPrefix(a.text, "--"); {
		case a.known || text == "" || name == "":
		case long && strings.HasPrefix(strings.ToLower(name), text):
			return maybe
		case !long && strings.Contains(text, strings.ToLower(name[:1])):
			return maybe
		}
	}
	return no
}

// spelledShort looks for each letter of an option.
func spelledShort(letters string, among []commandWord) match {
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
		return yes
	case holdsAll(strings.ToLower(loose), strings.ToLower(letters)):
		return maybe
	}
	return no
}

func holdsAll(text, letters string) bool {
	return letters != "" && !strings.ContainsFunc(letters, func(r rune) bool { return !strings.ContainsRune(text, r) })
}

// begin reports whether operands begin with those of the pattern. What may be an
// option's value may be passed over, and in front of a path other paths may stand.
func (g *wordsGlob) begin(operands []commandWord) match {
	reached := make([]match, len(g.operands)+1) // how surely so many of the pattern's were met
	reached[0] = yes
	for _, a := range operands {
		for i := len(g.operands) - 1; i >= 0; i-- {
			want := g.operands[i]
			met := no
			switch {
			case want.match(a.text):
				met = yes
			case a.open:
				met = maybe
			}
			reached[i+1] = max(reached[i+1], min(reached[i], met))
			if a.value || a.open || isPathLike(want) {
				reached[i] = min(reached[i], maybe)
			} else {
				reached[i] = no
			}
		}
	}
	return reached[len(g.operands)]
}

func isPathLike(word glob) bool {
	return word.prefix() != "" && strings.IndexByte("/~.", word.prefix()[0]) >= 0
}
