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
	errors     *prometheus.CounterVec
	writes     prometheus.Histogram
	reconnects prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, connected func() bool) *metrics {
	f := promauto.With(reg)
	m := &metrics{
		errors: f.NewCounterVec(prometheus.CounterOpts{
			Name: "heldcall_store_errors_total",
			Help: "Operations that the store could not do, by kind.",
		}, []string{"op"}),
		writes: f.NewHistogram(prometheus.HistogramOpts{
			Name:    "heldcall_store_write_seconds",
			Help:    "Time that a write of a record or of audit entries took until NATS had it on disk, failed ones included.",
			Buckets: prometheus.ExponentialBuckets(0.00025, 2, 15),
		}),
		reconnects: f.NewCounter(prometheus.CounterOpts{
			Name: "heldcall_nats_reconnects_total",
			Help: "How often a lost connection to NATS came back.",
		}),
	}
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "heldcall_nats_connected",
		Help: "1 while the connection to NATS stands, as far as is known, else 0.",
	}, func() float64 {
		if connected() {
			return 1
		}
		return 0
	})
	for _, op := range []string{opRead, opWrite, opAppend, opPublish, opWatch, opProbe} {
		m.errors.WithLabelValues(op)
	}
	return m
}

// timeWrite times a write from now until what it returns is called.
func (m *metrics) timeWrite() (done func()) {
	began := time.Now()
	return func() { m.writes.Observe(time.Since(began).Seconds()) }
}

// fail makes the error of an operation that the store could not do.
func (s *Store) fail(op, doing string, err error) error {
	if !errors.Is(err, context.Canceled) {
		s.metrics.errors.WithLabelValues(op).Inc()
	}
	return fmt.Errorf("%s: %w: %w", doing, approvals.ErrStoreUnavailable, err)
}

// turn waits for the right to write. The caller calls done after the write, which
// is timed from the one to the other.
func (s *Store) turn(ctx context.Context) (done func(), err error) {
	select {
	case s.writing <- struct{}{}:
		timed := s.metrics.timeWrite()
		return func() {
			timed()
			<-s.writing
		}, nil
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
