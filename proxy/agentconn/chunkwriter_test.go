package agentconn

import (
	"net"
	"slices"
	"strings"
	"testing"
)

// writes is a connection that notes what each write brings.
type writes struct {
	net.Conn
	got []string
}

func (w *writes) Write(p []byte) (int, error) {
	w.got = append(w.got, string(p))
	return len(p), nil
}

// What fasthttp writes by pieces goes out in one: the head with the first chunk, and
// the end of the chunks whole.
func TestCork(t *testing.T) {
	sent := &writes{}
	a := &Conn{Conn: sent}
	a.KeepHead()
	for _, piece := range []string{"HTTP/1.1 200 OK\r\n", "\r\n"} {
		if n, err := a.Write([]byte(piece)); n != len(piece) || err != nil {
			t.Fatal(n, err)
		}
	}
	if len(sent.got) > 0 {
		t.Fatalf("%q went out alone", sent.got)
	}
	chunks := ChunkWriter{}
	chunks.Begin(a)
	if err := chunks.Write([]byte("data")); err != nil {
		t.Fatal(err)
	}
	if err := chunks.Write([]byte("more")); err != nil {
		t.Fatal(err)
	}
	a.KeepEnd()
	for _, piece := range []string{"0\r\n", "\r\n", "HTTP/1.1 404 Not Found\r\n\r\n"} {
		if n, err := a.Write([]byte(piece)); n != len(piece) || err != nil {
			t.Fatal(n, err)
		}
	}
	want := []string{ // a connection of the system takes the pieces of a chunk at once
		"HTTP/1.1 200 OK\r\n\r\n", "4\r\n", "data", "\r\n", "4\r\n", "more", "\r\n",
		"0\r\n\r\n", "HTTP/1.1 404 Not Found\r\n\r\n",
	}
	if !slices.Equal(sent.got, want) {
		t.Fatalf("got %q, want %q", sent.got, want)
	}
}

// A small whole answer goes out with its head, and whatever is kept back goes out
// when the agent is waited for.
func TestCork_WholeAnswer(t *testing.T) {
	const head, body = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n", "answer"
	for name, c := range map[string]struct {
		pieces []string
		then   func(*Conn)
		want   string
	}{
		"in one":             {pieces: []string{head + body}, want: head + body},
		"by pieces":          {pieces: []string{head[:20], head[20:], body[:2], body[2:]}, want: head + body},
		"cut in the head":    {pieces: []string{head[:len(head)-2], head[len(head)-2:] + body}, want: head + body},
		"not all of it":      {pieces: []string{head, body[:5]}, want: ""},
		"read":               {pieces: []string{head, body[:5]}, then: func(a *Conn) { _, _ = a.Read(nil) }, want: head + body[:5]},
		"longer than it was": {pieces: []string{head, body + "!"}, want: head + body + "!"},
	} {
		t.Run(name, func(t *testing.T) {
			near, far := net.Pipe()
			defer far.Close()
			sent := &writes{Conn: near}
			a := &Conn{Conn: sent, leaving: &leaving{}}
			a.ahead.begin(sent)
			a.KeepWhole(len(body))
			for _, piece := range c.pieces {
				if n, err := a.Write([]byte(piece)); n != len(piece) || err != nil {
					t.Fatal(n, err)
				}
			}
			if c.then != nil {
				near.Close()
				c.then(a)
			}
			if len(sent.got) > 1 || strings.Join(sent.got, "") != c.want {
				t.Errorf("sent %q, want %q in one piece", sent.got, c.want)
			}
		})
	}
}
