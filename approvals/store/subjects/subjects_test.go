package subjects_test

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals/store/subjects"
)

func TestTokens(t *testing.T) {
	seen := map[string]string{}
	for _, name := range []string{"", "a", "A-b_9", "a.b", "a b", "*", ">", "=", "==", "=YQ", "é", "\x00", strings.Repeat("x", 128), strings.Repeat("x", 129), strings.Repeat("x", 256), strings.Repeat("x", 257)} {
		token := subjects.Token(name)
		if token == "" || strings.ContainsAny(token, " .*>\x00") {
			t.Errorf("%.20q: token %q", name, token)
		}
		if other, taken := seen[token]; taken {
			t.Errorf("%.20q and %.20q share the token %q", name, other, token)
		}
		seen[token] = name
		back, err := subjects.ParseToken(token)
		if readable := len(name) <= 256; (readable && (err != nil || back != name)) || (!readable && err == nil) {
			t.Errorf("%.20q: read back as %.20q, %v", name, back, err)
		}
	}
	for _, token := range []string{"=YQ", "=!", "=YQ==", "a.b", "==00"} { // not how Token writes anything
		if name, err := subjects.ParseToken(token); err == nil {
			t.Errorf("%q read as %q", token, name)
		}
	}
}
