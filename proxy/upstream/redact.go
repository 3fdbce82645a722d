package upstream

import (
	"bytes"
	"fmt"
	"net/url"
	"regexp"
	"slices"
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
type KeyRedactor []keyForms

// keyForms are encodings of the key that have a part in common.
type keyForms struct {
	core     []byte // the part; empty: none
	rarestAt int    // index of its byte that is rarest in answers: that one is searched for
	texts    [][]byte
}

// placeholders are what the documentation of local servers (LM Studio, llama.cpp, LangChain) has for a key.
var placeholders = []string{"lm-studio", "not-needed", "no-key-required", "sk-no-key-required", "placeholder"}

// NewKeyRedactor returns the redactor of a key. It finds nothing if the key is shorter
// than 8 bytes or one of the placeholders, and so no secret.
func NewKeyRedactor(key string) (m KeyRedactor) {
	if len(key) < minKeyLength || slices.Contains(placeholders, key) {
		return nil
	}
	forms := append(jsonForms(key), key)
	for _, escaped := range []string{url.QueryEscape(key), url.PathEscape(key)} {
		forms = append(forms, escaped, percent.ReplaceAllStringFunc(escaped, strings.ToLower))
	}
	m.add(longestWord(key), forms...)
	encoded := mask.Base64Forms(key)
	slices.Sort(encoded)
	for _, text := range slices.Compact(encoded) {
		m.add(text, text)
	}
	return m
}

// add adds encodings with a part that they have in common.
func (m *KeyRedactor) add(core string, texts ...string) {
	forms := keyForms{core: []byte(core), rarestAt: rarest(core)}
	for _, text := range texts {
		forms.texts = append(forms.texts, []byte(text))
	}
	slices.SortFunc(forms.texts, bytes.Compare)
	forms.texts = slices.CompactFunc(forms.texts, bytes.Equal)
	*m = append(*m, forms)
}

// longestWord returns the longest part of characters that no encoding changes.
func longestWord(text string) (longest string) {
	for _, word := range word.FindAllString(text, -1) {
		if len(word) > len(longest) {
			longest = word
		}
	}
	return longest
}

var (
	word    = regexp.MustCompile(`[0-9A-Za-z_.-]+`)
	percent = regexp.MustCompile(`%[0-9A-F]{2}`)
)

// escaped are the characters that encoders of JSON write as escapes beside those that they must: none, those of Go, of
// Gson (two) and of .NET, and all of them.
var escaped = []string{"", "&<>", "&<>=", "&<>='", "&<>+'`", "&<>=+'`"}

// jsonForms returns the contents of the JSON strings that encoders write for a text, and for such a string: the arguments
// of a call are JSON in JSON.
func jsonForms(text string) (forms []string) {
	plain := quoted(text)
	for _, slash := range []string{"/", `\/`, `\u002f`, `\u002F`} {
		for _, special := range escaped {
			for _, format := range []string{`\u%04x`, `\u%04X`} {
				once := strings.ReplaceAll(plain, "/", slash)
				for _, r := range special {
					once = strings.ReplaceAll(once, string(r), fmt.Sprintf(format, r))
				}
				forms = append(forms, once, quoted(once), strings.ReplaceAll(quoted(once), "/", slash))
			}
		}
	}
	return forms
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

// mayBeIn reports whether the part in common is in b.
func (f *keyForms) mayBeIn(b []byte) bool {
	if len(f.core) == 0 {
		return true
	}
	last := len(b) - len(f.core) + f.rarestAt // the last place of its rarest byte
	for at := f.rarestAt; at <= last; at++ {
		i := bytes.IndexByte(b[at:last+1], f.core[f.rarestAt])
		if i < 0 {
			return false
		}
		at += i
		if bytes.HasPrefix(b[at-f.rarestAt:], f.core) {
			return true
		}
	}
	return false
}

// Contains reports whether the key is in b.
func (m KeyRedactor) Contains(b []byte) bool {
	return slices.ContainsFunc(m, func(f keyForms) bool {
		return f.mayBeIn(b) && slices.ContainsFunc(f.texts, func(text []byte) bool { return bytes.Contains(b, text) })
	})
}

// Redact returns b without the key: b itself where it is not in it.
func (m KeyRedactor) Redact(b []byte) []byte {
	for i := range m {
		if !m[i].mayBeIn(b) {
			continue
		}
		for _, text := range m[i].texts {
			if bytes.Contains(b, text) {
				b = bytes.ReplaceAll(b, text, []byte(redacted))
			}
		}
	}
	return b
}
