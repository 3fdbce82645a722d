package console

import (
	"context"
	"log/slog"
	"time"
)

type liveHandlers struct {
	gate      scopedGate
	requests  requestHandlers
	open      *openStreams
	replays   chan struct{}   // one for each event stream that reads what it has missed
	running   context.Context // ends when event streams and WebSockets must
	end       context.CancelFunc
	heartbeat time.Duration // between comments of an idle event stream
	stall     time.Duration // how long a client of a WebSocket may stall
	metrics   *metrics
	log       *slog.Logger
}

func newLiveHandlers(o Options, requests requestHandlers, m *metrics) *liveHandlers {
	h := &liveHandlers{
		gate: requests.gate, requests: requests,
		open: newOpenStreams(), replays: make(chan struct{}, mostReplays),
		heartbeat: o.Heartbeat, stall: writeTimeout, metrics: m, log: o.Log,
	}
	h.running, h.end = context.WithCancel(context.Background())
	return h
}
