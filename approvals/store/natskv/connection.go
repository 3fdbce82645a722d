package natskv

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Connect connects to a server: see [natsgo.Connect]. It tries again for ever after it has
// lost the connection.
func (b *Backend) Connect(url string, more []natsgo.Option) (err error) {
	var server atomic.Value // the URL of the last connection, without credentials
	server.Store("")
	options := []natsgo.Option{
		natsgo.Name("heldcall"),
		natsgo.MaxReconnects(-1),
		natsgo.ReconnectWait(250 * time.Millisecond),
		natsgo.ReconnectJitter(100*time.Millisecond, 100*time.Millisecond),
		natsgo.ReconnectBufSize(-1), // fail at once instead of writing later
		natsgo.PingInterval(2 * time.Second),
		natsgo.MaxPingsOutstanding(2),
		natsgo.DisconnectErrHandler(func(_ *natsgo.Conn, err error) {
			b.state.up.Store(false)
			if err != nil {
				b.Log.Warn("lost the connection to NATS", "server", server.Load(), "error", err)
			}
		}),
		natsgo.ReconnectHandler(func(c *natsgo.Conn) {
			b.state.reconnected()
			b.metrics.reconnects.Inc()
			server.Store(c.ConnectedUrlRedacted())
			b.Log.Info("reconnected to NATS", "server", server.Load())
		}),
		natsgo.ClosedHandler(func(*natsgo.Conn) { b.state.closed() }),
		natsgo.ErrorHandler(func(_ *natsgo.Conn, _ *natsgo.Subscription, err error) {
			b.Log.Debug("error of NATS", "error", err)
		}),
	}
	if b.Conn, err = natsgo.Connect(url, append(options, more...)...); err != nil {
		return fmt.Errorf("connect to NATS: %w", err)
	}
	server.Store(b.Conn.ConnectedUrlRedacted())
	b.state.up.Store(true)
	if b.JS, err = jetstream.New(b.Conn); err != nil {
		return fmt.Errorf("use JetStream: %w", err)
	}
	return nil
}

// Close closes the connection, if there is one, and waits for its last callback.
func (b *Backend) Close() {
	if b.Conn != nil {
		b.Conn.Close()
		<-b.state.ended
	}
}

// Connected reports whether the connection is up, as far as is known.
func (b *Backend) Connected() bool { return b.state.up.Load() }

// NextReconnect is closed at the next reconnect.
func (b *Backend) NextReconnect() <-chan struct{} { return b.state.nextReconnect() }

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
