package proxy

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// listener accepts agents' connections and knows when one of them has left, on
// the socket itself: a held answer has nothing to write that could fail.
type listener struct {
	net.Listener
	leaving leaving
}

// listen opens the data plane's socket. Dead peers are found by TCP keep-alive
// within 30 seconds.
func listen(ctx context.Context, address string) (*listener, error) {
	config := net.ListenConfig{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3}}
	config.SetMultipathTCP(false)
	ln, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for agents on %s (proxy.listen): %w", address, err)
	}
	l := &listener{Listener: ln}
	if err := l.leaving.start(); err != nil {
		ln.Close()
		return nil, fmt.Errorf("watch agents' connections: %w", err)
	}
	return l, nil
}

func (l *listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	a := &agentConn{Conn: conn, leaving: &l.leaving}
	a.ahead.begin(conn)
	l.leaving.watch(a)
	return a, nil
}

// Close ends accepting; connections stay watched until they are closed.
func (l *listener) Close() error { return l.Listener.Close() }

// agentConn is an agent's connection.
type agentConn struct {
	net.Conn
	ahead   ahead
	cork    cork
	leaving *leaving
	cookie  uint64
	gone    atomic.Bool
	onGone  atomic.Pointer[context.CancelCauseFunc]
	once    sync.Once
	linger  atomic.Bool // the agent may still be sending when it is answered

	budget       *memoryBudget // set while memory is reserved
	reserved     atomic.Int64  // for the body of the current request
	pieces       [][]byte      // of a large body, read before fasthttp allocates memory for it
	muteContinue bool          // the agent did not ask for 100 Continue, which fasthttp writes
}

// Read implements [net.Conn]. Nothing is kept back while the agent is waited for.
func (a *agentConn) Read(p []byte) (int, error) {
	if a.cork.kept != nil {
		if err := a.flush(); err != nil {
			return 0, err
		}
	}
	if len(a.pieces) > 0 && a.ahead.buffered() == 0 {
		return a.readPieces(p), nil
	}
	return a.ahead.Read(p)
}

// Write implements [net.Conn].
func (a *agentConn) Write(p []byte) (int, error) {
	if a.muteContinue && string(p) == continueBytes {
		a.muteContinue = false
		return len(p), nil
	}
	if !a.cork.in {
		return a.Conn.Write(p)
	}
	if a.cork.add(p) {
		return len(p), a.flush()
	}
	return len(p), nil
}

// flush sends what was kept back.
func (a *agentConn) flush() error {
	return a.cork.pull(func(kept []byte) error {
		_, err := a.Conn.Write(kept)
		return err
	})
}

// during lets cancel be called when the agent leaves, at once if it has left
// already, until the returned function is called.
func (a *agentConn) during(cancel context.CancelCauseFunc) (end func()) {
	a.onGone.Store(&cancel)
	if a.gone.Load() {
		cancel(errAgentGone)
	}
	return func() { a.onGone.Store(nil) }
}

// left marks that the agent has closed its side. A half-closed connection counts
// as left, as it does in net/http.
func (a *agentConn) left() {
	a.gone.Store(true)
	if cancel := a.onGone.Load(); cancel != nil {
		(*cancel)(errAgentGone)
	}
}

func (a *agentConn) Close() error {
	a.once.Do(func() {
		a.leaving.forget(a)
		a.giveBody()
		if a.linger.Load() {
			a.drain()
		}
	})
	return a.Conn.Close()
}

const (
	lingerFor   = 2 * time.Second
	lingerBytes = 1 << 30
)

// drain lets an agent that is still sending read the answer first: closing with
// unread bytes would reset the connection and the answer with it.
func (a *agentConn) drain() {
	half, ok := a.Conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	_ = a.Conn.SetReadDeadline(time.Now().Add(lingerFor))
	_, _ = io.CopyN(io.Discard, a.Conn, lingerBytes)
}
