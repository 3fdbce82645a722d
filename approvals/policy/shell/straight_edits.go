package shell

import (
	"cmp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// edit replaces a part of a source by a text.
type edit struct {
	span
	text string
}

// straightener rewrites one script by edits of its source.
type straightener struct {
	src      string
	programs *Programs
	parts    [][2]span // of each here-document: its operator and word, and its text with the last line
	sets     bool      // the script sets a variable
	work     int       // bytes of source that may still be rewritten
	failed   bool
}

// apply returns a part of the source with edits, which must be in that part.
func (s *straightener) apply(in span, edits []edit) string {
	if s.spend(eachRewrite + in.to - in.from); s.failed {
		return ""
	}
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Or(a.from-b.from, a.to-b.to) })
	var b strings.Builder
	at := in.from
	for _, e := range edits {
		if e.from < at || e.to < e.from || e.to > in.to || s.divides(e.span) {
			s.failed = true
			return ""
		}
		b.WriteString(s.src[at:e.from])
		b.WriteString(e.text)
		at = e.to
	}
	b.WriteString(s.src[at:in.to])
	if s.failed = s.failed || b.Len() > MaxScript; s.failed {
		return ""
	}
	return b.String()
}

// spend fails if the work for a script is more than its limit.
func (s *straightener) spend(bytes int) {
	s.work -= bytes
	s.failed = s.failed || s.work < 0
}

// documents records the places of here-documents.
func (s *straightener) documents(file *syntax.File) {
	syntax.Walk(file, func(n syntax.Node) bool {
		r, ok := n.(*syntax.Redirect)
		if !ok || (r.Op != syntax.Hdoc && r.Op != syntax.DashHdoc) {
			return true
		}
		if r.Hdoc == nil {
			s.failed = true
			return true
		}
		text := spanOf(r.Hdoc)
		if end := strings.IndexByte(s.src[min(text.to, len(s.src)):], '\n'); end >= 0 {
			text.to += end + 1
		} else {
			text.to = len(s.src)
		}
		s.parts = append(s.parts, [2]span{{int(r.OpPos.Offset()), int(r.Word.End().Offset())}, text})
		return true
	})
}

// divides reports whether a part of the source contains a piece of a here-document, but not all of it.
func (s *straightener) divides(in span) bool {
	return slices.ContainsFunc(s.parts, func(parts [2]span) bool {
		apart := func(part span) bool { return part.to <= in.from || in.to <= part.from }
		return !(apart(parts[0]) && apart(parts[1])) && !(in.holds(parts[0]) && in.holds(parts[1]))
	})
}

// token replaces a keyword or operator.
func (s *straightener) token(at syntax.Pos, text, by string) []edit {
	from := int(at.Offset())
	if !at.IsValid() || !strings.HasPrefix(s.src[min(from, len(s.src)):], text) {
		s.failed = true
		return nil
	}
	return []edit{{span{from, from + len(text)}, by}}
}
