//go:build unix

package agentconn

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
)

// ahead reads a connection, and reads ahead where it is asked for one byte, as
// fasthttp does to need no buffer while it waits for a request: what has come with
// the byte is kept until it is asked for, which is at once. It saves a system call a
// request; while nothing has come there is no buffer.
type ahead struct {
	conn   net.Conn
	raw    syscall.RawConn
	try    func(fd uintptr) bool // a.tryRead
	buffer *[]byte
	rest   []byte // of it
	n      int
	err    error
}

// aheads are buffers for a request's head and the first of its body.
var aheads = sync.Pool{New: func() any { b := make([]byte, 4<<10); return &b }}

func (a *ahead) begin(conn net.Conn) {
	a.conn = conn
	if sc, ok := conn.(syscall.Conn); ok {
		if raw, err := sc.SyscallConn(); err == nil {
			a.raw, a.try = raw, a.tryRead
		}
	}
}

// Read implements [io.Reader].
func (a *ahead) Read(p []byte) (int, error) {
	if len(a.rest) == 0 && len(p) == 1 && a.raw != nil {
		if err := a.fill(); err != nil {
			return 0, err
		}
	}
	if len(a.rest) == 0 {
		return a.conn.Read(p)
	}
	n := copy(p, a.rest)
	if a.rest = a.rest[n:]; len(a.rest) == 0 {
		aheads.Put(a.buffer)
		a.buffer, a.rest = nil, nil
	}
	return n, nil
}

// buffered is the number of bytes that were read ahead.
func (a *ahead) buffered() int { return len(a.rest) }

// fill waits for bytes, and reads those that are there.
func (a *ahead) fill() error {
	switch err := a.raw.Read(a.try); {
	case err != nil:
		return err
	case a.err != nil:
		return os.NewSyscallError("read", a.err)
	case a.n == 0:
		return io.EOF
	}
	a.rest = (*a.buffer)[:a.n]
	return nil
}

// tryRead reads without waiting, and reports whether there was anything to learn.
func (a *ahead) tryRead(fd uintptr) (done bool) {
	buffer := aheads.Get().(*[]byte)
	for {
		a.n, a.err = syscall.Read(int(fd), *buffer)
		if !errors.Is(a.err, syscall.EINTR) {
			break
		}
	}
	if a.n > 0 && a.err == nil {
		a.buffer = buffer
		return true
	}
	aheads.Put(buffer)
	return !errors.Is(a.err, syscall.EAGAIN)
}
