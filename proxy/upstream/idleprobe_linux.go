package upstream

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// idleProbe checks that an idle connection is open and has nothing to read, so that no
// request is written to a connection that the server has closed, and lost. It is made
// once for a connection, so that a check allocates nothing.
type idleProbe struct {
	raw    syscall.RawConn // nil if there is no socket to check, or no longer
	opaque bool            // not a connection of the system: it cannot be checked
	ask    func(fd uintptr)
	poll   [1]unix.PollFd
	open   bool // the result of the last check
}

func (p *idleProbe) init(conn net.Conn) {
	if secure, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = secure.NetConn()
	}
	sc, ok := conn.(syscall.Conn)
	if p.opaque = !ok; ok {
		if raw, err := sc.SyscallConn(); err == nil {
			p.raw, p.ask = raw, p.check
		}
	}
}

// usable reports whether a request may be written to the connection.
func (p *idleProbe) usable() bool {
	return p.opaque || (p.raw != nil && p.raw.Control(p.ask) == nil && p.open)
}

// check finds a connection unusable after any event on it: bytes, its end or an error.
func (p *idleProbe) check(fd uintptr) {
	p.poll[0] = unix.PollFd{Fd: int32(fd), Events: unix.POLLIN | unix.POLLRDHUP}
	n, err := unix.Poll(p.poll[:], 0)
	p.open = n == 0 && err == nil
}
