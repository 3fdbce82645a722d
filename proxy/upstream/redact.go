package upstream

import (
	"bytes"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/heldcall/heldcall/internal/mask"
)

const (
	// redacted replaces the key.
	redacted = "[upstream key]"
	// minKeyLength is the least length of a configured key that is a secret: a shorter one
	// (none, EMPTY) is a placeholder for a field that must not be empty.
	minKeyLength = 8
)

// KeyRedactor finds an upstream's configured key in its answers, as text and as JSON,
// URLs and Basic credentials encode it. Upstreams quote keys in their errors, and the
// agent must not learn this one. The zero value finds nothing.
type KeyRedactor []keyForm

// keyForm is one encoding of the key.
type keyForm struct {
	text     []byte
	rarestAt int // index of its byte that is rarest in answers: that one is searched for
}

// NewKeyRedactor returns the redactor of a key. It finds nothing if the key is shorter
// than 8 bytes, and so no secret.
func NewKeyRedactor(key string) (m KeyRedactor) {
	if len(key) < minKeyLength {
		return nil
	}
	inJSON := quoted(key)
	texts := []string{
		key, inJSON, strings.ReplaceAll(inJSON, "/", `\/`), quoted(inJSON), // the arguments of a call are JSON in JSON
		url.QueryEscape(key), url.PathEscape(key),
	}
	texts = append(texts, mask.Base64Forms(key)...)
	seen := make(map[string]bool)
	for _, text := range texts {
		if !seen[text] {
			seen[text] = true
			m = append(m, keyForm{[]byte(text), rarest(text)})
		}
	}
	return m
}

// quoted returns a text as the contents of a JSON string.
func quoted(text string) string {
	escaped, _ := jsontext.AppendQuote(nil, text)
	return string(escaped[1 : len(escaped)-1])
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
func (s *keyForm) index(b []byte, from int) int {
	last := len(b) - len(s.text) + s.rarestAt // the last place of its rarest byte
	for at := from + s.rarestAt; at <= last; at++ {
		i := bytes.IndexByte(b[at:last+1], s.text[s.rarestAt])
		if i < 0 {
			return -1
		}
		at += i
		if bytes.HasPrefix(b[at-s.rarestAt:], s.text) {
			return at - s.rarestAt
		}
	}
	return -1
}

// Contains reports whether the key is in b.
func (m KeyRedactor) Contains(b []byte) bool {
	for i := range m {
		if m[i].index(b, 0) >= 0 {
			return true
		}
	}
	return false
}

// Redact returns b without the key: b itself where it is not in it.
func (m KeyRedactor) Redact(b []byte) []byte {
	for i := range m {
		s := &m[i]
		if s.index(b, 0) >= 0 {
			b = bytes.ReplaceAll(b, s.text, []byte(redacted))
		}
	}
	return b
}
