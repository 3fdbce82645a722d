package natskv

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Values of the label op of store errors.
const (
	OpRead    = "read"
	OpWrite   = "write"
	OpAppend  = "append"
	OpPublish = "publish"
	opWatch   = "watch"
	OpProbe   = "probe"
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
	for _, op := range []string{OpRead, OpWrite, OpAppend, OpPublish, opWatch, OpProbe} {
		m.errors.WithLabelValues(op)
	}
	return m
}

// timeWrite observes the time from now until done is called.
func (m *metrics) timeWrite() (done func()) {
	began := time.Now()
	return func() { m.writes.Observe(time.Since(began).Seconds()) }
}
