// Package natskv hides how operations on NATS wait, fail and are measured: it is the connection of
// the store, the buckets and streams of JetStream with the limits, errors and metrics of their
// operations, the loss of the connection, and the disk of the embedded server.
//
// Read backend.go, bucket.go (compare-and-set), watch.go, streams.go, then disk.go and
// failover.go (faults).
package natskv

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/heldcall/heldcall/approvals"
)

const (
	// OpTimeout bounds an operation whose caller set no deadline.
	OpTimeout = 5 * time.Second
	// maxWrites is the number of writes in progress. Further writes wait before their
	// time-out begins: a burst must not fail because the disk syncs one write after the
	// other.
	maxWrites = 128
)

// errNoConnection is the cause of operations that fail because the server is away.
var errNoConnection = errors.New("there is no connection to NATS")

// Backend is the connection to NATS of the buckets and the audit log, with the limits,
// errors and metrics of their operations.
type Backend struct {
	Conn    *natsgo.Conn
	JS      jetstream.JetStream
	state   connectionState
	Disk    *Disk // of the embedded server, else nil
	Log     *slog.Logger
	metrics *metrics
	writing chan struct{} // one for each write in progress

	leaving sync.Mutex
	left    time.Time // when another server was tried last
}

// NewBackend returns a backend without a connection.
func NewBackend(log *slog.Logger, reg prometheus.Registerer) *Backend {
	b := &Backend{Log: log, writing: make(chan struct{}, maxWrites)}
	b.state.init()
	b.metrics = newMetrics(reg, b.Connected)
	return b
}

// UseDisk checks the folder of the embedded server from now on. restart restarts the server,
// and returns when it is connected.
func (b *Backend) UseDisk(dir string, restart func() error) {
	b.Disk = newDisk(dir, b.Log)
	b.Disk.restart, b.Disk.restarts = restart, b.metrics.restarts
}

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
			b.state.disconnected()
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
	if b.JS, err = jetstream.New(b.Conn, jetstream.WithPublishAsyncTimeout(OpTimeout)); err != nil {
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
func (b *Backend) Connected() bool {
	if b.Conn == nil {
		return b.state.lostAt().IsZero()
	}
	return b.Conn.IsConnected() // callbacks of the connection may be late
}

// NextReconnect is closed at the next reconnect.
func (b *Backend) NextReconnect() <-chan struct{} { return b.state.nextReconnect() }

// TimeWrite observes the time of a write, from now until done is called.
func (b *Backend) TimeWrite() (done func()) { return b.metrics.timeWrite() }

// CheckDisk reports with an error that the embedded server cannot write its folder.
func (b *Backend) CheckDisk(ctx context.Context) error {
	if err := b.Disk.check(ctx); err != nil {
		return b.Fail(OpProbe, "write a probe", err)
	}
	return nil
}

// MaxRecord returns the largest payload that NATS accepts, in bytes.
func (b *Backend) MaxRecord() int { return int(b.Conn.MaxPayload()) }

// Fail counts a failed operation, and wraps its error with the cause if the disk is known to
// fail.
func (b *Backend) Fail(op, doing string, err error) error {
	if !errors.Is(err, context.Canceled) {
		b.metrics.errors.WithLabelValues(op).Inc()
	}
	if errors.Is(err, natsgo.ErrReconnectBufExceeded) {
		err = errNoConnection // the client's error is about a buffer, which heldcall does not use
	}
	return fmt.Errorf("%s: %w: %w", doing, approvals.ErrStoreUnavailable, b.Disk.explain(err))
}

// acquireWrite waits for the right to write. The caller calls done after the write. The
// time between the two is observed.
func (b *Backend) acquireWrite(ctx context.Context) (done func(), err error) {
	select {
	case b.writing <- struct{}{}:
		timed := b.metrics.timeWrite()
		return func() {
			timed()
			<-b.writing
		}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write does an idempotent write without compare-and-set. See [Backend.Again] for a cluster that
// does not answer.
func (b *Backend) Write(ctx context.Context, op, doing string, do func(context.Context) error) error {
	return b.Again(ctx, func() error { return b.write(ctx, op, doing, do) })
}

// write does a write once.
func (b *Backend) write(ctx context.Context, op, doing string, do func(context.Context) error) error {
	if cause := b.Disk.Unwritable(ctx); cause != nil {
		return b.Fail(op, doing, cause)
	}
	done, err := b.acquireWrite(ctx)
	if err != nil {
		return b.Fail(op, doing, err)
	}
	defer done()
	if err := b.Disk.Wrote(op, b.Bounded(ctx, do)); err != nil {
		return b.Fail(op, doing, err)
	}
	return nil
}

// Bounded does a write within [OpTimeout] if the context has no deadline or the server is
// external: a reply that a cluster has lost is not waited for. It returns the cause as soon as
// it is known that the disk cannot be written.
func (b *Backend) Bounded(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := b.attempt(ctx)
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer b.Disk.endLate(ctx, end)()
	err := do(ctx)
	if fault := (*approvals.FaultError)(nil); err != nil && errors.As(context.Cause(ctx), &fault) {
		return fmt.Errorf("%w: %w", err, fault)
	}
	return err
}

// Await returns the result of do, or the error of the context when that ends: while the disk of
// the embedded server does not answer, an operation of the connection waits for others,
// whatever its context. do ends when the connection does.
func Await[T any](ctx context.Context, do func(context.Context) (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := do(ctx)
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
	}
	select {
	case r := <-done:
		return r.value, r.err
	case <-time.After(grace): // the usual case: do ends with the context
		var none T
		return none, ctx.Err()
	}
}

// grace is the time that an operation has to return after the end of its context.
const grace = 100 * time.Millisecond

// attempt adds the deadline of one attempt to the context of an operation: see [Backend.Again].
func (b *Backend) attempt(ctx context.Context) (context.Context, context.CancelFunc) {
	if b.Disk == nil {
		return context.WithTimeout(ctx, OpTimeout)
	}
	return Bounded(ctx)
}

// Bounded adds a deadline to the context of one operation if it has none.
func Bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, has := ctx.Deadline(); has {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, OpTimeout)
}

// refused reports whether the server answered with an error. After any other error it is
// unknown whether the write was done.
func refused(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api)
}

// WrongSequence reports whether a compare-and-set failed because of another write.
func WrongSequence(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) &&
		(api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}
