package store

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	natsgo "github.com/nats-io/nats.go"
)

// connect joins the embedded or the external server.
func (s *Store) connect() (*natsgo.Conn, error) {
	o := s.opts
	var server atomic.Value // where it was connected last, without credentials
	server.Store("")
	options := []natsgo.Option{
		natsgo.Name("heldcall"),
		natsgo.MaxReconnects(-1),
		natsgo.ReconnectWait(250 * time.Millisecond),
		natsgo.ReconnectJitter(100*time.Millisecond, 100*time.Millisecond),
		natsgo.ReconnectBufSize(-1), // fail at once rather than write much later
		natsgo.PingInterval(2 * time.Second),
		natsgo.MaxPingsOutstanding(2),
		natsgo.DisconnectErrHandler(func(_ *natsgo.Conn, err error) {
			s.linked.lost()
			if err != nil {
				s.log.Warn("the connection to NATS is lost", "server", server.Load(), "error", err)
			}
		}),
		natsgo.ReconnectHandler(func(c *natsgo.Conn) {
			s.linked.again()
			s.metrics.reconnects.Inc()
			server.Store(c.ConnectedUrlRedacted())
			s.log.Info("the connection to NATS is back", "server", server.Load())
		}),
		natsgo.ClosedHandler(func(*natsgo.Conn) { s.linked.closed() }),
		natsgo.ErrorHandler(func(_ *natsgo.Conn, _ *natsgo.Subscription, err error) {
			s.log.Debug("NATS reports an error", "error", err)
		}),
	}
	if s.server != nil {
		options = append(options, natsgo.InProcessServer(s.server), natsgo.UserInfo(ownUser, s.server.password), natsgo.Timeout(ownTimeout))
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
	s.linked.opened()
	return conn, nil
}

// credentials are the options that an external server may ask for.
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

// reconnects tells watchers of a connection that came back: their own heartbeat
// would take about twenty seconds to notice.
type reconnects struct {
	mu    sync.Mutex
	up    bool
	next  chan struct{} // closed at the next reconnect
	ended chan struct{} // closed with the connection; nil before it was made
}

func (r *reconnects) init() { r.next = make(chan struct{}) }

func (r *reconnects) opened() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.up = true
	r.ended = make(chan struct{})
}

func (r *reconnects) lost() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.up = false
}

func (r *reconnects) again() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.up = true
	close(r.next)
	r.next = make(chan struct{})
}

func (r *reconnects) closed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.up = false
	if r.ended != nil {
		close(r.ended)
		r.ended = nil
	}
}

// awaitClosed waits for the end of the connection's last callback.
func (r *reconnects) awaitClosed() {
	r.mu.Lock()
	ended := r.ended
	r.mu.Unlock()
	if ended != nil {
		<-ended
	}
}

// nextUp is closed at the next reconnect.
func (r *reconnects) nextUp() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.next
}

// isUp reports whether the connection stands, as far as is known.
func (r *reconnects) isUp() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.up
}
