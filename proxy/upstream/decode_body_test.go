package upstream

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/proxy/coding"
	"github.com/valyala/fasthttp"
)

// counted is an account of limit bytes.
type counted struct{ limit, used int }

func (c *counted) Reserve(n int) bool {
	if c.used+n > c.limit {
		return false
	}
	c.used += n
	return true
}

func (c *counted) Return(n int) { c.used -= n }

func gzipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, text)
	_ = z.Close()
	return b.String()
}

// gatedResponse is a gated answer that arrives in pieces.
func gatedResponse(encoding, key string, l coding.Limits, arrives ...string) *Response {
	r := &Response{Head: new(fasthttp.ResponseHeader), Body: Body{conn: newPersistConn(&pieces{rest: arrives}), framing: byClose}, heads: new(heads)}
	r.heads.UseKey(key)
	r.Head.SetContentEncoding(encoding)
	r.gate(l)
	return r
}

// A compressed body is decoded before the key is looked for, at whatever byte its blocks end.
func TestDecodedBodyWithoutTheKey(t *testing.T) {
	const key = "sk-proj-aB3xQ9"
	text := "data: {\"t\":\"" + key + "\"}\n\n"
	packed := gzipped(text)
	for i := range packed {
		a := counted{limit: 1 << 20}
		r := gatedResponse("GZip", key, coding.Limits{Bytes: 1 << 10, Account: &a}, packed[:i], packed[i:])
		got, err := r.ReadAll(1 << 10)
		if want := strings.Replace(text, key, redacted, 1); string(got) != want || err != nil || len(r.ContentEncoding()) > 0 {
			t.Fatalf("%d: %q, %v, coding %q", i, got, err, r.ContentEncoding())
		}
		if r.Close(); a.used != 0 {
			t.Fatalf("%d bytes stay reserved", a.used)
		}
	}
}

// A body without a known coding is as it is.
func TestCodingsThatAreNone(t *testing.T) {
	for _, encoding := range []string{"", "identity", "none", "rot13", "gzip, rot13"} {
		r := gatedResponse(encoding, "", coding.Limits{}, "text")
		if got, err := r.ReadAll(1 << 10); string(got) != "text" || err != nil || string(r.ContentEncoding()) != encoding {
			t.Errorf("%q: %q, %v, coding %q", encoding, got, err, r.ContentEncoding())
		}
		r.Close()
	}
}

// What cannot be decoded has an error for the agent, other errors stay as they are.
func TestBodiesThatAreNotDecoded(t *testing.T) {
	packed := gzipped(strings.Repeat("text ", 1<<20))
	for name, tt := range map[string]struct {
		body          string
		limit, memory int
		want          intercept.Code
	}{
		"malformed": {"text", 1 << 30, 1 << 30, intercept.CodeAnswerNotUnderstood},
		"cut off":   {packed[:len(packed)-1], 1 << 30, 1 << 30, intercept.CodeAnswerNotUnderstood},
		"too large": {packed, 1 << 20, 1 << 30, intercept.CodeAnswerNotUnderstood},
		"no memory": {packed, 1 << 30, 1 << 10, intercept.CodeOverloaded},
		"kept":      {packed, 1 << 30, 1 << 20, intercept.CodeOverloaded},
	} {
		a := counted{limit: tt.memory}
		r := gatedResponse("gzip", "", coding.Limits{Bytes: tt.limit, Account: &a}, pieced(tt.body)...)
		_, err := r.ReadAll(1 << 30)
		var refusal *intercept.Error
		if !errors.As(err, &refusal) || refusal.Code != tt.want {
			t.Errorf("%s: %v", name, err)
		}
		if r.Close(); a.used != 0 {
			t.Errorf("%s: %d bytes stay reserved", name, a.used)
		}
	}
	if err := notDecoded(os.ErrDeadlineExceeded); !errors.Is(err, os.ErrDeadlineExceeded) || notDecoded(nil) != nil {
		t.Error(err)
	}
}

// pieced is a text in pieces that fit a block.
func pieced(text string) (all []string) {
	for len(text) > smallBlock {
		all, text = append(all, text[:smallBlock]), text[smallBlock:]
	}
	return append(all, text)
}
