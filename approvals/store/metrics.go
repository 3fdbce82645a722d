package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/heldcall/heldcall/approvals"
)

// The operations that store errors are counted by.
const (
	opRead    = "read"
	opWrite   = "write"
	opAppend  = "append"
	opPublish = "publish"
	opWatch   = "watch"
	opProbe   = "probe"
)

const (
	// opTimeout bounds an operation whose caller set no deadline.
	opTimeout = 5 * time.Second
	// maxWrites is how many writes are on their way at the same time. More wait
	// their turn here, where their time-out does not run: a burst must not fail
	// because the disk syncs one write after the other.
	maxWrites = 128
)

type metrics struct {
	errors *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{errors: promauto.With(reg).NewCounterVec(prometheus.CounterOpts{
		Name: "heldcall_store_errors_total",
		Help: "Operations that the store could not do, by kind.",
	}, []string{"op"})}
	for _, op := range []string{opRead, opWrite, opAppend, opPublish, opWatch, opProbe} {
		m.errors.WithLabelValues(op)
	}
	return m
}

// fail makes the error of an operation that the store could not do.
func (s *Store) fail(op, doing string, err error) error {
	if !errors.Is(err, context.Canceled) {
		s.metrics.errors.WithLabelValues(op).Inc()
	}
	return fmt.Errorf("%s: %w: %w", doing, approvals.ErrStoreUnavailable, err)
}

// turn waits for the right to write. The caller calls done after it.
func (s *Store) turn(ctx context.Context) (done func(), err error) {
	select {
	case s.writing <- struct{}{}:
		return func() { <-s.writing }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// bounded gives the context of one operation a deadline.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, has := ctx.Deadline(); has {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, opTimeout)
}

// refused reports that the server answered, and the answer was no. Any other
// error leaves open whether a write took place.
func refused(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api)
}

// wrongSequence reports that a compare-and-set found something newer.
func wrongSequence(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) &&
		(api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}
