//go:build !linux

package upstream

import (
	"errors"
	"net"
	"os"
	"time"
)

// quiet looks whether an idle connection is open and has nothing to read. A server
// that has closed it in the meantime shows here before a request is written to it
// and lost.
type quiet struct{ conn net.Conn }

func (q *quiet) begin(conn net.Conn) {
	if secure, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = secure.NetConn()
	}
	q.conn = conn
}

// now reports whether the connection is quiet.
func (q *quiet) now() bool {
	if q.conn.SetReadDeadline(time.Now().Add(time.Millisecond)) != nil {
		return false
	}
	var b [1]byte
	n, err := q.conn.Read(b[:])
	return n == 0 && errors.Is(err, os.ErrDeadlineExceeded) && q.conn.SetReadDeadline(time.Time{}) == nil
}
