// Package agentconn accepts the connections of agents. It knows when an agent has
// left, reads requests with few system calls, writes answers with few, and reserves
// memory for the bodies of requests. It knows nothing of HTTP but its framing.
package agentconn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// ErrGone is the cause of a context that ended because the agent has left.
var ErrGone = errors.New("the agent has left")

// Listener accepts agents' connections and knows when one of them has left, on
// the socket itself: a held answer has nothing to write that could fail.
type Listener struct {
	net.Listener
	leaving leaving
}

// Listen opens the data plane's socket. Dead peers are found by TCP keep-alive
// within 30 seconds.
func Listen(ctx context.Context, address string) (*Listener, error) {
	config := net.ListenConfig{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3}}
	config.SetMultipathTCP(false)
	ln, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for agents on %s (proxy.listen): %w", address, err)
	}
	l := &Listener{Listener: ln}
	if err := l.leaving.start(); err != nil {
		ln.Close()
		return nil, fmt.Errorf("watch agents' connections: %w", err)
	}
	return l, nil
}

// Accept implements [net.Listener]. The connections are of type *[Conn].
func (l *Listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	a := &Conn{Conn: conn, leaving: &l.leaving}
	a.ahead.begin(conn)
	l.leaving.watch(a)
	return a, nil
}

// Close ends accepting; connections stay watched until they are closed.
func (l *Listener) Close() error { return l.Listener.Close() }

// Stop ends the watch over the connections, and waits for its end. It is called once,
// when no connection is in use any more.
func (l *Listener) Stop() { l.leaving.stop() }

// Conn is an agent's connection. One goroutine at a time may use it.
type Conn struct {
	net.Conn
	ahead   ahead
	cork    cork
	leaving *leaving
	cookie  uint64
	gone    atomic.Bool
	onGone  atomic.Pointer[context.CancelCauseFunc]
	once    sync.Once
	linger  atomic.Bool // the agent may still be sending when it is answered

	budget       *Budget      // set while memory is reserved
	reserved     atomic.Int64 // for the body of the current request
	pieces       [][]byte     // of a large body, read before fasthttp allocates memory for it
	muteContinue bool         // the agent did not ask for 100 Continue, which fasthttp writes
}

// Read implements [net.Conn]. Nothing is kept back while the agent is waited for.
func (a *Conn) Read(p []byte) (int, error) {
	if a.cork.kept != nil {
		if err := a.Flush(); err != nil {
			return 0, err
		}
	}
	if len(a.pieces) > 0 && a.ahead.buffered() == 0 {
		return a.readPieces(p), nil
	}
	return a.ahead.Read(p)
}

// Write implements [net.Conn].
func (a *Conn) Write(p []byte) (int, error) {
	if a.muteContinue && string(p) == continueBytes {
		a.muteContinue = false
		return len(p), nil
	}
	if !a.cork.in {
		return a.Conn.Write(p)
	}
	if a.cork.add(p) {
		return len(p), a.Flush()
	}
	return len(p), nil
}

// Flush sends what was kept back.
func (a *Conn) Flush() error {
	return a.cork.pull(func(kept []byte) error {
		_, err := a.Conn.Write(kept)
		return err
	})
}

// During lets cancel be called when the agent leaves, at once if it has left
// already, until the returned function is called.
func (a *Conn) During(cancel context.CancelCauseFunc) (end func()) {
	a.onGone.Store(&cancel)
	if a.gone.Load() {
		cancel(ErrGone)
	}
	return func() { a.onGone.Store(nil) }
}

// left marks that the agent has closed its side. A half-closed connection counts
// as left, as it does in net/http.
func (a *Conn) left() {
	a.gone.Store(true)
	if cancel := a.onGone.Load(); cancel != nil {
		(*cancel)(ErrGone)
	}
}

// Linger makes Close wait for an agent that is still sending to read the answer
// first: closing with unread bytes would reset the connection and the answer with it.
func (a *Conn) Linger() { a.linger.Store(true) }

// Close implements [net.Conn].
func (a *Conn) Close() error {
	a.once.Do(func() {
		a.leaving.forget(a)
		a.Release()
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

// drain reads what the agent is still sending; see [Conn.Linger].
func (a *Conn) drain() {
	half, ok := a.Conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	_ = a.Conn.SetReadDeadline(time.Now().Add(lingerFor))
	_, _ = io.CopyN(io.Discard, a.Conn, lingerBytes)
}
