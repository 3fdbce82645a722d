package proxy

import (
	"strings"
	"testing"
)

func TestNormalPath(t *testing.T) {
	tests := []struct{ in, want string }{
		{"/v1/chat/completions", "/v1/chat/completions"},
		{"//v1//chat/./completions/", "/v1/chat/completions"},
		{"/v1/x/../chat/completions", "/v1/chat/completions"},
		{"/v1/x/%2E%2e/chat/completions", "/v1/chat/completions"},
		{"/v1/%63hat%2Fcompletions;a=b", "/v1/chat/completions"},
		{"/v1/files/file-AbC", "/v1/files/file-AbC"},
		{"/../../v1", "/v1"},
		{"/", "/"},
		{"", ""},
		{"v1", ""},
		{"http://x/v1", ""},
		{"/v1/%", ""},
		{"/v1/%4", ""},
		{"/v1/%zz", ""},
		{"/v1/%2563hat", ""},
		{"/v1/a%00", ""},
		{"/v1/a%0d%0ab", ""},
		{"/v1\\chat", ""},
		{"/v1/%5c", ""},
		{"/v1/a b", ""},
		{"/v1/ü", ""},
		{"/v1/%3f", ""},
		{"/v1/%23", ""},
	}
	for _, tt := range tests {
		got, err := normalPath(tt.in)
		if got != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("%q: got %q, %v, want %q", tt.in, got, err, tt.want)
		}
	}
}

// FuzzNormalise: the normal form has one spelling and nothing left to decode.
func FuzzNormalPath(f *testing.F) {
	for _, in := range []string{"/v1/chat/completions", "/%2e%2e/x;y/..//z", "/a%2fb", "/%25"} {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		path, err := normalPath(in)
		if resolved, failed := resolve(in); isNormal(in) && (resolved != in || failed != nil) {
			t.Fatalf("%q is not its own normal form, which is %q, %v", in, resolved, failed)
		}
		if err != nil {
			return
		}
		if again, err := normalPath(path); err != nil || again != path {
			t.Fatalf("%q becomes %q, and that %q, %v", in, path, again, err)
		}
		if strings.ContainsAny(path, "%;\\ ") || strings.Contains(path, "//") || strings.Contains(path+"/", "/../") || strings.Contains(path+"/", "/./") {
			t.Fatalf("%q becomes %q", in, path)
		}
	})
}
