//go:build unix && !linux

package agentconn

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// isPeerClosed peeks at the socket: nothing to read and no wait means the end.
func isPeerClosed(conn net.Conn) bool {
	sc, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return true
	}
	closed := false
	err = raw.Control(func(fd uintptr) {
		var b [1]byte
		n, _, err := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		closed = (n == 0 && err == nil) || err == unix.ECONNRESET
	})
	return err != nil || closed
}
