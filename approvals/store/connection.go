package store

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	natsgo "github.com/nats-io/nats.go"

	"github.com/heldcall/heldcall/approvals/store/embedded"
)

// connect connects to the embedded server, or to an external one if that is nil.
func (b *backend) connect(o Options, local *embedded.Server) (*natsgo.Conn, error) {
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
				b.log.Warn("lost the connection to NATS", "server", server.Load(), "error", err)
			}
		}),
		natsgo.ReconnectHandler(func(c *natsgo.Conn) {
			b.state.reconnected()
			b.metrics.reconnects.Inc()
			server.Store(c.ConnectedUrlRedacted())
			b.log.Info("reconnected to NATS", "server", server.Load())
		}),
		natsgo.ClosedHandler(func(*natsgo.Conn) { b.state.closed() }),
		natsgo.ErrorHandler(func(_ *natsgo.Conn, _ *natsgo.Subscription, err error) {
			b.log.Debug("error of NATS", "error", err)
		}),
	}
	if local != nil {
		options = append(options, local.ConnectOptions()...)
	} else {
		more, err := credentials(o)
		if err != nil {
			return nil, err
		}
		options = append(options, more...)
	}
	conn, err := natsgo.Connect(o.URL, options...)
	if err != nil {
		return nil, fmt.Errorf("connect to NATS: %w", err)
	}
	server.Store(conn.ConnectedUrlRedacted())
	b.state.up.Store(true)
	return conn, nil
}

// credentials returns the options for the authentication with an external server.
func credentials(o Options) ([]natsgo.Option, error) {
	var options []natsgo.Option
	if o.Creds != "" {
		options = append(options, natsgo.UserCredentials(o.Creds))
	}
	if o.NKey != "" {
		option, err := natsgo.NkeyOptionFromSeed(o.NKey)
		if err != nil {
			return nil, fmt.Errorf("nats nkey file: %w", err)
		}
		options = append(options, option)
	}
	if o.TLSCA != "" {
		options = append(options, natsgo.RootCAs(o.TLSCA))
	}
	if o.TLSCert != "" {
		options = append(options, natsgo.ClientCert(o.TLSCert, o.TLSKey))
	}
	return options, nil
}

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
