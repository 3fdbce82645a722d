package shell

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/shell/programs"
)

// AllowPattern is the argument of an allow pattern for scripts: the words of one command.
type AllowPattern struct {
	words      []match.Glob
	rest       bool       // a last word * or **: one or more words; alone: any command without options
	every      bool       // a last word **: any words
	open       bool       // a trailing :*: the last word may go on after a colon, any words may follow
	below      string     // a trailing :FOLDER/**: operands and listed options may follow, with paths in this folder; or ""
	colon      match.Glob // the last word, then a colon and any text, where open
	SpelledOut bool       // no * at all
	redirect   bool       // of a redirection: see redirect.go
}

var errNotOneCommand = errors.New("is not one command of plain words: write one pattern for each command that is allowed")

// NewAllowPattern reads the argument of an allow pattern. It returns an error if that is not one
// command of plain words.
func NewAllowPattern(text string) (*AllowPattern, error) {
	if scriptProblem(text) != "" {
		return nil, errNotOneCommand
	}
	file := parsePlain(text)
	if file == nil {
		var err error
		if file, err = KnownPrograms().parseSource(text); err != nil {
			return nil, errNotOneCommand
		}
	}
	if len(file.Stmts) != 1 || len(file.Last) > 0 {
		return nil, errNotOneCommand
	}
	stmt := file.Stmts[0]
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	switch r := redirectOf(stmt); {
	case len(stmt.Comments) > 0, stmt.Negated, stmt.Background:
		return nil, errNotOneCommand
	case r != nil:
		return newAllowPattern([]*syntax.Word{r.Word}, match.NewGlob(redirectWords[r.Op]))
	case !ok, len(call.Assigns) > 0, len(stmt.Redirs) > 0:
		return nil, errNotOneCommand
	}
	return newAllowPattern(call.Args)
}

// Suggest returns the argument of the allow pattern of the first n words of a command, open to operands and listed options
// with paths below a folder if there is one, or "" if that does not cover the words of the command.
func (c *Command) Suggest(t *Programs, n int, below string) string {
	if c.seen != nil && strings.Contains(strings.Join(c.seen[:n], ""), unknown) {
		return "" // its words have a sign in place of unknown text
	}
	text, literal := c.source.literal, c.source.literal != ""
	if !literal || n < len(c.Words) {
		text = QuoteWords(c.Words[:n])
	}
	if below != "" {
		text += ":" + below + "/**"
	}
	if !literal || below != "" {
		if p, err := NewAllowPattern(text); err != nil || !p.Covers(c, t, 0) {
			return ""
		}
		return text
	}
	var room [8]match.Glob
	p := AllowPattern{words: room[:0], SpelledOut: true}
	for i := range n {
		p.words = append(p.words, match.Glob{Parts: c.Words[i : i+1 : i+1]})
	}
	if !p.Covers(c, t, 0) {
		return ""
	}
	return text
}

// newAllowPattern returns the pattern of some words. With a glob before them it is of a redirection.
func newAllowPattern(words []*syntax.Word, redirect ...match.Glob) (*AllowPattern, error) {
	p := &AllowPattern{words: slices.Grow(redirect, len(words)), SpelledOut: true, redirect: len(redirect) > 0}
	for _, word := range words {
		g, err := wordGlob(word)
		if err != nil {
			return nil, err
		}
		p.words = append(p.words, g)
		p.SpelledOut = p.SpelledOut && g.Literal()
	}
	p.takeTail()
	return p, nil
}

// takeTail removes a last word * or **, or a trailing :* or :FOLDER/**, from the words.
func (p *AllowPattern) takeTail() {
	n := len(p.words) - 1
	last := p.words[n].Parts
	switch word, folder := cutFolder(last); {
	case folder != "" && !p.redirect:
		p.open, p.below, p.colon = true, folder, p.words[n]
		p.words[n] = match.Glob{Parts: []string{word}}
	case slices.Equal(last, []string{"", ""}), slices.Equal(last, []string{"", "", ""}):
		p.rest, p.every = true, len(last) > 2
		p.words = p.words[:n]
	case len(last) > 1 && last[len(last)-1] == "" && strings.HasSuffix(last[len(last)-2], ":"):
		p.open = true
		parts := last[:len(last)-1]
		parts[len(parts)-1] = strings.TrimSuffix(parts[len(parts)-1], ":")
		p.words[n] = match.Glob{Parts: parts}
		p.colon = p.words[n].WithColon()
	}
}

// cutFolder returns the word and the folder in the parts of a glob WORD:FOLDER/**. The folder begins with ./, / or ~/.
func cutFolder(parts []string) (word, folder string) {
	if len(parts) != 3 || parts[1] != "" || parts[2] != "" {
		return "", ""
	}
	word, folder, _ = strings.Cut(parts[0], ":")
	above, inside := strings.CutSuffix(folder, "/")
	first, _, _ := strings.Cut(folder, "/")
	if !inside || word == "" || (first != "." && first != "" && first != "~") || match.LeadsUp(folder) {
		return "", ""
	}
	return word, cmp.Or(above, "/")
}

// folderTail is the end of a pattern WORD:FOLDER/**.
var folderTail = regexp.MustCompile(`:(\./|/|~/)\S*\*\*$`)

// WithoutFolder returns the text of a pattern with :* in place of :FOLDER/** at its end: a deny or ask rule holds in all
// folders.
func WithoutFolder(text string) string {
	if p, err := NewAllowPattern(text); err != nil || p.below == "" {
		return text
	}
	return folderTail.ReplaceAllString(text, ":*")
}

// Below returns the folder in which all paths of a command must be that the pattern covers, "" for no such limit.
func (p *AllowPattern) Below() string { return p.below }

// Word is the word of a pattern for a word of a command, if it has one.
func (p *AllowPattern) Word(i int) (match.Glob, bool) {
	if i >= len(p.words) {
		return match.Glob{}, false
	}
	return p.words[i], true
}

// names reports whether the pattern's first word is a program's name.
func (p *AllowPattern) names(program string) bool {
	return p.NamesProgram() && p.words[0].Prefix() == program
}

// NamesProgram reports whether the pattern's first word has no *.
func (p *AllowPattern) NamesProgram() bool { return len(p.words) > 0 && p.words[0].Literal() }

// Begins reports whether the pattern's first word is a name, in any letter case, or has a *.
func (p *AllowPattern) Begins(name string) bool {
	return !p.NamesProgram() || match.FoldCase(p.words[0].Prefix()) == name
}

// wordGlob reads a word of a pattern: each unquoted * matches any text.
func wordGlob(word *syntax.Word) (match.Glob, error) {
	parts := []string{""}
	for i, part := range word.Parts {
		lit, unquoted := part.(*syntax.Lit)
		if !unquoted {
			one := wordOf(&syntax.Word{Parts: []syntax.WordPart{part}})
			if one.Why != "" {
				return match.Glob{}, errNotOneCommand
			}
			parts[len(parts)-1] += one.Text
			continue
		}
		for j, text := range strings.Split(lit.Value, "*") {
			if !isPlain(text, i == 0 && j == 0) {
				return match.Glob{}, fmt.Errorf("has %q, which a shell may expand; quote it or use * alone", lit.Value)
			}
			if j > 0 {
				parts = append(parts, "")
			}
			parts[len(parts)-1] += text
		}
	}
	return match.Glob{Parts: parts}, nil
}

// Meaning is what a last * of an allow pattern covers. The zero value is that of grants and suggestions: operands, and
// options that the table lists.
type Meaning int

// Whole is the meaning of rules: all of the program that the pattern names, but what the table lists as of another kind.
const Whole Meaning = 1

// Covers reports whether an allow pattern covers one command of plain words, or one redirection.
func (p *AllowPattern) Covers(c *Command, t *Programs, as Meaning) bool {
	return p.Ends(c, t, as) < 0
}

// Ends returns the index of the first word of a command that the pattern does not cover, the number of words if it is for
// longer commands, or -1 if it covers the command.
func (p *AllowPattern) Ends(c *Command, t *Programs, as Meaning) int {
	if p.below != "" { // what it covers is in the table
		as = 0
	}
	switch {
	case len(c.Sets()) > 0:
		return 0
	case c.Redirect || p.redirect:
		if c.Redirect && p.coversRedirect(c) {
			return -1
		}
		return 0
	case as == Whole && p.coversEvery(c):
		return -1
	}
	star, open := c.mayStar, false
	if as == Whole {
		star, open = p.star(c, t)
	}
	return p.endOfWords(c, t, star, open, as)
}

// endOfWords is Ends for a command whose words a last * covers as star has it. open: it may be a program that runs others.
func (p *AllowPattern) endOfWords(c *Command, t *Programs, star []bool, open bool, as Meaning) int {
	end, n := p.firstUncovered(c, star), len(p.words)
	switch {
	case end >= 0 && end < n:
		return end
	case !open && !p.coversProgram(c, t) && len(c.Words) <= n:
		return 0
	case !open && !p.coversProgram(c, t):
		return n
	case end >= 0:
		return end
	case p.every && as != Whole && len(c.Words) != n+1: // of one word
		return n
	case !p.fitsLength(len(c.Words)) && !p.fitsAlone(c, t):
		return min(n, len(c.Words))
	}
	return -1
}

// coversEvery reports whether the pattern ends with ** and covers any words of the program.
func (p *AllowPattern) coversEvery(c *Command) bool {
	if !p.every || c.isWild(0) || len(c.Words) < len(p.words) || c.mayReadProgram() {
		return false
	}
	for i := range p.words {
		if !p.coversWord(i, c.Words[i], true, c.isWild(i)) {
			return false
		}
	}
	return true
}

// beginsLike reports whether a command begins with the words of the pattern, and these have no *.
func (p *AllowPattern) beginsLike(c *Command) bool {
	if !(p.rest || p.open) || len(c.Words) < len(p.words) {
		return false
	}
	for i := range p.words {
		if !p.words[i].Literal() || !p.coversWord(i, c.Words[i], false, c.isWild(i)) {
			return p.open && i == len(p.words)-1 && p.coversWord(i, c.Words[i], true, c.isWild(i))
		}
	}
	return true
}

// star returns which words of a command a last * covers, and whether it covers more than what the table lists.
func (p *AllowPattern) star(c *Command, t *Programs) (words []bool, open bool) {
	if !p.NamesProgram() || !p.beginsLike(c) || c.isWild(0) || c.mayReadProgram() {
		return c.mayStar, false
	}
	star, ok := t.Star(c.Words, c.wild, len(p.words))
	last := len(p.words) - 1
	continues := star.File != "" && star.File == c.Words[last] && !p.words[last].Match(star.File) // run.sh:x is another file
	elsewhere := c.Folder != "" && star.File != "" && strings.IndexByte("/~", star.File[0]) < 0
	switch {
	case !ok:
		return make([]bool, len(c.Words)), false
	case continues || elsewhere:
		return c.mayStar, false
	case len(c.LeftOut()) > 0: // whether those are all in front of the subcommand only the table of options knows
		for i := range star.Words {
			star.Words[i] = star.Words[i] && c.mayStar[i]
		}
	}
	return star.Words, true
}

// mayReadProgram reports whether a command reads what another one writes, or a file, and may run that.
func (c *Command) mayReadProgram() bool {
	return (c.data.piped || c.data.fed) && c.kind.runsOthers
}

// firstUncovered returns the index of the first word of a command that the pattern does not cover, or -1.
func (p *AllowPattern) firstUncovered(c *Command, star []bool) int {
	free := false // options may follow, as the pattern has --
	for i, word := range c.Words {
		spelledFree := free && isOption(word)
		switch {
		case i < len(p.words) && !p.coversWord(i, word, c.mayStar[i] || i == 0 || spelledFree, c.isWild(i)):
			return i
		case i < len(p.words):
			free = free || (p.words[i].Literal() && word == "--")
		case !(p.rest || p.open) || (!star[i] && !spelledFree):
			return i
		}
	}
	return -1
}

// fitsAlone reports whether a command is a pattern's words in front of a last *, and a reader, which
// shows its input or folder then.
func (p *AllowPattern) fitsAlone(c *Command, t *Programs) bool {
	if !p.rest || len(p.words) == 0 || len(c.Words) != len(p.words) {
		return false
	}
	entry, _ := t.ClassOf(c.Words, c.wild)
	return entry.Class == programs.Read
}

func (p *AllowPattern) fitsLength(words int) bool {
	switch {
	case p.rest:
		return words > len(p.words)
	case p.open:
		return words >= len(p.words)
	}
	return words == len(p.words)
}

// coversProgram reports whether the pattern may cover a command's program, by its name and input.
func (p *AllowPattern) coversProgram(c *Command, t *Programs) bool {
	program := c.Words[0]
	switch {
	case c.isWild(0):
		return false // a shell chooses the program
	case len(p.words) > 1 && p.words[0].Literal() && !p.names(program):
		return false
	case c.mayRunInput(t):
		return false
	case p.SpelledOut:
		return true
	}
	return !strings.Contains(program, "/") && (!c.kind.runsOthers || (t.Listed(program) && p.names(program)))
}

// mayRunInput reports whether a command may run what it reads.
func (c *Command) mayRunInput(t *Programs) bool {
	if c.data.fed && c.kind.runsOthers && (!c.complete || len(c.inner) > 0) {
		return true
	}
	return (c.data.piped || c.data.fed) && (c.kind.interprets || c.data.runs) && !t.Listed(c.Words[0])
}

// coversWord reports whether word i of the pattern covers a word. A * with a folder covers no ..
// path.
func (p *AllowPattern) coversWord(i int, word string, star, wild bool) bool {
	g := p.words[i]
	if wild {
		word = strings.NewReplacer("*", unknown, "?", unknown).Replace(word)
	}
	if !g.Match(word) {
		if !p.open || p.below != "" || i < len(p.words)-1 || !p.colon.Match(word) {
			return false
		}
		g = p.colon
	}
	if g.Literal() {
		return true
	}
	if (!star && !isOption(g.Prefix())) || (i == 0 && isOption(word)) {
		return false
	}
	return !match.LeadsUp(word) || !slices.ContainsFunc(g.Parts, func(part string) bool { return strings.Contains(part, "/") })
}
