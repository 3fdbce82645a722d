package proxy

import (
	"net"
	"slices"
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
	a := &agentConn{Conn: sent}
	a.cork.in = true
	for _, piece := range []string{"HTTP/1.1 200 OK\r\n", "\r\n"} {
		if n, err := a.Write([]byte(piece)); n != len(piece) || err != nil {
			t.Fatal(n, err)
		}
	}
	if len(sent.got) > 0 {
		t.Fatalf("%q went out alone", sent.got)
	}
	chunks := chunkWriter{conn: sent}
	if err := a.cork.pull(func(head []byte) error { return chunks.write(head, []byte("data")) }); err != nil {
		t.Fatal(err)
	}
	if err := chunks.write(nil, []byte("more")); err != nil {
		t.Fatal(err)
	}
	a.cork = cork{in: true, until: endOfChunks}
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
