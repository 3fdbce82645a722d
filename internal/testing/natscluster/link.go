//go:build unix

package natscluster

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// link is a TCP proxy that can be cut.
type link struct {
	listener net.Listener
	target   string // host:port

	mu     sync.Mutex
	open   chan struct{} // closed while the link is not cut
	ended  bool
	conns  map[net.Conn]bool
	copies sync.WaitGroup
}

func newLink(t testing.TB, target string) *link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &link{listener: listener, target: target, open: make(chan struct{}), conns: map[net.Conn]bool{}}
	close(l.open)
	l.copies.Go(l.accept)
	t.Cleanup(l.end)
	return l
}

func (l *link) address() string { return l.listener.Addr().String() }

func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.open:
		l.open = make(chan struct{})
	default:
	}
}

func (l *link) heal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.open:
	default:
		close(l.open)
	}
}

// pass waits until the link is not cut.
func (l *link) pass() {
	for {
		l.mu.Lock()
		open := l.open
		l.mu.Unlock()
		<-open
		l.mu.Lock()
		same := l.open == open
		l.mu.Unlock()
		if same {
			return
		}
	}
}

// end closes the listener and all connections.
func (l *link) end() {
	_ = l.listener.Close()
	l.mu.Lock()
	l.ended = true
	for c := range l.conns {
		_ = c.Close()
	}
	l.mu.Unlock()
	l.heal()
	l.copies.Wait()
}

func (l *link) accept() {
	for {
		from, err := l.listener.Accept()
		if err != nil {
			return
		}
		if l.keep(from) {
			l.copies.Go(func() { l.serve(from) })
		}
	}
}

// keep registers a connection, so that end closes it. It closes one that is too late.
func (l *link) keep(c net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		_ = c.Close()
		return false
	}
	l.conns[c] = true
	return true
}

func (l *link) drop(c net.Conn) {
	_ = c.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
}

// serve transports the bytes of one connection in both directions until one side ends.
func (l *link) serve(from net.Conn) {
	defer l.drop(from)
	l.pass()
	to, err := net.DialTimeout("tcp", l.target, 10*time.Second)
	if err != nil || !l.keep(to) {
		return
	}
	defer l.drop(to)
	var both sync.WaitGroup
	for _, pair := range [][2]net.Conn{{from, to}, {to, from}} {
		both.Go(func() {
			_, _ = io.Copy(gated{pair[1], l}, pair[0])
			l.pass() // the end of a connection is a packet too
			_, _ = from.Close(), to.Close()
		})
	}
	both.Wait()
}

// gated writes to a connection while its link is not cut, and waits while it is.
type gated struct {
	to   io.Writer
	link *link
}

func (g gated) Write(p []byte) (int, error) {
	g.link.pass()
	return g.to.Write(p)
}
