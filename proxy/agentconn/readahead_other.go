//go:build !unix

package agentconn

import "net"

// readAhead reads a connection.
type readAhead struct{ net.Conn }

func (r *readAhead) begin(conn net.Conn) { r.Conn = conn }

func (r *readAhead) buffered() int { return 0 }
