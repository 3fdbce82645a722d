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

// readAhead reads a connection. It reads ahead if one byte is asked for, as the HTTP
// server does to need no buffer while it waits for a request: what arrived with the
// byte is kept for the next Read, which follows at once. This saves a system call a
// request; while nothing has arrived there is no buffer.
type readAhead struct {
	conn   net.Conn
	raw    syscall.RawConn
	try    func(fd uintptr) bool // r.tryRead
	buffer *[]byte
	rest   []byte // of it
	n      int
	err    error
}

// readBuffers are buffers for a request's head and the beginning of its body.
var readBuffers = sync.Pool{New: func() any { b := make([]byte, 4<<10); return &b }}

func (r *readAhead) begin(conn net.Conn) {
	r.conn = conn
	if sc, ok := conn.(syscall.Conn); ok {
		if raw, err := sc.SyscallConn(); err == nil {
			r.raw, r.try = raw, r.tryRead
		}
	}
}

// Read implements [io.Reader].
func (r *readAhead) Read(p []byte) (int, error) {
	if len(r.rest) == 0 && len(p) == 1 && r.raw != nil {
		if err := r.fill(); err != nil {
			return 0, err
		}
	}
	if len(r.rest) == 0 {
		return r.conn.Read(p)
	}
	n := copy(p, r.rest)
	if r.rest = r.rest[n:]; len(r.rest) == 0 {
		readBuffers.Put(r.buffer)
		r.buffer, r.rest = nil, nil
	}
	return n, nil
}

// buffered returns the number of bytes that were read ahead.
func (r *readAhead) buffered() int { return len(r.rest) }

// fill waits for bytes and reads those that have arrived.
func (r *readAhead) fill() error {
	switch err := r.raw.Read(r.try); {
	case err != nil:
		return err
	case r.err != nil:
		return os.NewSyscallError("read", r.err)
	case r.n == 0:
		return io.EOF
	}
	r.rest = (*r.buffer)[:r.n]
	return nil
}

// tryRead reads without waiting. It reports whether the read had a result: bytes, the
// end, or an error.
func (r *readAhead) tryRead(fd uintptr) (done bool) {
	buffer := readBuffers.Get().(*[]byte)
	for {
		r.n, r.err = syscall.Read(int(fd), *buffer)
		if !errors.Is(r.err, syscall.EINTR) {
			break
		}
	}
	if r.n > 0 && r.err == nil {
		r.buffer = buffer
		return true
	}
	readBuffers.Put(buffer)
	return !errors.Is(r.err, syscall.EAGAIN)
}
