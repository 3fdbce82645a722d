//go:build !linux

package proxy

import (
	"errors"
	"net"
	"os"
	"time"
)

// quiet reports whether an idle connection is open and has nothing to read. A
// server that has closed it in the meantime shows here before a request is
// written to it and lost.
func quiet(conn net.Conn) bool {
	if secure, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = secure.NetConn()
	}
	if conn.SetReadDeadline(time.Now().Add(time.Millisecond)) != nil {
		return false
	}
	var b [1]byte
	n, err := conn.Read(b[:])
	return n == 0 && errors.Is(err, os.ErrDeadlineExceeded) && conn.SetReadDeadline(time.Time{}) == nil
}
