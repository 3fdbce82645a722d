package heldturns

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/heldcall/heldcall/approvals"
)

type metrics struct {
	orphans prometheus.Counter
	unused  prometheus.Counter
}

// newMetrics registers the metrics of a keeper. count returns the number of stored turns in
// each state.
func newMetrics(registerer prometheus.Registerer, count func() map[approvals.AttachState]int) *metrics {
	factory := promauto.With(registerer)
	if registerer != nil {
		registerer.MustRegister(heldTurns{prometheus.NewDesc("heldcall_turns_stored", "Held turns in the store, by the state of their agent.", []string{"agent"}, nil), count})
	}
	return &metrics{
		orphans: factory.NewCounter(prometheus.CounterOpts{
			Name: "heldcall_turns_orphaned_total", Help: "Held turns that ended because their agent did not come back.",
		}),
		unused: factory.NewCounter(prometheus.CounterOpts{
			Name: "heldcall_turns_unused_total", Help: "Held turns with decided requests that ended without an agent.",
		}),
	}
}

// heldTurns collects heldcall_turns_stored.
type heldTurns struct {
	desc  *prometheus.Desc
	count func() map[approvals.AttachState]int
}

func (c heldTurns) Describe(to chan<- *prometheus.Desc) { to <- c.desc }

func (c heldTurns) Collect(to chan<- prometheus.Metric) {
	counts := c.count()
	for _, state := range []approvals.AttachState{approvals.AgentAttached, approvals.AgentDetached, approvals.AgentParked} {
		to <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, float64(counts[state]), string(state))
	}
}
