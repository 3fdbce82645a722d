package match

import "strings"

// Glob is a text in which * matches any text.
type Glob struct {
	Parts []string // the texts between the stars; a single one: there is no star
}

// NewGlob returns the glob that a text is.
func NewGlob(text string) Glob { return Glob{strings.Split(text, "*")} }

// Literal reports whether the glob has no star.
func (g Glob) Literal() bool { return len(g.Parts) == 1 }

// TextLen returns the length in bytes of the text between the stars.
func (g Glob) TextLen() int {
	n := 0
	for _, p := range g.Parts {
		n += len(p)
	}
	return n
}

// Text returns the glob without its stars.
func (g Glob) Text() string { return strings.Join(g.Parts, "") }

// Prefix returns the text before the first star.
func (g Glob) Prefix() string { return g.Parts[0] }

// Match reports whether the glob covers all of a text.
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

// With returns the glob with texts in place of its stars.
func (g Glob) With(stars []string) string {
	text := g.Parts[0]
	for i, star := range stars {
		text += star + g.Parts[i+1]
	}
	return text
}

// TextGlob is the argument of a pattern for plain text. With a trailing :* it also matches the text
// before it, alone or followed by a space or a colon.
type TextGlob []Glob

// NewTextGlob returns the glob that the argument of a pattern is.
func NewTextGlob(text string) TextGlob {
	if base, ok := strings.CutSuffix(text, ":*"); ok {
		return TextGlob{NewGlob(base), NewGlob(base + " *"), NewGlob(base + ":*")}
	}
	return TextGlob{NewGlob(text)}
}

// NewPrefixGlob is [NewTextGlob] for a text that also ends where a space follows.
func NewPrefixGlob(text string) TextGlob {
	g := NewTextGlob(text)
	if len(g) == 1 {
		g = append(g, NewGlob(text+" *"))
	}
	return g
}

// Match reports whether the glob covers all of a text.
func (t TextGlob) Match(s string) bool {
	for _, g := range t {
		if g.Match(s) {
			return true
		}
	}
	return false
}

// Meets reports whether two globs of names share a name, except in rare cases.
func (g Glob) Meets(other Glob) bool {
	return g.Match(strings.Join(other.Parts, "*")) || other.Match(strings.Join(g.Parts, "*"))
}

// WithColon returns the glob followed by a colon and any text.
func (g Glob) WithColon() Glob {
	parts := make([]string, len(g.Parts)+1)
	copy(parts, g.Parts)
	parts[len(parts)-2] += ":"
	return Glob{parts}
}
