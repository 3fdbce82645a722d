package upstream

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// probe checks that an idle connection is open and has nothing to read, so that no
// request is written to a connection that the server has closed, and lost. It also waits until a
// connection has something to read. It is made once for a connection, so that it allocates nothing later.
type probe struct {
	raw    syscall.RawConn // nil if there is no socket to check, or no longer
	opaque bool            // not a connection of the system: it cannot be checked
	ask    func(fd uintptr)
	ready  func(fd uintptr) bool
	poll   [1]unix.PollFd
	open   bool // the result of the last check: it is open and has nothing to read
	waited bool // for something to read
}

func (p *probe) init(conn net.Conn) {
	for { // TLS with the upstream may be in TLS with a proxy
		secure, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			break
		}
		conn = secure.NetConn()
	}
	sc, ok := conn.(syscall.Conn)
	if p.opaque = !ok; ok {
		if raw, err := sc.SyscallConn(); err == nil {
			p.raw, p.ask, p.ready = raw, p.check, p.isReady
		}
	}
}

// usable reports whether a request may be written to the connection.
func (p *probe) usable() bool {
	return p.opaque || (p.raw != nil && p.raw.Control(p.ask) == nil && p.open)
}

// check finds a connection unusable after any event on it: bytes, its end or an error.
func (p *probe) check(fd uintptr) {
	p.poll[0] = unix.PollFd{Fd: int32(fd), Events: unix.POLLIN | unix.POLLRDHUP}
	n, err := unix.Poll(p.poll[:], 0)
	p.open = n == 0 && err == nil
}

// wait waits until a read of the connection does not block: until it has something to read or has ended, or
// its read deadline has passed.
func (p *probe) wait() {
	if p.raw != nil {
		p.waited = false
		_ = p.raw.Read(p.ready) // the read that follows fails alike
	}
}

// isReady reports whether a read does not block. After the first check the system has reported that.
func (p *probe) isReady(fd uintptr) bool {
	if p.waited {
		return true
	}
	p.waited = true
	p.check(fd)
	return !p.open
}
