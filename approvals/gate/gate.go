// Package gate asks people, waits and wakes: a [Gate] records requests of agents,
// decides each of them once, and wakes the [Hold] that waits. Read gate.go, open.go,
// decide.go and transition.go in this order.
package gate

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/grants"
	"github.com/heldcall/heldcall/approvals/toolschema"
)

const (
	// repairDelay is how long another replica is given to record the event of a
	// transition before this one does.
	repairDelay = 5 * time.Second
	// retryDelay is the pause before work that the store refused is tried again.
	retryDelay = time.Second
	// giveUpAfter is how long past its deadline a hold waits for a store that
	// cannot be reached before it ends without an answer.
	giveUpAfter = 30 * time.Second
	// watches is how many [Gate.Run] holds.
	watches = 3
)

// Options is what a [Gate] is made of.
type Options struct {
	Store      approvals.Store
	Now        func() time.Time      // nil: time.Now
	Log        *slog.Logger          // nil: discards
	Registerer prometheus.Registerer // nil: metrics are not exported
	// CheckEdit judges edited arguments by policy. An edit that a rule denies is an
	// [*InvalidError]; of one that rules ask about it returns what they want. Nil: no
	// rule is about edits.
	CheckEdit func(r approvals.Request, args json.RawMessage) ([]approvals.Demand, error)
	// Grants are where decisions are remembered. Nil: none is.
	Grants *grants.Grants
	// NoSelfApproval keeps reviewers from approving what an agent asks that acts
	// for themselves. They may deny it.
	NoSelfApproval bool
	// Standing is what the reviewer of a name has of their own, for those who
	// decide in their place. Nil: nobody can delegate.
	Standing func(reviewer string) (approvals.Standing, bool)
}

// Gate asks people, waits and wakes: it records requests, decides each of them
// once, keeps their deadlines, steers runs, and writes the audit log. Any number
// of gates may share one store. It is safe for concurrent use.
type Gate struct {
	store     approvals.Store
	now       func() time.Time
	log       *slog.Logger
	checkEdit func(approvals.Request, json.RawMessage) ([]approvals.Demand, error)
	grants    *grants.Grants
	// noSelfApproval: see Options.
	noSelfApproval bool
	standing       func(string) (approvals.Standing, bool)
	metrics        *gateMetrics
	ids            approvals.IDSource
	due            agenda
	schemas        toolschema.Cache
	started        time.Time
	ready          chan struct{}

	mu          sync.Mutex
	pending     map[string]*waiter   // requests that may still be decided
	moving      map[string]*movement // requests that this gate is writing just now
	recent      []finished           // final requests of the first load, until it is reconciled
	loaded      int                  // watches whose first load is complete
	runs        map[string]approvals.Run
	delegations map[string]approvals.Delegation
	steered     map[string]chan struct{} // closed when the run's state changes
}

// waiter is a pending request and the hold that waits for it, if it is ours.
type waiter struct {
	createdAt time.Time
	expiresAt time.Time
	deadline  *job
	escalate  []*job // more groups may decide, or fill a demand, at these times
	hold      *Hold
	index     int  // of the request in hold
	recording bool // it is being recorded: that the store has it not means nothing yet
}

// New makes a gate. It decides at once, but deadlines, and decisions taken
// by other replicas, need [Gate.Run].
func New(o Options) *Gate {
	g := &Gate{
		store:          o.Store,
		now:            o.Now,
		log:            o.Log,
		checkEdit:      o.CheckEdit,
		grants:         o.Grants,
		noSelfApproval: o.NoSelfApproval,
		standing:       o.Standing,
		ready:          make(chan struct{}),
		due:            newAgenda(),
		pending:        map[string]*waiter{},
		moving:         map[string]*movement{},
		recent:         []finished{},
		runs:           map[string]approvals.Run{},
		delegations:    map[string]approvals.Delegation{},
		steered:        map[string]chan struct{}{},
	}
	if g.now == nil {
		g.now = time.Now
	}
	if g.log == nil {
		g.log = slog.New(slog.DiscardHandler)
	}
	g.started = g.now()
	g.metrics = newGateMetrics(o.Registerer, g)
	return g
}

// Run watches the store and keeps deadlines until the context ends. Call it
// once; it owns every goroutine of the gate.
func (g *Gate) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return g.store.WatchRequests(ctx, g.requestChanged, g.watchLoaded)
	})
	group.Go(func() error {
		return g.store.WatchRuns(ctx, g.runChanged, g.watchLoaded)
	})
	group.Go(func() error {
		return g.store.WatchDelegations(ctx, g.delegationChanged, g.watchLoaded)
	})
	group.Go(func() error { return g.keepAgenda(ctx) })
	if err := group.Wait(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("watch the store: %w", err)
	}
	return nil
}

// Ready is closed when everything recorded has been read and what a crash had
// left undone is scheduled.
func (g *Gate) Ready() <-chan struct{} { return g.ready }

// watchLoaded counts the first loads; the last one makes the gate ready.
func (g *Gate) watchLoaded() {
	g.mu.Lock()
	g.loaded++
	done := g.loaded == watches
	g.mu.Unlock()
	if done {
		g.reconcile()
		close(g.ready)
	}
}

// Request is the request as it stands. It fails with [ErrUnknownRequest] or
// [ErrStoreUnavailable].
func (g *Gate) Request(ctx context.Context, id string) (approvals.Request, error) {
	s, err := g.store.GetRequest(ctx, id)
	return s.Request, err
}

// Requests lists requests, newest first. It fails with [*InvalidError] or
// [ErrStoreUnavailable].
func (g *Gate) Requests(ctx context.Context, f approvals.Filter) (approvals.Page, error) {
	if len(f.Text) > approvals.MaxSearch {
		return approvals.Page{}, &approvals.InvalidError{Field: "q", Reason: fmt.Sprintf("has %d bytes, the limit is %d; search for fewer words", len(f.Text), approvals.MaxSearch)}
	}
	return g.store.ListRequests(ctx, f)
}

// Record appends to the audit log and returns when the events are durable. It
// fills in id and time where they are empty. Calls at the same time share
// their writes.
func (g *Gate) Record(ctx context.Context, events ...approvals.Event) error {
	now := g.now().UTC()
	for i := range events {
		if events[i].Time.IsZero() {
			events[i].Time = now
		}
		if events[i].ID == "" {
			events[i].ID = g.ids.Next(events[i].Time)
		}
	}
	return g.store.AppendEvents(ctx, events...)
}

// Subscribe yields the audit log from a sequence on (0: from the next event),
// and waits for more until the context ends.
func (g *Gate) Subscribe(ctx context.Context, from uint64) iter.Seq2[approvals.Event, error] {
	return g.store.Events(ctx, from)
}

// LastSeq is the sequence number of the latest event recorded, 0 for none.
func (g *Gate) LastSeq(ctx context.Context) (uint64, error) { return g.store.LastSeq(ctx) }
