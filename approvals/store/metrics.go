package store

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Values of the label op of store errors.
const (
	opRead    = "read"
	opWrite   = "write"
	opAppend  = "append"
	opPublish = "publish"
	opWatch   = "watch"
	opProbe   = "probe"
)

type metrics struct {
	errors     *prometheus.CounterVec
	writes     prometheus.Histogram
	reconnects prometheus.Counter
	restarts   prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, connected func() bool) *metrics {
	f := promauto.With(reg)
	m := &metrics{
		errors: f.NewCounterVec(prometheus.CounterOpts{
			Name: "heldcall_store_errors_total",
			Help: "Failed operations of the store, by kind.",
		}, []string{"op"}),
		writes: f.NewHistogram(prometheus.HistogramOpts{
			Name:    "heldcall_store_write_seconds",
			Help:    "Time of a write of a record or of audit entries until it is on disk, including failed writes.",
			Buckets: prometheus.ExponentialBuckets(0.00025, 2, 15),
		}),
		reconnects: f.NewCounter(prometheus.CounterOpts{
			Name: "heldcall_nats_reconnects_total",
			Help: "Reconnects to NATS.",
		}),
		restarts: f.NewCounter(prometheus.CounterOpts{
			Name: "heldcall_store_restarts_total",
			Help: "Restarts of the embedded NATS server after failed writes.",
		}),
	}
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "heldcall_nats_connected",
		Help: "1 if connected to NATS, as far as is known, else 0.",
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

// timeWrite observes the time from now until done is called.
func (m *metrics) timeWrite() (done func()) {
	began := time.Now()
	return func() { m.writes.Observe(time.Since(began).Seconds()) }
}
