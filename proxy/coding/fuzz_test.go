package coding

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"os"
	"testing"
)

// FuzzDecode: a body becomes the same bytes, or is refused, whole and in blocks; what Go's own libraries make of it, where
// they have the coding; and never more than the limit, of the bytes that were reserved.
func FuzzDecode(f *testing.F) {
	chains := [][]string{{"gzip"}, {"deflate"}, {"raw"}, {"zstd"}, {"br"}, {"gzip", "zstd"}, {"br", "deflate"}, {"zstd", "br"}}
	for i, names := range chains {
		body := []byte(`{"model":"m","messages":[{"role":"user","content":"clean up, clean up, clean up"}]}`)
		for _, name := range names {
			body = encoded(f, name, body)
		}
		f.Add(uint8(i), uint8(1+i), body)
		f.Add(uint8(i), uint8(200), append(bytes.Clone(body), body...))
		f.Add(uint8(i), uint8(3), body[:len(body)/2])
	}
	f.Fuzz(func(t *testing.T, chain, size uint8, body []byte) {
		const limit = 1 << 18
		names := chains[int(chain)%len(chains)]
		c := parse(t, names...)
		a := account{limit: 64 * mib}
		got, err := c.Decode(body, Limits{Bytes: limit, Account: &a})
		if len(got) > limit || a.used != len(got) {
			t.Fatalf("%d bytes, %d are reserved", len(got), a.used)
		}
		streamed, end := readBlocks(c, body, 1+int(size))
		if err == nil && (!errors.Is(end, io.EOF) || !bytes.Equal(got, streamed)) {
			t.Fatalf("%q whole, %q and %v in blocks", got, streamed, end)
		}
		if err != nil && errors.Is(end, io.EOF) && len(streamed) <= limit {
			t.Fatalf("whole: %v, in blocks: %q", err, streamed)
		}
		if len(names) > 1 || len(body) == 0 {
			return
		}
		if want, same := plain(names[0], body, limit); names[0] != "zstd" && names[0] != "br" && (same != (err == nil) || (same && !bytes.Equal(want, got))) {
			t.Fatalf("%q, %v; Go's own: %q, %t", got, err, want, same)
		}
	})
}

// readBlocks returns what becomes of a body that arrives in blocks of n bytes.
func readBlocks(c Codings, body []byte, n int) (all []byte, err error) {
	s := c.NewStream(late(inBlocks(body, n)), Limits{Bytes: 1 << 18})
	defer s.Close()
	for {
		p, err := s.Next()
		if all = append(all, p...); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return all, err
		}
	}
}

// plain decodes a body with Go's own libraries. It returns the body's decoded form only if that is within the limit.
func plain(name string, body []byte, limit int64) ([]byte, bool) {
	in := bytes.NewReader(body)
	var r io.Reader
	var err error
	switch name {
	case "gzip":
		r, err = gzip.NewReader(in)
	case "deflate", "raw":
		if r, err = zlib.NewReader(in); errors.Is(err, zlib.ErrHeader) || errors.Is(err, io.ErrUnexpectedEOF) {
			in.Reset(body)
			r, err = flate.NewReader(in), nil
		}
	default:
		return nil, false
	}
	if err != nil {
		return nil, false
	}
	all, err := io.ReadAll(io.LimitReader(r, limit+1))
	return all, err == nil && int64(len(all)) <= limit && in.Len() == 0
}
