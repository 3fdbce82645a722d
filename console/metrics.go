package console

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	requests *prometheus.CounterVec
	streams  prometheus.Gauge
	sockets  prometheus.Gauge
}

func newMetrics(registerer prometheus.Registerer) *metrics {
	f := promauto.With(registerer)
	return &metrics{
		requests: f.NewCounterVec(prometheus.CounterOpts{
			Name: "heldcall_console_requests_total",
			Help: "Requests to the console by route, method and status. An event stream or WebSocket counts when it ends.",
		}, []string{"route", "method", "status"}),
		streams: f.NewGauge(prometheus.GaugeOpts{
			Name: "heldcall_console_event_streams",
			Help: "Open event streams.",
		}),
		sockets: f.NewGauge(prometheus.GaugeOpts{
			Name: "heldcall_console_websockets",
			Help: "Open WebSockets.",
		}),
	}
}
