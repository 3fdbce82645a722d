package upstream

import (
	"net"
	"testing"
)

// wrapped is a connection that hides another one.
type wrapped struct{ net.Conn }

// A connection whose socket can no longer be checked is not used; one that never had a
// socket to check is.
func TestIdleProbeWithoutASocket(t *testing.T) {
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
		conn net.Conn
		want bool
	}{
		"open":                     {open, true},
		"closed before it is kept": {closed, false},
		"no connection at all":     {new(net.TCPConn), false},
		"not the system's":         {wrapped{open}, true},
	} {
		var p probe
		p.init(c.conn)
		if got := p.usable(); got != c.want {
			t.Errorf("%s: usable is %t", name, got)
		}
	}
}
