package upstream

import (
	"net"
	"testing"
)

// wrapped is a connection that hides what is beneath it.
type wrapped struct{ net.Conn }

// A connection that cannot be looked at any more is not used; one at which there never
// was anything to look at is.
func TestQuietOfWhatCannotBeLookedAt(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	open, closed := dial(), dial()
	closed.Close()
	for name, c := range map[string]struct {
		conn  net.Conn
		quiet bool
	}{
		"open":                     {open, true},
		"closed before it is kept": {closed, false},
		"no connection at all":     {new(net.TCPConn), false},
		"not the system's":         {wrapped{open}, true},
	} {
		var q quiet
		q.begin(c.conn)
		if got := q.now(); got != c.quiet {
			t.Errorf("%s: quiet is %t", name, got)
		}
	}
}
