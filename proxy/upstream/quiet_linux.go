package upstream

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// quiet looks whether an idle connection is open and has nothing to read. A server
// that has closed it in the meantime shows here before a request is written to it
// and lost. It is made once for a connection, so that looking allocates nothing.
type quiet struct {
	raw   syscall.RawConn // nil where there is nothing to look at, or no more
	blind bool            // it is no connection of the system, so nothing can be told
	look  func(fd uintptr)
	poll  [1]unix.PollFd
	open  bool // what the last look found
}

func (q *quiet) begin(conn net.Conn) {
	if secure, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = secure.NetConn()
	}
	sc, ok := conn.(syscall.Conn)
	if q.blind = !ok; ok {
		if raw, err := sc.SyscallConn(); err == nil {
			q.raw, q.look = raw, q.ask
		}
	}
}

// now reports whether the connection is quiet.
func (q *quiet) now() bool {
	return q.blind || q.raw != nil && q.raw.Control(q.look) == nil && q.open
}

// ask takes whatever has happened to the connection, bytes, its end or an error, for
// a reason not to use it.
func (q *quiet) ask(fd uintptr) {
	q.poll[0] = unix.PollFd{Fd: int32(fd), Events: unix.POLLIN | unix.POLLRDHUP}
	n, err := unix.Poll(q.poll[:], 0)
	q.open = n == 0 && err == nil
}
