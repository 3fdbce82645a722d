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
	core   string // the same without what joins it to the *, in lower case
}

func newCommandGlob(text string) *commandGlob {
	prefix := strings.TrimSuffix(newGlob(text).prefix(), ":")
	return &commandGlob{
		glob:   newPrefixGlob(text),
		lower:  newPrefixGlob(strings.ToLower(text)),
		prefix: prefix,
		core:   strings.ToLower(strings.TrimSpace(prefix)),
	}
}

// match says whether any command of a script matches.
func (g *commandGlob) match(s *script) match {
	if slices.ContainsFunc(s.texts, g.glob.match) {
		return yes
	}
	if s.problem != "" || slices.ContainsFunc(s.lower, g.lower.match) || slices.ContainsFunc(s.commands, g.mayMatch) {
		return maybe
	}
	return no
}

// mayMatch reports whether a command may turn out to match when the shell has
// expanded it, or may run something that does.
func (g *commandGlob) mayMatch(c command) bool {
	for _, open := range c.opens {
		if before, _, cut := strings.Cut(open, unknown); cut &&
			(strings.HasPrefix(before, g.prefix) || strings.HasPrefix(g.prefix, before)) {
			return true
		}
	}
	if !c.runs {
		return false
	}
	if c.interprets && (c.piped || !slices.ContainsFunc(c.words[1:], isOperand)) {
		return true // reads its script from somewhere else
	}
	return strings.ContainsAny(c.opens[0], unknown+"'\"\\$`") || containsWord(c.text, g.core)
}

// containsWord reports whether a text stands in another where a word begins.
func containsWord(text, word string) bool {
	for i := 0; ; {
		j := strings.Index(text[i:], word)
		if j < 0 {
			return false
		}
		i += j
		if i == 0 || !isWordByte(text[i-1]) {
			return true
		}
		i++
	}
}

func isWordByte(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 0x80
}

// shellPattern is the argument of an allow pattern for scripts: the words of
// one command.
type shellPattern struct {
	words      []glob
	rest       bool // a last word *: one or more operands; alone: any command without options
	open       bool // a trailing :*: the last word may go on after a colon, any operands may follow
	spelledOut bool // no * at all
}

var errNotOneCommand = errors.New("is not one command of plain words: write one pattern for each command that is allowed")

func newShellPattern(text string) (*shellPattern, error) {
	if problem := scriptProblem(text); problem != "" {
		return nil, errNotOneCommand
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).Parse(strings.NewReader(text), "")
	if err != nil || len(file.Stmts) != 1 || len(file.Last) > 0 {
		return nil, errNotOneCommand
	}
	stmt := file.Stmts[0]
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Assigns) > 0 || len(stmt.Redirs) > 0 || len(stmt.Comments) > 0 || stmt.Negated || stmt.Background {
		return nil, errNotOneCommand
	}
	p := &shellPattern{spelledOut: true}
	for _, word := range call.Args {
		g, err := wordGlob(word)
		if err != nil {
			return nil, err
		}
		p.words = append(p.words, g)
		p.spelledOut = p.spelledOut && g.literal()
	}
	p.takeTail()
	return p, nil
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
	}
}

// wordGlob is a word of a pattern: each unquoted * stands for any text.
func wordGlob(word *syntax.Word) (glob, error) {
	parts := []string{""}
	for i, part := range word.Parts {
		lit, unquoted := part.(*syntax.Lit)
		if !unquoted {
			text, why := wordText(&syntax.Word{Parts: []syntax.WordPart{part}})
			if why != "" {
				return glob{}, errNotOneCommand
			}
			parts[len(parts)-1] += text
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
func (p *shellPattern) covers(c command) bool {
	argv := c.words
	if len(argv) < len(p.words) || !p.rest && !p.open && len(argv) > len(p.words) || p.rest && len(argv) == len(p.words) {
		return false
	}
	if !p.spelledOut && (c.runs || strings.Contains(argv[0], "/")) {
		return false
	}
	if c.piped && c.interprets {
		return false
	}
	free := false // options may follow, as the pattern has said --
	for i, word := range argv {
		if i >= len(p.words) {
			if !free && isOption(word) {
				return false
			}
			continue
		}
		if !p.coversWord(i, word, free) {
			return false
		}
		free = free || p.words[i].literal() && word == "--"
	}
	return true
}

// coversWord reports whether the pattern's word i covers a word. A * in it covers
// no option, and no way up out of the folders that stand beside it.
func (p *shellPattern) coversWord(i int, word string, free bool) bool {
	g := p.words[i]
	if !g.match(word) {
		if !p.open || i < len(p.words)-1 || !g.withColon().match(word) {
			return false
		}
		g = g.withColon()
	}
	if g.literal() {
		return true
	}
	if isOption(word) && !free && !isOption(g.prefix()) {
		return false
	}
	return !strings.Contains(strings.Join(g.parts, ""), "/") || !leadsUp(word)
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
