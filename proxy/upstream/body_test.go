package upstream

import (
	"bytes"
	"errors"
	"io"
	"net/http/httputil"
	"testing"
)

// unchunk decodes coded in blocks of n bytes.
func unchunk(coded []byte, n int) (data, rest []byte, c chunked, err error) {
	for at := 0; at < len(coded); at += n {
		block := bytes.Clone(coded[at:min(at+n, len(coded))])
		out, behind, err := c.decode(block)
		if err != nil {
			return data, nil, c, err
		}
		data, rest = append(data, out...), append(rest, behind...)
	}
	return data, rest, c, nil
}

func TestChunked(t *testing.T) {
	tests := []struct {
		name, in, data, rest string
		done, bad            bool
	}{
		{name: "two chunks", in: "5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n", data: "hello!", done: true},
		{name: "upper case size, extension", in: "A;x=y\r\n0123456789\r\n0\r\n\r\n", data: "0123456789", done: true},
		{name: "trailers", in: "1\r\nx\r\n0\r\nA: b\r\nC: d\r\n\r\n", data: "x", done: true},
		{name: "bare LF", in: "1\nx\n0\n\n", data: "x", done: true},
		{name: "bytes after the end", in: "1\r\nx\r\n0\r\n\r\nHTTP/1.1", data: "x", rest: "HTTP/1.1", done: true},
		{name: "cut at a boundary", in: "1\r\nx\r\n", data: "x"},
		{name: "cut in a chunk", in: "5\r\nhe", data: "he"},
		{name: "no size", in: "\r\nx", bad: true},
		{name: "size is no number", in: "zz\r\nx", bad: true},
		{name: "size too long", in: "1111111111111111111\r\n", bad: true},
		{name: "chunk longer than its size", in: "1\r\nxy\r\n", bad: true},
	}
	for _, tt := range tests {
		for n := 1; n <= len(tt.in); n++ {
			data, rest, c, err := unchunk([]byte(tt.in), n)
			if tt.bad {
				if !errors.Is(err, errChunk) {
					t.Errorf("%s in blocks of %d: %v, want an error", tt.name, n, err)
				}
				continue
			}
			if err != nil || string(data) != tt.data || c.done() != tt.done {
				t.Errorf("%s in blocks of %d: data %q, done %t, %v", tt.name, n, data, c.done(), err)
			}
			if n == len(tt.in) && string(rest) != tt.rest {
				t.Errorf("%s: rest %q, want %q", tt.name, rest, tt.rest)
			}
		}
	}
}

// FuzzChunked: the blocks do not matter, and what ends well decodes to what the
// standard library reads.
func FuzzChunked(f *testing.F) {
	for _, in := range []string{"5\r\nhello\r\n0\r\n\r\n", "1;a\r\nx\r\n0\r\nT: v\r\n\r\n", "1\nx\n0\n\n", "g\r\n", "3\r\nab"} {
		f.Add([]byte(in), 2)
	}
	f.Fuzz(func(t *testing.T, in []byte, n int) {
		if n < 1 || n > 1<<16 {
			n = 1
		}
		whole, _, c, err := unchunk(in, len(in)+1)
		parts, _, c2, err2 := unchunk(in, n)
		if (err == nil) != (err2 == nil) || (err == nil && (!bytes.Equal(whole, parts) || c.done() != c2.done())) {
			t.Fatalf("blocks of %d: %q %v, one block: %q %v", n, parts, err2, whole, err)
		}
		if err != nil || !c.done() {
			return
		}
		std, stdErr := io.ReadAll(httputil.NewChunkedReader(bytes.NewReader(in)))
		if stdErr == nil && !bytes.Equal(std, whole) {
			t.Fatalf("read %q, the standard library %q", whole, std)
		}
	})
}
