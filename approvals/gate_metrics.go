package approvals

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// gateMetrics are the numbers of a gate.
type gateMetrics struct {
	holds *prometheus.HistogramVec
}

func newGateMetrics(reg prometheus.Registerer, g *Gate) *gateMetrics {
	factory := promauto.With(reg)
	m := &gateMetrics{
		holds: factory.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "heldcall_hold_duration_seconds",
			Help:    "Time from a request to its end, by how it ended.",
			Buckets: []float64{.1, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600},
		}, []string{"outcome"}),
	}
	for _, s := range []Status{StatusApproved, StatusDenied, StatusAnswered, StatusExpired, StatusCancelled} {
		m.holds.WithLabelValues(string(s))
	}
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "heldcall_requests_pending",
		Help: "Requests that wait for a decision, on all replicas.",
	}, func() float64 { n, _ := g.waiting(); return float64(n) })
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "heldcall_request_oldest_pending_age_seconds",
		Help: "Age of the request that has waited longest; 0 if none waits.",
	}, func() float64 { _, age := g.waiting(); return age.Seconds() })
	return m
}

// held counts the end of a request that this gate held.
func (m *gateMetrics) held(r Request) {
	if r.Details.EndedAt != nil {
		m.holds.WithLabelValues(string(r.Status)).Observe(r.Details.EndedAt.Sub(r.CreatedAt).Seconds())
	}
}

// waiting counts the pending requests and the age of the oldest.
func (g *Gate) waiting() (n int, oldest time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	for _, w := range g.pending {
		oldest = max(oldest, now.Sub(w.createdAt))
	}
	return len(g.pending), oldest
}
