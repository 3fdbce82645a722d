package upstream

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestMask(t *testing.T) {
	const key = "sk-proj-aB3/xQ9"
	m := NewKeyRedactor(key)
	tests := []struct{ in, want string }{
		{"", ""},
		{"no key: sk-proj-aB3/xQ", "no key: sk-proj-aB3/xQ"},
		{key, redacted},
		{"x" + key + key + "y", "x" + redacted + redacted + "y"},
		{`{"key":"sk-proj-aB3\/xQ9"}`, `{"key":"` + redacted + `"}`},
		{"/?k=sk-proj-aB3%2FxQ9&x", "/?k=" + redacted + "&x"},
		{"BBBB" + key, "BBBB" + redacted},
		{"BBsk-proj-aB" + key, "BBsk-proj-aB" + redacted},
	}
	for _, tt := range tests {
		in := []byte(tt.in)
		if got := string(m.Redact(in)); got != tt.want || m.Contains(in) != (tt.in != tt.want) || string(in) != tt.in {
			t.Errorf("%q becomes %q, want %q", tt.in, got, tt.want)
		}
	}
	for before := range 7 {
		for after := range 4 {
			digits := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("u", before) + key + strings.Repeat("p", after)))
			if got := m.Redact([]byte(digits)); !bytes.Contains(got, []byte(redacted)) {
				t.Errorf("the key after %d bytes and before %d stays in base64: %s", before, after, got)
			}
		}
	}
	for _, placeholder := range []string{"", "none", "EMPTY", "lm-studio", "not-needed"} {
		if m := NewKeyRedactor(placeholder); m.Contains([]byte("none is EMPTY, lm-studio is not-needed")) {
			t.Errorf("%q is taken for a secret", placeholder)
		}
	}
}

// JSON and URLs as other encoders than Go's jsontext and net/url write them.
func TestOtherEncoders(t *testing.T) {
	goJSON, err := json.Marshal("sk-a&b<c>12")
	if err != nil {
		t.Fatal(err)
	}
	for key, texts := range map[string][]string{
		"sk-ab+cd/ef==": {`sk-ab\u002Bcd/ef==`, `sk-ab\u002bcd/ef==`, `sk-ab+cd/ef\u003d\u003d`, `sk-ab\u002Bcd/ef\u003D\u003D`, `sk-ab+cd\u002fef==`, `sk-ab%2bcd%2fef%3d%3d`, `sk-ab+cd\\\/ef==`, `sk-ab\\u002Bcd/ef==`},
		"sk-a&b<c>12":   {string(goJSON)},
	} {
		m := NewKeyRedactor(key)
		for _, text := range texts {
			if !m.Contains([]byte(text)) {
				t.Errorf("%s stays", text)
			}
		}
	}
}

// FuzzMask: the redactor hides the keys that a plain search finds.
func FuzzMask(f *testing.F) {
	f.Add("sk-proj-1234", "a sk-proj-1234 b")
	f.Add("aaaaaaaa", "aaaaaaaaaaaaaaaaa")
	f.Add(`q"/\x+==&`, `{"k":"q\"\/\\x+==&"}`)
	f.Add("not \xff UTF-8", "not \xff UTF-8")
	f.Add("sk-%ABCDEFGH", "sk-%25ABCDEFGH")
	f.Fuzz(func(t *testing.T, key, text string) {
		m := NewKeyRedactor(key)
		found := false
		for i := range m {
			for _, form := range m[i].texts {
				if !bytes.Contains(form, m[i].core) {
					t.Fatalf("%q has no %q", form, m[i].core)
				}
				found = found || strings.Contains(text, string(form))
			}
		}
		if got := m.Contains([]byte(text)); got != found {
			t.Fatalf("the key %q is in %q: %t, want %t", key, text, got, found)
		}
		if m != nil && !m.Contains([]byte(key)) {
			t.Fatalf("%q does not show itself", key)
		}
	})
}

// BenchmarkMask is what looking for the key costs a stream of events.
func BenchmarkMask(b *testing.B) {
	m := NewKeyRedactor("sk-proj-" + strings.Repeat("aB3xQ9zK", 16))
	var stream []byte
	for i := range 200 {
		stream = fmt.Appendf(stream, `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1763712000,"model":"gpt-4o-mini","choices":[{"index":0,"delta":{"content":" word%d"},"logprobs":null,"finish_reason":null}],"obfuscation":"x%dPq"}`+"\n\n", i, i)
	}
	b.SetBytes(int64(len(stream)))
	for b.Loop() {
		m.Redact(stream)
	}
}
