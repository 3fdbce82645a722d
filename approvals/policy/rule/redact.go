package rule

import (
	"cmp"
	"slices"
	"strings"
)

// disjoint joins the parts that overlap, in the order of their places.
func disjoint(found []Span) []Span {
	slices.SortFunc(found, func(a, b Span) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End), cmp.Compare(b.Kind, a.Kind))
	})
	var all []Span
	for _, span := range found {
		if n := len(all); n > 0 && span.Start < all[n-1].End {
			all[n-1].End = max(all[n-1].End, span.End)
			all[n-1].Kind = cmp.Or(all[n-1].Kind, span.Kind)
			continue
		}
		all = append(all, span)
	}
	return all
}

// Redact returns texts with a note in place of some parts of the joined text, as
// [Detector.FindIn] finds them. If a part is in several texts, the note is in the first one, and in
// each text that would be empty without it.
func Redact(texts []string, parts []Span) []string {
	parts = disjoint(parts)
	out := make([]string, len(texts))
	at := 0
	for i, text := range texts {
		var b strings.Builder
		kept := at
		for _, part := range parts {
			if part.End <= at || part.Start >= at+len(text) {
				continue
			}
			if part.Start > kept {
				b.WriteString(text[kept-at : part.Start-at])
			}
			if part.Start >= at {
				b.WriteString(replacement(part.Kind))
			}
			kept = min(part.End, at+len(text))
		}
		b.WriteString(text[kept-at:])
		if out[i] = b.String(); out[i] == "" && text != "" {
			out[i] = replacement("") // some providers refuse empty texts
		}
		at += len(text)
	}
	return out
}

// replacement is the text in place of a part.
func replacement(kind string) string {
	if kind == "" {
		return "[redacted]"
	}
	return "[redacted: " + kind + "]"
}
