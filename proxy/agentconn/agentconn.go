// Package agentconn hides the operating system's sockets of agents. It accepts their connections,
// detects when an agent disconnects, reads requests and writes answers with few system calls, and
// reserves memory for the bodies of requests. It does not parse HTTP.
//
// [Listen] returns a listener whose connections are of type *[Conn]. The HTTP server
// reads and writes them; the code that serves a request uses the methods of Conn and a
// [BodyWriter] for the answer.
package agentconn

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/heldcall/heldcall/internal/memory"
)

// ErrDisconnected is the cause of a context that was cancelled because the agent
// disconnected.
var ErrDisconnected = errors.New("the agent has left")

// Listener accepts agents' connections and watches each socket for the end of its
// connection: while an answer is held, no write would fail.
type Listener struct {
	net.Listener
	watcher disconnectWatcher
	memory  *memory.Budget
	taken   bool // its connections do not have keepAlive
}

// keepAlive finds dead peers within 30 seconds.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3}

// Listen opens the data plane's socket. Its connections reserve memory in a budget.
func Listen(ctx context.Context, address string, budget *memory.Budget) (*Listener, error) {
	config := net.ListenConfig{KeepAliveConfig: keepAlive}
	config.SetMultipathTCP(false)
	ln, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for agents on %s (proxy.listen): %w", address, err)
	}
	return newListener(ln, budget)
}

// Take makes a socket that is open the data plane's. Its connections reserve memory in a budget.
func Take(socket net.Listener, budget *memory.Budget) (*Listener, error) {
	l, err := newListener(socket, budget)
	if err == nil {
		l.taken = true
	}
	return l, err
}

func newListener(socket net.Listener, budget *memory.Budget) (*Listener, error) {
	l := &Listener{Listener: socket, memory: budget}
	if err := l.watcher.start(); err != nil {
		socket.Close()
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
	if tcp, ok := conn.(*net.TCPConn); ok && l.taken {
		_ = tcp.SetKeepAliveConfig(keepAlive) // fails on a connection that has ended
	}
	c := &Conn{Conn: conn, watcher: &l.watcher}
	c.budget = l.memory
	c.in.begin(conn)
	l.watcher.add(c)
	return c, nil
}

// Close ends accepting; it may be called again. Connections are watched until they are closed, or until
// Stop.
func (l *Listener) Close() error {
	if err := l.Listener.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// Stop ends the watch over the connections and waits for its goroutine. Call it once,
// after Close.
func (l *Listener) Stop() { l.watcher.stop() }
