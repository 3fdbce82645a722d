package agentconn

import (
	"bytes"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
)

// writes is a connection that records each write. It fails from the write with the
// number failAt on, counted from 1; 0 for none.
type writes struct {
	net.Conn
	got    []string
	failAt int
}

var errWrite = errors.New("the connection is broken")

func (w *writes) Write(p []byte) (int, error) {
	if w.failAt > 0 && len(w.got)+1 >= w.failAt {
		return 0, errWrite
	}
	w.got = append(w.got, string(p))
	return len(p), nil
}

func writeAll(t *testing.T, c *Conn, pieces ...string) {
	t.Helper()
	for _, piece := range pieces {
		if n, err := c.Write([]byte(piece)); n != len(piece) || err != nil {
			t.Fatalf("write %q: %d, %v", piece, n, err)
		}
	}
}

// What the server writes in pieces is sent in one: the head with the first chunk, and
// the end of the chunks whole.
func TestWritesOfAChunkedAnswer(t *testing.T) {
	sent := &writes{}
	c := &Conn{Conn: sent}
	c.BufferHead()
	writeAll(t, c, "HTTP/1.1 200 OK\r\n", "\r\n")
	if len(sent.got) > 0 {
		t.Fatalf("%q was sent alone", sent.got)
	}
	var body BodyWriter
	body.Begin(c, nil, true)
	for _, chunk := range []string{"data", "more"} {
		if n, err := body.Write([]byte(chunk)); n != len(chunk) || err != nil {
			t.Fatal(n, err)
		}
	}
	if err := c.BufferLastChunk(); err != nil {
		t.Fatal(err)
	}
	writeAll(t, c, "0\r\n", "\r\n", "HTTP/1.1 404 Not Found\r\n\r\n")
	want := []string{ // a connection of the system takes the pieces of a chunk at once
		"HTTP/1.1 200 OK\r\n\r\n", "4\r\n", "data", "\r\n", "4\r\n", "more", "\r\n",
		"0\r\n\r\n", "HTTP/1.1 404 Not Found\r\n\r\n",
	}
	if !slices.Equal(sent.got, want) {
		t.Fatalf("got %q, want %q", sent.got, want)
	}
}

// A small whole answer is sent with its head, and whatever is buffered is sent when
// the server reads the next request.
func TestBufferAnswer(t *testing.T) {
	const head, body = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n", "answer"
	for name, tt := range map[string]struct {
		pieces []string
		then   func(*Conn)
		want   string
	}{
		"in one":             {pieces: []string{head + body}, want: head + body},
		"in pieces":          {pieces: []string{head[:20], head[20:], body[:2], body[2:]}, want: head + body},
		"cut in the head":    {pieces: []string{head[:len(head)-2], head[len(head)-2:] + body}, want: head + body},
		"not all of it":      {pieces: []string{head, body[:5]}, want: ""},
		"read":               {pieces: []string{head, body[:5]}, then: func(c *Conn) { _, _ = c.Read(nil) }, want: head + body[:5]},
		"longer than it was": {pieces: []string{head, body + "!"}, want: head + body + "!"},
		"last chunk":         {pieces: []string{head, body[:5]}, then: func(c *Conn) { _ = c.BufferLastChunk() }, want: head + body[:5]},
		"discarded":          {pieces: []string{head, body[:5]}, then: func(c *Conn) { c.DiscardBuffered(); _, _ = c.Write([]byte("error")) }, want: "error"},
	} {
		t.Run(name, func(t *testing.T) {
			near, far := net.Pipe()
			defer far.Close()
			sent := &writes{Conn: near}
			c := &Conn{Conn: sent}
			c.in.begin(sent)
			c.BufferAnswer(len(body))
			writeAll(t, c, tt.pieces...)
			if tt.then != nil {
				near.Close()
				tt.then(c)
			}
			if len(sent.got) > 1 || strings.Join(sent.got, "") != tt.want {
				t.Errorf("sent %q, want %q in one piece", sent.got, tt.want)
			}
		})
	}
}

// Where the bytes of a body go: straight to the connection as soon as the server has
// nothing that would have to go before.
func TestBodyWriter(t *testing.T) {
	for name, tt := range map[string]struct {
		chunked, buffered, foreign bool
		direct, server             string
	}{
		"of known length":            {direct: "abcd"},
		"chunked, head buffered":     {chunked: true, buffered: true, direct: "head2\r\nab\r\n2\r\ncd\r\n"},
		"chunked, head at server":    {chunked: true, server: "ab", direct: "2\r\ncd\r\n"},
		"not a connection of agents": {chunked: true, foreign: true, server: "abcd"},
	} {
		t.Run(name, func(t *testing.T) {
			sent := &writes{}
			c := &Conn{Conn: sent}
			if tt.buffered {
				c.BufferHead()
				writeAll(t, c, "head")
			}
			var server bytes.Buffer
			var w BodyWriter
			if tt.foreign {
				c = nil
			}
			w.Begin(c, &server, tt.chunked)
			for _, p := range []string{"ab", "cd"} {
				if n, err := w.Write([]byte(p)); n != len(p) || err != nil {
					t.Fatal(n, err)
				}
			}
			if got := strings.Join(sent.got, ""); got != tt.direct || server.String() != tt.server {
				t.Errorf("the connection got %q, want %q; the server %q, want %q", got, tt.direct, server.String(), tt.server)
			}
		})
	}
}

// A write that fails is reported, whichever of the ways it takes.
func TestBodyWriterReportsErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		chunked, buffered bool
		server            *writes
	}{
		"of known length":         {},
		"chunked, head buffered":  {chunked: true, buffered: true},
		"chunked, head at server": {chunked: true, server: &writes{failAt: 1}},
		"second chunk":            {chunked: true, server: &writes{}},
	} {
		c := &Conn{Conn: &writes{failAt: 1}}
		if tt.buffered {
			c.BufferHead()
			writeAll(t, c, "head")
		}
		var w BodyWriter
		w.Begin(c, tt.server, tt.chunked)
		if tt.server != nil && tt.server.failAt == 0 {
			if _, err := w.Write([]byte("first")); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.Write([]byte("x")); !errors.Is(err, errWrite) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// 100 Continue is dropped once, and nothing else is.
func TestSkipContinue(t *testing.T) {
	sent := &writes{}
	c := &Conn{Conn: sent}
	c.skipContinue = true
	writeAll(t, c, continueBytes, "HTTP/1.1 200 OK\r\n", continueBytes)
	if want := []string{"HTTP/1.1 200 OK\r\n", continueBytes}; !slices.Equal(sent.got, want) {
		t.Errorf("sent %q, want %q", sent.got, want)
	}
}
