package upstream

import (
	"crypto/tls"
	"net"
	"time"
)

// persistConn is a connection that may serve several requests.
type persistConn struct {
	net.Conn
	probe  probe
	secure bool      // by TLS, which may have bytes that the connection has no longer
	used   time.Time // when it became idle
	// uncertified is true if the server asked for a client certificate, and got none.
	uncertified bool
}

func newPersistConn(conn net.Conn) *persistConn {
	_, secure := conn.(*tls.Conn)
	c := &persistConn{Conn: conn, secure: secure}
	c.probe.init(conn)
	return c
}
