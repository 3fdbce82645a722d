//go:build !unix

package agentconn

import "net"

// ahead reads a connection.
type ahead struct{ net.Conn }

func (a *ahead) begin(conn net.Conn) { a.Conn = conn }

func (a *ahead) buffered() int { return 0 }
