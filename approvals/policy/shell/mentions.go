package shell

import (
	"strings"

	"github.com/heldcall/heldcall/approvals/policy/match"
)

// The names of commands are looked for in texts that a program may run in a way that
// is not known: words of programs that run others or are not in the table, assignments,
// here-documents, what a pipe carries.

const (
	maxLetters = 64       // option letters in front of a name
	maxNames   = 16 << 10 // names in a text that patterns are looked up by
)

// appendLoose adds the readings of a text: what separates words, in a shell or in other
// languages, becomes one space, quoting may have split a word, and programs such as
// printf read escapes.
func appendLoose(texts []string, text string) []string {
	text = match.FoldCase(text)
	texts = append(texts, spaced(text))
	if strings.ContainsAny(text, "'\"\\") {
		texts = append(texts, spaced(strings.NewReplacer("'", "", `"`, "", `\`, "").Replace(text)))
	}
	if strings.Contains(text, `\`) {
		texts = append(texts, spaced(match.FoldCase(withoutEscapes(text))))
	}
	return texts
}

// withoutEscapes is text with the characters that escapes such as \n stand for. What is
// no escape stays.
func withoutEscapes(text string) string {
	var b strings.Builder
	for {
		before, rest, escaped := strings.Cut(text, `\`)
		b.WriteString(before)
		if !escaped {
			return b.String()
		}
		n, ok := 0, false
		if rest != "" {
			n, ok = ansiEscape(&b, rest)
		}
		if !ok {
			n = 0
			b.WriteByte('\\')
		}
		text = rest[n:]
	}
}

func spaced(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	between := false
	for i := range len(text) {
		switch c := text[i]; {
		case c <= ' ' || strings.IndexByte(";|&()<>[]{},`$'\"\\", c) >= 0:
			between = b.Len() > 0
		case between:
			between = false
			b.WriteByte(' ')
			fallthrough
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// nameBegins reports whether a command's name may begin at a place in a loose text: after
// what is no letter, after option letters, and after the letter by which sed runs what
// follows.
func nameBegins(text string, at int) bool {
	if at == 0 {
		return true
	}
	switch before := text[at-1]; {
	case before == '-':
		return at == 1 || !isWordByte(text[at-2])
	case !isWordByte(before):
		return true
	case before == 'e' && (at == 1 || text[at-2] < 'a' || text[at-2] > 'z'):
		return true
	}
	i := at
	for i > 0 && isWordByte(text[i-1]) {
		if i--; at-i > maxLetters {
			return true
		}
	}
	return i > 0 && text[i-1] == '-' && (i == 1 || text[i-2] != '-' && !isWordByte(text[i-2]))
}

// nameEnd is where a name that begins a text ends.
func nameEnd(text string) int {
	for i := range len(text) {
		if !isWordByte(text[i]) && strings.IndexByte("./-", text[i]) < 0 {
			return i
		}
	}
	return len(text)
}

func isWordByte(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 0x80
}

// appendNames adds the texts in a loose text that may be names of commands, up to a space
// and up to what cannot be part of a name. It is false if there are too many.
func appendNames(names []string, text string) ([]string, bool) {
	most := len(names) + maxNames
	for i := range len(text) {
		if text[i] == ' ' || !nameBegins(text, i) {
			continue
		}
		if len(names) >= most {
			return names, false
		}
		word := firstWord(text[i:])
		names = append(names, word)
		end := nameEnd(word)
		if name, found := strings.CutSuffix(word[:end], ".exe"); found {
			names = append(names, name)
		}
		if end > 0 && end < len(word) {
			names = append(names, word[:end])
		}
	}
	return names, true
}

// namedIn reports whether a loose text names the command of the pattern.
func (g *Pattern) namedIn(text string) bool {
	if g.core == "" {
		return g.loose.Match(text)
	}
	for i := 0; ; i++ {
		j := strings.Index(text[i:], g.core)
		if j < 0 {
			return false
		}
		i += j
		rest := text[i+len(g.core):]
		whole := g.open || nameEnd(rest) == 0 || strings.HasPrefix(rest, ".exe")
		if whole && nameBegins(text, i) && g.loose.Match(text[i:]) {
			return true
		}
	}
}
