package policy

import "strings"

// glob is a text in which * stands for any text.
type glob struct {
	parts []string // what stands between the stars; one: there is no star
}

func newGlob(text string) glob { return glob{strings.Split(text, "*")} }

func (g glob) literal() bool { return len(g.parts) == 1 }

func (g glob) textLen() int {
	n := 0
	for _, p := range g.parts {
		n += len(p)
	}
	return n
}

// prefix is what stands before the first star.
func (g glob) prefix() string { return g.parts[0] }

func (g glob) match(s string) bool {
	first, last := g.parts[0], g.parts[len(g.parts)-1]
	if g.literal() {
		return s == first
	}
	if len(s) < len(first)+len(last) || !strings.HasPrefix(s, first) || !strings.HasSuffix(s, last) {
		return false
	}
	s = s[len(first) : len(s)-len(last)]
	for _, part := range g.parts[1 : len(g.parts)-1] {
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s = s[i+len(part):]
	}
	return true
}

// textGlob is the argument of a pattern compared as plain text: a glob, or with
// a trailing :* one that also ends where a space or a colon follows.
type textGlob []glob

func newTextGlob(text string) textGlob {
	if base, ok := strings.CutSuffix(text, ":*"); ok {
		return textGlob{newGlob(base), newGlob(base + " *"), newGlob(base + ":*")}
	}
	return textGlob{newGlob(text)}
}

// newPrefixGlob is a textGlob that also ends where a space follows.
func newPrefixGlob(text string) textGlob {
	g := newTextGlob(text)
	if len(g) == 1 {
		g = append(g, newGlob(text+" *"))
	}
	return g
}

func (t textGlob) match(s string) bool {
	for _, g := range t {
		if g.match(s) {
			return true
		}
	}
	return false
}

// meets reports whether one of two globs of names matches the other's text, as
// it does where they share a name in all but odd cases.
func (g glob) meets(other glob) bool {
	return g.match(strings.Join(other.parts, "*")) || other.match(strings.Join(g.parts, "*"))
}
