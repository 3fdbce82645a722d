package match

import "testing"

// TestObjectGlob: a * is one value of one argument.
func TestObjectGlob(t *testing.T) {
	for _, test := range []struct {
		pattern, arguments string
		want               bool
	}{
		{`{"id":*}`, `{"id":5}`, true},
		{`{"id":*}`, `{"id":"a"}`, true},
		{`{"id":*}`, `{"id":null}`, true},
		{`{"id":*}`, `{"id":{"not":5}}`, false},
		{`{"id":*}`, `{"id":[5]}`, false},
		{`{"id":*}`, `{"all":true,"id":5}`, false},
		{`{"id":*}`, `{"id":5,"then":"delete"}`, false},
		{`{"id":*}`, `{}`, false},
		{`{"since":*}`, `{"since":"2026-01-01 10:00, a/b"}`, true},
		{`{"id":*}`, `{"id":""}`, true},
		{`{"id":*}`, `{"id":"../admin"}`, false},
		{`{"id":*}`, `{"id":"5/../../admin"}`, false},
		{`{"id":*}`, `{"id":"\u002e./admin"}`, false},
		{`{"page":*}`, `{"page":"file:///etc/passwd"}`, false},
		{`{"page":*}`, `{"page":"https://evil.example"}`, false},
		{`{"page":*}`, `{"page":"/etc/passwd"}`, false},
		{`{"page":*}`, `{"page":"~/.ssh/id_rsa"}`, false},
		{`{"page":*}`, `{"page":"\\\\evil\\share"}`, false},
		{`{"id":*,"to":"a"}`, `{"id":5,"to":"a"}`, true},
		{`{"to":"a","id":*}`, `{"id":5,"to":"a"}`, true},
		{`{"id":*,"to":"a"}`, `{"id":5,"to":"b"}`, false},
		{`{"id":*,"to":"a"}`, `{"id":"5,\"to\":\"a\"","to":"b"}`, false},
		{`{"id":*,"x":{"id":*}}`, `{"id":5,"x":{"id":5}}`, false},
	} {
		g := NewObjectGlob(test.pattern)
		if g == nil {
			t.Errorf("%s is no object", test.pattern)
		} else if got := g.Covers(test.arguments); got != test.want {
			t.Errorf("%s covers %s: %v", test.pattern, test.arguments, got)
		}
	}
	for _, text := range []string{"*", `{*}`, `{"id":5}`, `{"id":*`, `{"id":"a*"}`, `{"id":*,*}`, `{"id":*,"id":5}`} {
		if NewObjectGlob(text) != nil {
			t.Errorf("%s is taken for an object with any value", text)
		}
	}
}
