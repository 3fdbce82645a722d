package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// commandGlob is the argument of a deny or ask pattern compared with scripts.
type commandGlob struct {
	glob   textGlob
	lower  textGlob
	prefix string // what stands before the first *
	joined bool   // the * follows at once
	open   bool   // the * may continue the last word
	core   string // the prefix as a loose text, without what joins it to the *
	loose  glob   // the argument as a loose text that may go on
	key    string // the first word in lower case, where that is fixed
	words  *wordsGlob
}

func newCommandGlob(text string) *commandGlob {
	prefix := newGlob(text).prefix()
	g := &commandGlob{
		glob:   newCommandText(text),
		lower:  newCommandText(foldCase(text)),
		prefix: strings.TrimSuffix(prefix, ":"),
		joined: len(prefix) < len(text) && !strings.HasSuffix(prefix, ":"),
	}
	g.open = g.joined && !strings.HasSuffix(prefix, " ")
	g.core = spaced(foldCase(g.prefix))
	g.loose = newGlob(strings.TrimRight(strings.TrimSuffix(spaced(foldCase(text)), ":*"), " *") + "*")
	g.words = newWordsGlob(text)
	if first := strings.TrimSuffix(firstWord(text), ":*"); !strings.Contains(first, "*") {
		g.key = foldCase(first)
	}
	return g
}

// newCommandText compares the source or the words of a command with a pattern, of which
// a last * covers nothing too.
func newCommandText(text string) textGlob {
	g := newPrefixGlob(text)
	if alone, found := strings.CutSuffix(text, " *"); found && strings.Trim(alone, " *") != "" {
		g = append(g, newGlob(alone))
	}
	return g
}

func firstWord(text string) string {
	if i := strings.IndexAny(text, " \t\n"); i >= 0 {
		return text[:i]
	}
	return text
}

// match says whether any command of a script matches.
func (g *commandGlob) match(s *script) match {
	if slices.ContainsFunc(s.texts, g.glob.match) || slices.ContainsFunc(s.all, func(c *command) bool { return g.words.match(c) == yes }) {
		return yes
	}
	if s.problem != "" || slices.ContainsFunc(s.lower, g.lower.match) || slices.ContainsFunc(s.all, g.mayMatch) || slices.ContainsFunc(s.within, g.namedIn) {
		return maybe
	}
	return no
}

// mayMatch reports whether a command may turn out to match when the shell has
// expanded it, or may run something that does.
func (g *commandGlob) mayMatch(c *command) bool {
	for _, open := range c.opens {
		if before, _, cut := strings.Cut(open, unknown); cut && g.mayBegin(before) {
			return true
		}
	}
	if g.words.match(c) == maybe || slices.ContainsFunc(c.within, g.namedIn) {
		return true
	}
	return c.hides || c.runs && !c.seen && (c.fromElsewhere() || c.obscure() || g.core == "")
}

// mayBegin reports whether a text that begins like this may match.
func (g *commandGlob) mayBegin(before string) bool {
	rest, goesOn := strings.CutPrefix(before, g.prefix)
	return strings.HasPrefix(g.prefix, before) || goesOn && (g.joined || rest[0] == ' ' || rest[0] == ':')
}

// fromElsewhere reports whether a command may run what does not stand in its
// words.
func (c *command) fromElsewhere() bool {
	return c.reads || c.piped && c.interprets
}

// obscure reports whether a command has words in which another may hide what it
// runs.
func (c *command) obscure() bool { return strings.ContainsAny(c.opens[0], unknown+"'\"\\$`") }

// shellPattern is the argument of an allow pattern for scripts: the words of
// one command.
type shellPattern struct {
	words      []glob
	rest       bool // a last word *: one or more operands; alone: any command without options
	open       bool // a trailing :*: the last word may go on after a colon, any operands may follow
	colon      glob // the last word, then a colon and any text, where open
	spelledOut bool // no * at all
}

var errNotOneCommand = errors.New("is not one command of plain words: write one pattern for each command that is allowed")

func newShellPattern(text string) (*shellPattern, error) {
	if problem := scriptProblem(text); problem != "" {
		return nil, errNotOneCommand
	}
	parsers := knownPrograms().parsers
	parser := parsers.Get().(*syntax.Parser)
	file, err := parser.Parse(strings.NewReader(text), "")
	parsers.Put(parser)
	if err != nil || len(file.Stmts) != 1 || len(file.Last) > 0 {
		return nil, errNotOneCommand
	}
	stmt := file.Stmts[0]
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Assigns) > 0 || len(stmt.Redirs) > 0 || len(stmt.Comments) > 0 || stmt.Negated || stmt.Background {
		return nil, errNotOneCommand
	}
	p := &shellPattern{spelledOut: true}
	for _, w := range call.Args {
		g, err := wordGlob(w)
		if err != nil {
			return nil, err
		}
		p.words = append(p.words, g)
		p.spelledOut = p.spelledOut && g.literal()
	}
	p.takeTail()
	return p, nil
}

func newParser() *syntax.Parser {
	return syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true))
}

// takeTail takes a last word * or a trailing :* off the words.
func (p *shellPattern) takeTail() {
	n := len(p.words) - 1
	last := p.words[n].parts
	switch {
	case slices.Equal(last, []string{"", ""}):
		p.rest = true
		p.words = p.words[:n]
	case len(last) > 1 && last[len(last)-1] == "" && strings.HasSuffix(last[len(last)-2], ":"):
		p.open = true
		parts := slices.Clone(last[:len(last)-1])
		parts[len(parts)-1] = strings.TrimSuffix(parts[len(parts)-1], ":")
		p.words[n] = glob{parts}
		p.colon = p.words[n].withColon()
	}
}

// names reports whether the pattern's first word is a program's name.
func (p *shellPattern) names(program string) bool {
	return len(p.words) > 0 && p.words[0].literal() && p.words[0].prefix() == program
}

// begins reports whether the pattern's first word is a name, but for letter
// case.
func (p *shellPattern) begins(name string) bool {
	return len(p.words) == 0 || !p.words[0].literal() || foldCase(p.words[0].prefix()) == name
}

// wordGlob is a word of a pattern: each unquoted * stands for any text.
func wordGlob(w *syntax.Word) (glob, error) {
	parts := []string{""}
	for i, part := range w.Parts {
		lit, unquoted := part.(*syntax.Lit)
		if !unquoted {
			one := wordOf(&syntax.Word{Parts: []syntax.WordPart{part}})
			if one.why != "" {
				return glob{}, errNotOneCommand
			}
			parts[len(parts)-1] += one.text
			continue
		}
		for j, text := range strings.Split(lit.Value, "*") {
			if !plainLiteral(text, i == 0 && j == 0) {
				return glob{}, fmt.Errorf("has %q, which a shell may expand; quote it or use * alone", lit.Value)
			}
			if j > 0 {
				parts = append(parts, "")
			}
			parts[len(parts)-1] += text
		}
	}
	return glob{parts}, nil
}

// covers reports whether an allow pattern covers one command of plain words.
func (p *shellPattern) covers(c *command, t *programs) bool {
	argv := c.words
	if c.wild != nil && c.wild[0] {
		return false // a shell chooses the program
	}
	if len(argv) < len(p.words) || !p.rest && !p.open && len(argv) > len(p.words) || p.rest && len(argv) == len(p.words) {
		return false
	}
	if len(p.words) > 1 && p.words[0].literal() && !p.names(argv[0]) {
		return false
	}
	if !p.spelledOut && (strings.Contains(argv[0], "/") || c.runs && !(t.listed(argv[0]) && p.names(argv[0]))) {
		return false
	}
	if c.piped && (c.interprets || c.reads) && !t.listed(argv[0]) {
		return false
	}
	free := false // options may follow, as the pattern has said --
	for i, word := range argv {
		wild := c.wild != nil && c.wild[i]
		if i >= len(p.words) {
			if !c.star[i] && !(free && isOption(word)) {
				return false
			}
			continue
		}
		if !p.coversWord(i, word, c.star[i] || i == 0 || free && isOption(word), wild) {
			return false
		}
		free = free || p.words[i].literal() && word == "--"
	}
	return true
}

// coversWord reports whether the pattern's word i covers a word. A * in it covers
// what it may, and no way up out of the folders that stand beside it.
func (p *shellPattern) coversWord(i int, word string, star, wild bool) bool {
	g := p.words[i]
	if wild {
		word = strings.NewReplacer("*", unknown, "?", unknown).Replace(word)
	}
	if !g.match(word) {
		if !p.open || i < len(p.words)-1 || !p.colon.match(word) {
			return false
		}
		g = p.colon
	}
	if g.literal() {
		return true
	}
	if !star && !isOption(g.prefix()) || i == 0 && isOption(word) {
		return false
	}
	return !leadsUp(word) || !slices.ContainsFunc(g.parts, func(part string) bool { return strings.Contains(part, "/") })
}

// withColon is the glob, then a colon and any text.
func (g glob) withColon() glob {
	parts := append(slices.Clone(g.parts), "")
	parts[len(parts)-2] += ":"
	return glob{parts}
}

func isOption(word string) bool { return strings.HasPrefix(word, "-") }

func isOperand(word string) bool { return !isOption(word) }

// leadsUp reports whether a word has .. as a segment of a path.
func leadsUp(word string) bool {
	return slices.Contains(strings.FieldsFunc(word, func(r rune) bool { return strings.ContainsRune("/:=", r) }), "..")
}
