package match

import (
	"slices"
	"strings"
)

// Glob is a text in which * stands for any text.
type Glob struct {
	Parts []string // what stands between the stars; one: there is no star
}

func NewGlob(text string) Glob { return Glob{strings.Split(text, "*")} }

func (g Glob) Literal() bool { return len(g.Parts) == 1 }

func (g Glob) TextLen() int {
	n := 0
	for _, p := range g.Parts {
		n += len(p)
	}
	return n
}

// Text is the glob without its stars.
func (g Glob) Text() string { return strings.Join(g.Parts, "") }

// Prefix is what stands before the first star.
func (g Glob) Prefix() string { return g.Parts[0] }

func (g Glob) Match(s string) bool {
	first, last := g.Parts[0], g.Parts[len(g.Parts)-1]
	if g.Literal() {
		return s == first
	}
	if len(s) < len(first)+len(last) || !strings.HasPrefix(s, first) || !strings.HasSuffix(s, last) {
		return false
	}
	s = s[len(first) : len(s)-len(last)]
	for _, part := range g.Parts[1 : len(g.Parts)-1] {
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s = s[i+len(part):]
	}
	return true
}

// TextGlob is the argument of a pattern compared as plain text: a glob, or with
// a trailing :* one that also ends where a space or a colon follows.
type TextGlob []Glob

func NewTextGlob(text string) TextGlob {
	if base, ok := strings.CutSuffix(text, ":*"); ok {
		return TextGlob{NewGlob(base), NewGlob(base + " *"), NewGlob(base + ":*")}
	}
	return TextGlob{NewGlob(text)}
}

// NewPrefixGlob is a textGlob that also ends where a space follows.
func NewPrefixGlob(text string) TextGlob {
	g := NewTextGlob(text)
	if len(g) == 1 {
		g = append(g, NewGlob(text+" *"))
	}
	return g
}

func (t TextGlob) Match(s string) bool {
	for _, g := range t {
		if g.Match(s) {
			return true
		}
	}
	return false
}

// Meets reports whether one of two globs of names matches the other's text, as
// it does where they share a name in all but odd cases.
func (g Glob) Meets(other Glob) bool {
	return g.Match(strings.Join(other.Parts, "*")) || other.Match(strings.Join(g.Parts, "*"))
}

// WithColon is the glob, then a colon and any text.
func (g Glob) WithColon() Glob {
	parts := append(slices.Clone(g.Parts), "")
	parts[len(parts)-2] += ":"
	return Glob{parts}
}
