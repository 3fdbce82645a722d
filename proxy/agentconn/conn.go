package agentconn

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Conn is an agent's connection. Close, and the watch for the agent's disconnect, may
// run beside the other methods; these are for one goroutine.
type Conn struct {
	net.Conn
	bodyMemory
	in  readAhead
	out writeBuffer

	watcher      *disconnectWatcher
	id           uint64 // of the connection at the watcher
	disconnected atomic.Bool
	onDisconnect atomic.Pointer[context.CancelCauseFunc]

	onSent  atomic.Pointer[func(error)] // see OnSent
	closing sync.Once
	linger  atomic.Bool // the agent may still be sending when it is answered

	skipContinue bool // the next 100 Continue is not for the agent
}

const continueBytes = "HTTP/1.1 100 Continue\r\n\r\n"

// Read implements [net.Conn]. It sends a buffered answer first.
func (c *Conn) Read(p []byte) (int, error) {
	if c.out.data != nil {
		if err := c.flush(); err != nil {
			return 0, err
		}
	}
	c.sent(nil)
	if len(c.pieces) > 0 && c.in.buffered() == 0 {
		return c.readPiece(p), nil
	}
	return c.in.Read(p)
}

// Write implements [net.Conn].
func (c *Conn) Write(p []byte) (int, error) {
	if c.skipContinue && string(p) == continueBytes {
		c.skipContinue = false
		return len(p), nil
	}
	if !c.out.active {
		return c.Conn.Write(p)
	}
	if c.out.add(p) {
		err := c.flush()
		c.sent(err)
		return len(p), err
	}
	return len(p), nil
}

// OnSent calls done once: when the last byte of the answer has been sent, or with an error
// if the connection ends before. The answer's end is known if it is buffered. Functions that
// are given for one answer are called in their order.
func (c *Conn) OnSent(done func(error)) {
	for {
		earlier, all := c.onSent.Load(), done
		if earlier != nil {
			all = func(err error) { (*earlier)(err); done(err) }
		}
		if c.onSent.CompareAndSwap(earlier, &all) {
			return
		}
	}
}

func (c *Conn) sent(err error) {
	if done := c.onSent.Swap(nil); done != nil {
		(*done)(err)
	}
}

// BufferHead buffers writes, the head of an answer in chunks, until a [BodyWriter] sends
// its first bytes.
func (c *Conn) BufferHead() { c.out.active = true }

// BufferAnswer buffers writes until they contain a head and bodySize bytes of a body,
// more than 0, and sends them with one system call.
func (c *Conn) BufferAnswer(bodySize int) { c.out = writeBuffer{active: true, bodySize: bodySize} }

// BufferLastChunk sends the buffered bytes. Then it buffers writes until the end of a
// body in chunks, and sends them with one system call.
func (c *Conn) BufferLastChunk() error {
	if err := c.flush(); err != nil {
		return err
	}
	c.out = writeBuffer{active: true, lastChunk: true}
	return nil
}

// DiscardBuffered drops the buffered bytes and ends buffering.
func (c *Conn) DiscardBuffered() { c.out = writeBuffer{} }

// flush sends the buffered bytes and ends buffering.
func (c *Conn) flush() error {
	return c.out.flush(func(data []byte) error {
		_, err := c.Conn.Write(data)
		return err
	})
}

// OnDisconnect calls cancel with [ErrDisconnected] when the agent disconnects, at once
// if it already has, until the returned function is called.
func (c *Conn) OnDisconnect(cancel context.CancelCauseFunc) (end func()) {
	c.onDisconnect.Store(&cancel)
	if c.disconnected.Load() {
		cancel(ErrDisconnected)
	}
	return func() { c.onDisconnect.Store(nil) }
}

// peerClosed records that the agent has closed its side. A half-closed connection
// counts as closed, as in net/http.
func (c *Conn) peerClosed() {
	c.disconnected.Store(true)
	if cancel := c.onDisconnect.Load(); cancel != nil {
		(*cancel)(ErrDisconnected)
	}
}

// Linger makes Close read the bytes that the agent still sends, so that it can read the
// answer first: closing with unread bytes would reset the connection.
func (c *Conn) Linger() { c.linger.Store(true) }

// Close implements [net.Conn].
func (c *Conn) Close() error {
	c.ReleaseMemory() // each time: the server closes the connection after its last request
	c.sent(ErrDisconnected)
	c.closing.Do(func() {
		c.watcher.remove(c)
		if c.linger.Load() {
			c.drain()
		}
	})
	return c.Conn.Close()
}

const (
	lingerFor   = 2 * time.Second
	lingerBytes = 1 << 30
)

// drain ends writing and reads until the agent closes its side, within limits.
func (c *Conn) drain() {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	_ = c.Conn.SetReadDeadline(time.Now().Add(lingerFor))
	_, _ = io.CopyN(io.Discard, c.Conn, lingerBytes)
}
