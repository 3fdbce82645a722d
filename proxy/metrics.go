package proxy

import (
	"strconv"

	"github.com/heldcall/heldcall/intercept"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics of agents' requests. Those of the answers are in package turn. Every label is
// an enumeration.
type metrics struct {
	requests    *prometheus.CounterVec
	refusals    *prometheus.CounterVec
	openStreams prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer) *metrics {
	f := promauto.With(reg)
	m := &metrics{
		requests: f.NewCounterVec(prometheus.CounterOpts{
			Name: "heldcall_requests_total", Help: "Agent requests by route and status.",
		}, []string{"route", "status"}),
		refusals: f.NewCounterVec(prometheus.CounterOpts{
			Name: "heldcall_refused_requests_total", Help: "Requests that heldcall answered with an error of its own before asking upstream, by code.",
		}, []string{"code"}),
		openStreams: f.NewGauge(prometheus.GaugeOpts{
			Name: "heldcall_open_streams", Help: "Answers that are being written to agents, held ones included.",
		}),
	}
	for _, c := range []intercept.Code{ // so that alerts find a series before the first event
		intercept.CodeBadRequest, intercept.CodeRouteNotGated, intercept.CodeRequestTooLarge, intercept.CodeRunAborted, intercept.CodeHostedToolRefused, intercept.CodeShuttingDown,
		intercept.CodeOverloaded, intercept.CodeForeignHost, intercept.CodeForeignOrigin,
	} {
		m.refusals.WithLabelValues(string(c))
	}
	return m
}

func (m *metrics) request(route string, status int) {
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
}
func (m *metrics) refused(code intercept.Code) { m.refusals.WithLabelValues(string(code)).Inc() }
