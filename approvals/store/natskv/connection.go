package natskv

import (
	"sync"
	"sync/atomic"
)

// connectionState notifies watchers of a reconnect: by their own heartbeat they would notice
// it after about twenty seconds.
type connectionState struct {
	up    atomic.Bool   // connected, as far as is known
	ended chan struct{} // closed after the connection's last callback

	mu   sync.Mutex
	next chan struct{} // closed at the next reconnect
}

func (c *connectionState) init() {
	c.next, c.ended = make(chan struct{}), make(chan struct{})
}

func (c *connectionState) reconnected() {
	c.up.Store(true)
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.next)
	c.next = make(chan struct{})
}

func (c *connectionState) closed() {
	c.up.Store(false)
	close(c.ended)
}

// nextReconnect is closed at the next reconnect.
func (c *connectionState) nextReconnect() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.next
}
