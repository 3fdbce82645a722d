package upstream

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
)

// pieces is a connection from which each read gets a piece.
type pieces struct {
	net.Conn
	rest []string
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.rest[0])
	p.rest = p.rest[1:]
	return n, nil
}

// A gated body has no key, at whatever byte its blocks end. Each block without a part of the
// key passes whole at once.
func TestBodyWithoutTheKey(t *testing.T) {
	const key = "sk-proj-aB3xQ9"
	for _, tt := range []struct{ body, want string }{
		{"data: {\"t\":\"" + key + "\"}\n\n", "data: {\"t\":\"" + redacted + "\"}\n\n"},
		{key + "sk-proj-" + key, redacted + "sk-proj-" + redacted},
		{"it ends with sk-proj-aB3xQ", "it ends with sk-proj-aB3xQ"},
		{"nothing\n\n", "nothing\n\n"},
	} {
		for i := range tt.body {
			for j := i; j <= len(tt.body); j++ {
				for _, gated := range []bool{true, false} {
					want := tt.want
					if !gated {
						want = tt.body
					}
					conn := &pieces{rest: []string{tt.body[:i], tt.body[i:j], tt.body[j:]}}
					r := Response{Body: Body{conn: newPersistConn(conn), framing: byClose}, heads: new(heads)}
					r.heads.UseKey(key)
					if gated {
						r.gated = new(gatedBody)
					}
					got, err := r.ReadAll(1 << 10)
					if _, after := r.Next(); string(got) != want || err != nil || !errors.Is(after, io.EOF) {
						t.Fatalf("%q, %q and %q became %q (%v, then %v), want %q", tt.body[:i], tt.body[i:j], tt.body[j:], got, err, after, want)
					}
				}
			}
		}
	}
	r := Response{Body: Body{conn: newPersistConn(&pieces{rest: []string{"data: 1\n\n", "data: 2\n\n"}}), framing: byClose}, gated: new(gatedBody), heads: new(heads)}
	r.heads.UseKey(key)
	if p, err := r.Next(); string(p) != "data: 1\n\n" || err != nil {
		t.Errorf("the first block is %q, %v", p, err)
	}
}

// The arguments of a call are JSON in a string.
func TestKeyInArguments(t *testing.T) {
	const key = `sk-"a/b"-aB3xQ9`
	if got := string(NewKeyRedactor(key).Redact([]byte(`{"arguments":"{\"k\":\"sk-\\\"a/b\\\"-aB3xQ9\"}"}`))); strings.Contains(got, "aB3") {
		t.Errorf("the key stays: %s", got)
	}
}
