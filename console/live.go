package console

import (
	"context"
	"iter"
	"log/slog"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// Events is what the console needs of a gate to stream events. [approvals.Gate]
// implements it.
type Events interface {
	Subscribe(ctx context.Context, from uint64) iter.Seq2[approvals.Event, error]
	LastSeq(ctx context.Context) (uint64, error)
}

type liveHandlers struct {
	gate      Events
	runs      Runs
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
		gate: o.Gate, runs: o.Gate, requests: requests,
		open: newOpenStreams(), replays: make(chan struct{}, mostReplays),
		heartbeat: o.Heartbeat, stall: writeTimeout, metrics: m, log: o.Log,
	}
	h.running, h.end = context.WithCancel(context.Background())
	return h
}
