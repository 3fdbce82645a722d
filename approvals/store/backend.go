package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/heldcall/heldcall/approvals"
)

const (
	// opTimeout bounds an operation whose caller set no deadline.
	opTimeout = 5 * time.Second
	// maxWrites is the number of writes in progress. Further writes wait before their
	// time-out begins: a burst must not fail because the disk syncs one write after the
	// other.
	maxWrites = 128
)

// backend is the connection to NATS of the buckets and the audit log, with the limits,
// errors and metrics of their operations.
type backend struct {
	conn    *natsgo.Conn
	js      jetstream.JetStream
	state   connectionState
	disk    *disk // of the embedded server, else nil
	log     *slog.Logger
	metrics *metrics
	writing chan struct{} // one for each write in progress
}

// newBackend returns a backend without a connection.
func newBackend(log *slog.Logger, reg prometheus.Registerer) *backend {
	b := &backend{log: log, writing: make(chan struct{}, maxWrites)}
	b.state.init()
	b.metrics = newMetrics(reg, b.connected)
	return b
}

// useDisk checks the folder of the embedded server from now on. restart restarts the server,
// and returns when it is connected.
func (b *backend) useDisk(dir string, restart func() error) {
	b.disk = newDisk(dir, b.log)
	b.disk.restart, b.disk.restarts = restart, b.metrics.restarts
}

// timeWrite observes the time of a write, from now until done is called.
func (b *backend) timeWrite() (done func()) { return b.metrics.timeWrite() }

// checkDisk reports with an error that the embedded server cannot write its folder.
func (b *backend) checkDisk(ctx context.Context) error {
	if err := b.disk.check(ctx); err != nil {
		return b.fail(opProbe, "write a probe", err)
	}
	return nil
}

// maxRecord returns the largest payload that NATS accepts, in bytes.
func (b *backend) maxRecord() int { return int(b.conn.MaxPayload()) }

// fail counts a failed operation, and wraps its error with the cause if the disk is known to
// fail.
func (b *backend) fail(op, doing string, err error) error {
	if !errors.Is(err, context.Canceled) {
		b.metrics.errors.WithLabelValues(op).Inc()
	}
	return fmt.Errorf("%s: %w: %w", doing, approvals.ErrStoreUnavailable, b.disk.explain(err))
}

// acquireWrite waits for the right to write. The caller calls done after the write. The
// time between the two is observed.
func (b *backend) acquireWrite(ctx context.Context) (done func(), err error) {
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

// write does a write without compare-and-set.
func (b *backend) write(ctx context.Context, op, doing string, do func(context.Context) error) error {
	if cause := b.disk.unwritable(); cause != nil {
		return b.fail(op, doing, cause)
	}
	done, err := b.acquireWrite(ctx)
	if err != nil {
		return b.fail(op, doing, err)
	}
	defer done()
	if err := b.disk.wrote(op, b.bounded(ctx, do)); err != nil {
		return b.fail(op, doing, err)
	}
	return nil
}

// bounded does a write within [opTimeout] if the context has no deadline. It returns the cause
// as soon as it is known that the disk cannot be written.
func (b *backend) bounded(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer b.disk.endLate(ctx, end)()
	err := do(ctx)
	if fault := (*approvals.FaultError)(nil); err != nil && errors.As(context.Cause(ctx), &fault) {
		return fmt.Errorf("%w: %w", err, fault)
	}
	return err
}

// await returns the result of do, or the error of the context when that ends: while the disk of
// the embedded server does not answer, an operation of the connection waits for others,
// whatever its context. do ends when the connection does.
func await[T any](ctx context.Context, do func(context.Context) (T, error)) (T, error) {
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

// bounded adds a deadline to the context of one operation if it has none.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, has := ctx.Deadline(); has {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, opTimeout)
}

// refused reports whether the server answered with an error. After any other error it is
// unknown whether the write was done.
func refused(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api)
}

// wrongSequence reports whether a compare-and-set failed because of another write.
func wrongSequence(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) &&
		(api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}
