package upstream

import (
	"bytes"
	"errors"
	"os"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/proxy/coding"
	"github.com/valyala/fasthttp"
)

// gatedBody decodes the body of a gated answer, and removes the configured key from it, because upstreams
// quote it: not even what is recorded of the answer has it. See [Response.CopyHead] and
// [Response.Next].
type gatedBody struct {
	decoded *coding.Stream // nil: the body is not compressed
	tail    []byte         // the end of the last block, which may be the beginning of the key
	err     error          // after tail
}

// gate makes the body that of a gated answer. One in a coding that is not known stays as it is, with its header:
// it is refused.
func (r *Response) gate(l coding.Limits) {
	r.gated = new(gatedBody)
	encoding := r.Head.ContentEncoding()
	if len(encoding) == 0 {
		return
	}
	if codings, err := coding.Parse(encoding); err == nil && len(codings) > 0 {
		r.gated.decoded = codings.NewStream(r.Body.Next, l)
		r.Head.Del(fasthttp.HeaderContentEncoding)
	}
}

// close ends decoding.
func (g *gatedBody) close() {
	if g.decoded != nil {
		g.decoded.Close()
	}
}

// next is [Body.Next], decoded.
func (r *Response) next() ([]byte, error) {
	if r.gated == nil || r.gated.decoded == nil {
		return r.Body.Next()
	}
	p, err := r.gated.decoded.Next()
	return p, notDecoded(err)
}

// notDecoded is the error for an answer that could not be decoded; other errors stay as they are.
func notDecoded(err error) error {
	var memory *coding.MemoryError
	switch {
	case errors.Is(err, coding.ErrTooLarge):
		return intercept.NotUnderstood("it is compressed, although identity was asked for, and becomes larger than proxy.max_body")
	case errors.Is(err, coding.ErrMalformed):
		return intercept.NotUnderstood("it is compressed, although identity was asked for, and cannot be decoded: %v", err)
	case errors.As(err, &memory):
		return &intercept.Error{Code: intercept.CodeOverloaded, Reason: "there is no memory to decode the upstream's answer, which is compressed although identity was asked for", Err: err}
	}
	return err
}

// Next is [Body.Next]. The body of a gated answer is decoded, and without the configured key.
func (r *Response) Next() ([]byte, error) {
	redactor, g := r.heads.Redactor(), r.gated
	if g == nil || len(redactor) == 0 {
		return r.next()
	}
	for {
		if g.err != nil {
			return nil, g.err
		}
		p, err := r.next()
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

// ReadAll is [Body.ReadAll], with the bytes that Next returns. Those of a small compressed body may be many: they
// are reserved until Close.
func (r *Response) ReadAll(limit int) ([]byte, error) {
	if r.gated == nil || r.gated.decoded == nil {
		return readAll(r.Next, limit)
	}
	return readAll(func() ([]byte, error) {
		p, err := r.Next()
		if err == nil {
			err = notDecoded(r.gated.decoded.Keep(len(p)))
		}
		return p, err
	}, limit)
}

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
