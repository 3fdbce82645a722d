package upstream

import (
	"bytes"
	"errors"
	"os"
)

// gatedBody removes the configured key from the body of a gated answer, because upstreams
// quote it: not even what is recorded of the answer has it. See [Response.CopyHead] and
// [Response.Next].
type gatedBody struct {
	tail []byte // the end of the last block, which may be the beginning of the key
	err  error  // after tail
}

// Next is [Body.Next]. The body of a gated answer is without the configured key.
func (r *Response) Next() ([]byte, error) {
	redactor, g := r.heads.Redactor, r.gated
	if g == nil || len(redactor) == 0 {
		return r.Body.Next()
	}
	for {
		if g.err != nil {
			return nil, g.err
		}
		p, err := r.Body.Next()
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, err
		case err != nil:
			p, g.tail, g.err = g.tail, nil, err
		default:
			if len(g.tail) > 0 {
				p = append(g.tail, p...)
			}
			p = redactor.Redact(p)
			n := len(p) - redactor.endsWithPart(p)
			p, g.tail = p[:n], bytes.Clone(p[n:])
		}
		if len(p) > 0 {
			return p, nil
		}
	}
}

// ReadAll is [Body.ReadAll], with the bytes that Next returns.
func (r *Response) ReadAll(limit int) ([]byte, error) { return readAll(r.Next, limit) }

// endsWithPart returns how many bytes at the end of b may be the beginning of the key. A key
// is in a header, so it has no line break.
func (m KeyRedactor) endsWithPart(b []byte) (n int) {
	if len(b) == 0 || b[len(b)-1] == '\n' {
		return 0
	}
	last := b[len(b)-1]
	for i := range m {
		for _, text := range m[i].texts {
			for k := min(len(text)-1, len(b)); k > n; k-- {
				if text[k-1] == last && bytes.HasSuffix(b, text[:k]) {
					n = k
				}
			}
		}
	}
	return n
}
