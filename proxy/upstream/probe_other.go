//go:build !linux

package upstream

import (
	"errors"
	"net"
	"os"
	"time"
)

// probe checks that an idle connection is open and has nothing to read, so that no
// request is written to a connection that the server has closed, and lost.
type probe struct{ conn net.Conn }

func (p *probe) init(conn net.Conn) {
	for { // TLS with the upstream may be in TLS with a proxy
		secure, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			break
		}
		conn = secure.NetConn()
	}
	p.conn = conn
}

// usable reports whether a request may be written to the connection.
func (p *probe) usable() bool {
	if p.conn.SetReadDeadline(time.Now().Add(time.Millisecond)) != nil {
		return false
	}
	var b [1]byte
	n, err := p.conn.Read(b[:])
	return n == 0 && errors.Is(err, os.ErrDeadlineExceeded) && p.conn.SetReadDeadline(time.Time{}) == nil
}

// wait does nothing: the read that follows waits.
func (p *probe) wait() {}
