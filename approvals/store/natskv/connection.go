package natskv

import (
	"sync"
	"time"
)

// connectionState notifies watchers of a reconnect: by their own heartbeat they would notice
// it after about twenty seconds.
type connectionState struct {
	ended chan struct{} // closed after the connection's last callback

	mu   sync.Mutex
	lost time.Time     // since when there is no connection, as far as is known; zero with one
	next chan struct{} // closed at the next reconnect
}

func (c *connectionState) init() {
	c.next, c.ended = make(chan struct{}), make(chan struct{})
}

func (c *connectionState) disconnected() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost = time.Now()
}

// lostAt returns since when there is no connection, the zero time if that is not known.
func (c *connectionState) lostAt() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lost
}

func (c *connectionState) reconnected() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost = time.Time{}
	close(c.next)
	c.next = make(chan struct{})
}

func (c *connectionState) closed() {
	c.disconnected()
	close(c.ended)
}

// nextReconnect is closed at the next reconnect.
func (c *connectionState) nextReconnect() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.next
}
