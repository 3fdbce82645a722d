package turn

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heldcall/heldcall/intercept"
	"github.com/prometheus/client_golang/prometheus"
)

// Options is what an [Engine] is made of.
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
	// Held is called when a hold begins. It may be nil.
	Held func()
	// KeepAnswers makes turns keep the bytes of the upstream's answers, which a [Snapshot]
	// needs.
	KeepAnswers bool

	Log        *slog.Logger
	Registerer prometheus.Registerer // nil: metrics are not exported
}

// Limits bound a turn.
type Limits struct {
	MaxBody          int           // bytes of the buffered part of an answer
	MaxContinuations int           // how often one answer continues after a denial
	MaxDenials       int           // denied calls of a run since the user wrote, after which no answer continues; 0: any number
	Keepalive        time.Duration // between two heartbeats
	MaxWait          time.Duration // longest hold, 0 for as long as policy allows
	AbortRest        time.Duration // after an abort, for which the same conversation is not taken for a new one
}

// maxOpening is how many holds are recorded at the same time, as many as the store
// writes at once.
const maxOpening = 128

// Engine makes turns and has what they share. It is safe for concurrent use.
type Engine struct {
	Options // not changed while turns run

	log     *slog.Logger
	metrics *metrics
	opening chan struct{} // a place for each hold that is being recorded
	offers  seen          // hosted tools, by run
	runs    seen          // runs whose requests offer no tools

	requests atomic.Int64 // for a new answer
	offering atomic.Int64 // those of them that offer tools

	draining chan struct{} // closed when holds have to end
	drain    sync.Once
}

// NewEngine makes an engine. Gate, Store, Judge and Log must be set.
func NewEngine(o Options) *Engine {
	return &Engine{
		Options: o, log: o.Log, metrics: newMetrics(o.Registerer, o.Dialects),
		opening: make(chan struct{}, maxOpening), draining: make(chan struct{}),
	}
}

// Drain ends every hold with an error for the agent; its requests stay with the
// reviewers. New turns are refused.
func (e *Engine) Drain() { e.drain.Do(func() { close(e.draining) }) }

func (e *Engine) isDraining() bool {
	select {
	case <-e.draining:
		return true
	default:
		return false
	}
}

// ToolOffers returns how many requests have asked for a new answer so far, and how many
// of them offered the model tools.
func (e *Engine) ToolOffers() (requests, offering int) {
	return int(e.requests.Load()), int(e.offering.Load())
}

// seen remembers keys.
type seen struct {
	mu   sync.Mutex
	keys map[string]struct{}
}

// maxSeen bounds the keys that are remembered; after that all are forgotten.
const maxSeen = 10_000

// first reports whether the key is not remembered, and remembers it.
func (s *seen) first(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.keys[key]; known {
		return false
	}
	if s.keys == nil || len(s.keys) >= maxSeen {
		s.keys = make(map[string]struct{})
	}
	s.keys[key] = struct{}{}
	return true
}
