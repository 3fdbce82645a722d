package notify

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// How a delivery ended.
const (
	outcomePosted  = "posted"
	outcomeUpdated = "updated"
	outcomeFailed  = "failed"   // it is tried again
	outcomeRefused = "refused"  // it is not
	outcomeOver    = "over"     // the request had ended before it was announced
	outcomeUnsent  = "unrouted" // no route leads to the channel
	outcomeLater   = "later"    // routes keep it for a later time
)

type metrics struct {
	deliveries *prometheus.CounterVec
	retries    *prometheus.CounterVec
	latency    *prometheus.HistogramVec
	faults     *prometheus.GaugeVec
}

type channelMetrics struct {
	deliveries map[string]prometheus.Counter // by outcome
	retries    prometheus.Counter
	latency    prometheus.Observer
	faults     prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer) *metrics {
	f := promauto.With(reg)
	return &metrics{
		deliveries: f.NewCounterVec(prometheus.CounterOpts{
			Name: "heldcall_notify_deliveries_total", Help: "Card deliveries by channel and outcome.",
		}, []string{"channel", "outcome"}),
		retries: f.NewCounterVec(prometheus.CounterOpts{
			Name: "heldcall_notify_retries_total", Help: "Delivery attempts after a failed one, by channel.",
		}, []string{"channel"}),
		latency: f.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "heldcall_notify_latency_seconds",
			Help:    "Time from the creation of a request to the delivery of its card.",
			Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300},
		}, []string{"channel"}),
		faults: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "heldcall_notify_faults", Help: "Places at which a channel can post nothing until its setup is corrected.",
		}, []string{"channel"}),
	}
}

// of makes the metrics of a channel, all of them from the start.
func (m *metrics) of(channel string) channelMetrics {
	c := channelMetrics{
		deliveries: map[string]prometheus.Counter{},
		retries:    m.retries.WithLabelValues(channel),
		latency:    m.latency.WithLabelValues(channel),
		faults:     m.faults.WithLabelValues(channel),
	}
	for _, outcome := range []string{outcomePosted, outcomeUpdated, outcomeFailed, outcomeRefused, outcomeOver, outcomeUnsent, outcomeLater} {
		c.deliveries[outcome] = m.deliveries.WithLabelValues(channel, outcome)
	}
	return c
}

func (c channelMetrics) count(outcome string) { c.deliveries[outcome].Inc() }

type queueCollector struct{ dispatcher *Dispatcher }

var (
	descWaiting = prometheus.NewDesc("heldcall_notify_waiting", "Cards not yet delivered to a channel.", []string{"channel"}, nil)
	descOldest  = prometheus.NewDesc("heldcall_notify_oldest_seconds", "Age of the oldest card not yet delivered to a channel; 0 if there is none.", []string{"channel"}, nil)
)

// Describe implements [prometheus.Collector].
func (c *queueCollector) Describe(out chan<- *prometheus.Desc) {
	out <- descWaiting
	out <- descOldest
}

// Collect implements [prometheus.Collector].
func (c *queueCollector) Collect(out chan<- prometheus.Metric) {
	for _, r := range c.dispatcher.channels() {
		q := r.queue
		n, oldest := q.depth()
		age := 0.0
		if n > 0 {
			age = time.Since(oldest).Seconds()
		}
		out <- prometheus.MustNewConstMetric(descWaiting, prometheus.GaugeValue, float64(n), q.channel)
		out <- prometheus.MustNewConstMetric(descOldest, prometheus.GaugeValue, age, q.channel)
	}
}
