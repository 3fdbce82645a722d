//go:build !unix

package agentconn

import "net"

// peerClosed cannot be told here without reading; the next write tells.
func peerClosed(net.Conn) bool { return false }
