// Package mask replaces secrets in texts by their handles, in the encodings that
// docs/secrets.md names: as they are, with JSON escapes (nested too), percent-encoded, in
// base64 at any of its three alignments, also with white space, quoted for a shell, SQL, CSV, YAML or Python,
// and with entities of HTML.
//
// Read mask.go (a [Masker]), then search.go (many values in one pass), view.go (texts
// without their escapes), document.go (JSON) and stream.go (answers that arrive in pieces).
package mask

import (
	"cmp"
	"encoding/base64"
	"slices"
	"strings"
)

// Scheme is the beginning of every handle.
const Scheme = "secret://"

// Handle returns the text that replaces the value of a secret.
func Handle(name string) string { return Scheme + name }

// MinLength is the least length of a value in bytes. A [Masker] ignores shorter ones.
const MinLength = 8

// Secret is a value and the name in its handle.
type Secret struct{ Name, Value string }

// Masker replaces the values of some secrets. It is safe for concurrent use. A nil *Masker
// changes nothing.
type Masker struct {
	search  *search
	base64  *search // in texts without white space
	longest int     // bytes of the longest pattern
}

// New returns the masker of secrets, nil if there are none. Of two secrets with one value
// the first counts.
func New(secrets []Secret) *Masker {
	var patterns, encoded []pattern
	seen := map[string]bool{}
	for _, s := range secrets {
		if len(s.Value) < MinLength {
			continue
		}
		for _, form := range forms(s.Value) {
			if !seen[form] {
				seen[form] = true
				patterns = append(patterns, pattern{[]byte(form), Handle(s.Name)})
			}
		}
		for _, digits := range Base64Forms(s.Value) {
			encoded = append(encoded, pattern{[]byte(digits), Handle(s.Name)})
		}
	}
	if len(patterns) == 0 {
		return nil
	}
	m := &Masker{search: newSearch(patterns), base64: newSearch(encoded)}
	for _, p := range patterns {
		m.longest = max(m.longest, len(p.text))
	}
	return m
}

// forms returns the texts that are searched for in texts without escapes.
func forms(value string) []string {
	all := append(Base64Forms(value), value)
	for _, q := range []Quoting{Bare, Double, Single} {
		all = append(all, q.Quote(value))
	}
	for _, quote := range []string{"'", `"`} {
		all = append(all, strings.ReplaceAll(value, quote, quote+quote)) // SQL, YAML in single quotes; CSV
	}
	for _, form := range all {
		all = append(all, strings.ReplaceAll(form, " ", "+")) // in the query of a URL
	}
	return all
}

// Base64Forms returns the digits of base64 that encode a text inside a longer one, for
// each of the three alignments and both alphabets, without those that the text around it
// changes.
func Base64Forms(text string) (digits []string) {
	for before := range 3 {
		padded := strings.Repeat("\x00", before) + text
		from, to := (before*8+5)/6, len(padded)*8/6
		digits = append(digits,
			base64.StdEncoding.EncodeToString([]byte(padded))[from:to],
			base64.URLEncoding.EncodeToString([]byte(padded))[from:to])
	}
	return digits
}

// Quoting is where a text is in a shell script.
type Quoting int

// The places of a text in a shell script.
const (
	Bare   Quoting = iota // in a word without quotes
	Double                // in double quotes
	Single                // in single quotes
)

// plain are the bytes, besides letters and digits, that mean themselves in a word.
const plain = "%+,-./:=@_"

// Quote returns a text such that a POSIX shell reads it literally at a place. The text
// must have no control characters.
func (q Quoting) Quote(text string) string {
	if q == Single {
		return strings.ReplaceAll(text, "'", `'\''`)
	}
	var out strings.Builder
	for i := range len(text) {
		b := text[i]
		literal := b >= 0x80 || (b >= '0' && b <= '9') || (b >= 'a' && b <= 'z') || (b >= 'A' && b <= 'Z') || strings.IndexByte(plain, b) >= 0
		if q == Double {
			literal = strings.IndexByte("$`\"\\", b) < 0
		}
		if !literal {
			out.WriteByte('\\')
		}
		out.WriteByte(b)
	}
	return out.String()
}

// edit replaces a part of a text.
type edit struct {
	from, to int
	by       string
}

// Text returns a text with its secrets replaced: text itself if it has none.
func (m *Masker) Text(text string) string {
	if m == nil || len(text) < MinLength {
		return text
	}
	return string(m.Bytes([]byte(text)))
}

// Bytes is [Masker.Text] for bytes, which are not changed.
func (m *Masker) Bytes(text []byte) []byte {
	if m == nil {
		return text
	}
	return apply(text, m.find(nil, text))
}

// Contains reports whether a text has a secret.
func (m *Masker) Contains(text []byte) bool { return m != nil && len(m.find(nil, text)) > 0 }

// apply makes edits, which do not overlap, in the order of their places.
func apply(text []byte, edits []edit) []byte {
	if len(edits) == 0 {
		return text
	}
	out, at := make([]byte, 0, len(text)+len(edits)*16), 0
	for _, e := range edits {
		out = append(append(out, text[at:e.from]...), e.by...)
		at = e.to
	}
	return append(out, text[at:]...)
}

// find appends the edits that replace the secrets of a text, in the order of their places.
func (m *Masker) find(edits []edit, text []byte) []edit { return m.findAfter(edits, text, 0) }

// findAfter is [Masker.find] for a text that may continue another one: see [view.joined].
func (m *Masker) findAfter(edits []edit, text []byte, before int) []edit {
	begun := len(edits)
	for v := range views(text) {
		edits = m.search.all(edits, v)
		if joined := v.joined(before); joined != nil {
			edits = m.base64.all(edits, joined)
		}
	}
	return append(edits[:begun], merged(edits[begun:])...)
}

// merged sorts edits, and joins those that overlap.
func merged(edits []edit) []edit {
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Or(a.from-b.from, b.to-a.to) })
	out := edits[:0]
	for _, e := range edits {
		if n := len(out); n > 0 && e.from < out[n-1].to {
			out[n-1].to = max(out[n-1].to, e.to)
			continue
		}
		out = append(out, e)
	}
	return out
}
