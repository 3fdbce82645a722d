package telemetry

import (
	"fmt"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// NewRegistry makes a metrics registry that already holds the build
// information of heldcall and the collectors of the process and the Go
// runtime.
func NewRegistry(version string) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "heldcall_build_info",
		Help: "Always 1. The labels are the versions of heldcall and of Go.",
	}, []string{"version", "goversion"})
	build.WithLabelValues(version, runtime.Version()).Set(1)
	registry.MustRegister(
		build,
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return registry
}

// Total returns the sum of all series of a counter, 0 if there is none.
func Total(from prometheus.Gatherer, counter string) (int, error) {
	families, err := from.Gather()
	if err != nil {
		return 0, fmt.Errorf("read the metrics: %w", err)
	}
	total := 0.0
	for _, family := range families {
		if family.GetName() != counter {
			continue
		}
		for _, metric := range family.GetMetric() {
			total += metric.GetCounter().GetValue()
		}
	}
	return int(total), nil
}
