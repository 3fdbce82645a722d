package upstream

import (
	"bytes"
	"encoding/base64"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// masked stands where the key stood.
	masked = "[upstream key]"
	// shortestSecret is the length from which on a configured key is one: what is
	// shorter (none, EMPTY) fills a field that must not be empty.
	shortestSecret = 8
)

// Mask finds an upstream's configured key in what comes back from it, as text
// and as JSON, URLs and Basic credentials spell it. Upstreams quote keys in their
// errors, and the agent must not learn this one. The zero value finds nothing.
type Mask []spelling

// spelling is one way to write the key.
type spelling struct {
	text []byte
	rare int // where its byte stands that is rarest in answers: looked for first
}

func NewMask(key string) (m Mask) {
	if len(key) < shortestSecret {
		return nil
	}
	escaped, _ := jsontext.AppendQuote(nil, key)
	inJSON := string(escaped[1 : len(escaped)-1])
	texts := []string{
		key, inJSON, strings.ReplaceAll(inJSON, "/", `\/`),
		url.QueryEscape(key), url.PathEscape(key),
	}
	texts = append(texts, inBase64(key)...)
	seen := make(map[string]bool)
	for _, text := range texts {
		if !seen[text] {
			seen[text] = true
			m = append(m, spelling{[]byte(text), rarest(text)})
		}
	}
	return m
}

// inBase64 is what base64 makes of a text wherever it stands in a longer one: of
// each of the three ways to begin, the digits that nothing around it touches.
func inBase64(text string) (digits []string) {
	for before := range 3 {
		padded := strings.Repeat("\x00", before) + text
		from, to := (before*8+5)/6, len(padded)*8/6
		digits = append(digits,
			base64.StdEncoding.EncodeToString([]byte(padded))[from:to],
			base64.URLEncoding.EncodeToString([]byte(padded))[from:to])
	}
	return digits
}

// frequent are the bytes of a key from the most frequent in answers on. Capitals
// are rarer than all of them.
const frequent = `-_etaoinsrhldcumfpgwybvkxjqz0123456789/+=%\.`

func rarest(text string) (at int) {
	rank := -1
	for i := range len(text) {
		r := strings.IndexByte(frequent, text[i])
		if r < 0 {
			return i
		}
		if r > rank {
			rank, at = r, i
		}
	}
	return at
}

// index is where the spelling begins in b from an offset on, or -1.
func (s *spelling) index(b []byte, from int) int {
	last := len(b) - len(s.text) + s.rare // where its rarest byte may stand at the most
	for at := from + s.rare; at <= last; at++ {
		i := bytes.IndexByte(b[at:last+1], s.text[s.rare])
		if i < 0 {
			return -1
		}
		at += i
		if bytes.HasPrefix(b[at-s.rare:], s.text) {
			return at - s.rare
		}
	}
	return -1
}

// Shows reports whether the key is in b.
func (m Mask) Shows(b []byte) bool {
	for i := range m {
		if m[i].index(b, 0) >= 0 {
			return true
		}
	}
	return false
}

// Hide returns b without the key: b itself where it is not in it.
func (m Mask) Hide(b []byte) []byte {
	for i := range m {
		s := &m[i]
		if s.index(b, 0) >= 0 {
			b = bytes.ReplaceAll(b, s.text, []byte(masked))
		}
	}
	return b
}
