package turn

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/proxy/conversation"
	"github.com/heldcall/heldcall/proxy/hosted"
	"github.com/prometheus/client_golang/prometheus"
)

// Options configures an [Engine].
type Options struct {
	Limits   Limits
	Gate     Gate
	Store    Store
	Dialects []intercept.Dialect
	// Judge returns the judge of a client by its [Request.Client].
	Judge func(client string) Judge
	// Used is called with the ids of the grants that decided a call. It must not wait. It
	// may be nil.
	Used func(grants ...string)
	// Left is called with the calls that the agent gets, before they leave. It may be nil.
	Left func(c *conversation.Conversation, calls []intercept.Call)
	// Held is called when a hold begins. It may be nil.
	Held func()
	// Keeper stores held turns. Nil: a held turn ends with its connection, and has no
	// [Snapshot].
	Keeper Keeper
	Log    *slog.Logger
}

// Limits bound a turn.
type Limits struct {
	MaxBody          int           // bytes of the buffered part of an answer
	MaxContinuations int           // how often one answer continues after a denial
	MaxDenials       int           // denied calls of a run since the user wrote, after which no answer continues; 0: any number
	Keepalive        time.Duration // longest time without a byte to the agent
	MaxWait          time.Duration // longest hold, 0 for as long as policy allows
	Park             bool          // answers are parked where no rule has it otherwise
	ParkAfter        time.Duration // how long a parked answer waits before it ends
	AbortRest        time.Duration // after an abort, for which the same conversation is not taken for a new one
}

// untilHeartbeat is the period less up to a quarter: turns that began together do not beat together.
func (l *Limits) untilHeartbeat() time.Duration {
	return l.Keepalive - rand.N(l.Keepalive/4+1)
}

// maxOpening is how many holds are recorded at the same time, as many as the store
// writes at once.
const maxOpening = 128

// Engine makes turns and has what they share. It is safe for concurrent use.
type Engine struct {
	Options // not changed while turns run

	metrics       *metrics
	Conversations conversation.Shared // not changed while turns run
	opening       chan struct{}       // a place for each hold that is being recorded
	comparing     chan struct{}       // a place for each snapshot that is read to be compared
	Offers        hosted.Offers

	draining context.Context // ends when holds have to end
	drain    context.CancelFunc
}

// NewEngine makes an engine. Gate, Store, Judge and Log must be set. Without a registerer
// metrics are not exported.
func NewEngine(o Options, registerer prometheus.Registerer) *Engine {
	e := &Engine{Options: o, metrics: newMetrics(registerer, o.Dialects), opening: make(chan struct{}, maxOpening), comparing: make(chan struct{}, maxComparing)}
	e.Conversations = conversation.Shared{
		Store: o.Store, Runs: o.Gate, Requests: o.Gate, AbortRest: o.Limits.AbortRest, KeepRecords: o.Keeper != nil, Log: o.Log, Reviewed: conversation.NewReviewedResults(), Digests: conversation.NewDigests(),
		Questions: func(client string) conversation.Questions { return o.Judge(client) },
		Metrics:   conversation.Metrics{Spliced: e.metrics.spliced, Unplaced: e.metrics.unplaced, Unseen: e.metrics.unseen, StoreErrors: e.metrics.storeErrors.WithLabelValues("turns")},
	}
	e.draining, e.drain = context.WithCancel(context.Background())
	return e
}

// Record appends to the audit log, and counts a failure.
func (e *Engine) Record(ctx context.Context, events ...approvals.Event) error {
	err := e.Gate.Record(ctx, events...)
	if err != nil && ctx.Err() == nil {
		e.metrics.storeError("record")
	}
	return err
}

// stops reports whether heldcall stops.
func (e *Engine) stops() bool { return e.draining.Err() != nil }

// Draining is closed when holds have to end.
func (e *Engine) Draining() <-chan struct{} { return e.draining.Done() }

// Drain ends every hold with an error for the agent; its requests stay with the
// reviewers. New turns are refused.
func (e *Engine) Drain() { e.drain() }

// JudgeHosted implements [hosted.Engine].
func (e *Engine) JudgeHosted(client string, who approvals.Principal, tool string) policy.Verdict {
	v := e.Judge(client).JudgeHosted(who, tool)
	e.metrics.hosted.WithLabelValues(string(v.Said())).Inc()
	return v
}
