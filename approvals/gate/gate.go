// Package gate asks people, waits and wakes: a [Gate] records requests of agents,
// decides each of them once, and wakes the [Hold] that waits. Read gate.go, which puts
// the others together, then open.go, decide.go and transition.go.
package gate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/grants"
)

// Options is what a [Gate] is made of.
type Options struct {
	Store      approvals.Store
	Now        func() time.Time      // nil: time.Now
	Log        *slog.Logger          // nil: discards
	Registerer prometheus.Registerer // nil: metrics are not exported
	// CheckEdit judges edited arguments by policy. An edit that a rule denies is an
	// [*approvals.InvalidError]; of an edit that rules ask about it returns their
	// demands. Nil: no rule is about edits.
	CheckEdit func(r approvals.Request, args json.RawMessage) ([]approvals.Demand, error)
	// Grants keep the decisions that are to be remembered. Nil: none is.
	Grants *grants.Grants
	// NoSelfApproval keeps reviewers from approving requests of agents that act for
	// themselves. They may deny them.
	NoSelfApproval bool
	// Profile returns the groups and the user of a reviewer, for those who decide in
	// their place. Nil: no reviewer can delegate.
	Profile func(reviewer string) (approvals.ReviewerProfile, bool)
}

// Gate asks people, waits and wakes: it records requests, decides each of them
// once, keeps their deadlines, pauses and aborts runs, and writes the audit log. Any
// number of gates may share one store. It is safe for concurrent use.
type Gate struct {
	store       approvals.Store
	log         *slog.Logger
	now         func() time.Time
	timers      *scheduler
	pending     *pending
	transitions *transitions
	runs        *runs
	delegations *delegations
	opener      *opener
	decider     *decider
	recorder    *recorder
	metrics     *metrics
	ready       chan struct{}
}

// New makes a gate. It decides at once, but deadlines, and decisions taken
// by other replicas, need [Gate.Run].
func New(o Options) *Gate {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Profile == nil {
		o.Profile = func(string) (approvals.ReviewerProfile, bool) { return approvals.ReviewerProfile{}, false }
	}
	g := &Gate{store: o.Store, log: cmp.Or(o.Log, slog.New(slog.DiscardHandler)), now: o.Now, ready: make(chan struct{})}
	ids := &approvals.IDSource{}
	g.timers = newScheduler(o.Now)
	g.pending = newPending(g.timers)
	g.metrics = newMetrics(o.Registerer, func() (int, time.Duration) { return g.pending.count(o.Now()) })
	g.recorder = &recorder{store: o.Store, now: o.Now, ids: ids}
	g.transitions = &transitions{
		store: o.Store, now: o.Now, log: g.log, grants: o.Grants, timers: g.timers, pending: g.pending, metrics: g.metrics,
		started: o.Now(), writing: map[string]*transition{}, recent: []finished{},
	}
	g.runs = &runs{
		store: o.Store.Runs(), requests: o.Store, recorder: g.recorder, transitions: g.transitions, timers: g.timers, now: o.Now,
		byID: map[string]approvals.Run{}, changes: map[string]chan struct{}{},
	}
	g.delegations = &delegations{
		store: o.Store.Delegations(), recorder: g.recorder, now: o.Now, ids: ids, profile: o.Profile, byID: map[string]approvals.Delegation{},
	}
	g.opener = &opener{store: o.Store, transitions: g.transitions, runs: g.runs, now: o.Now, ids: ids}
	g.decider = &decider{
		transitions: g.transitions, delegations: g.delegations, grants: o.Grants, checkEdit: o.CheckEdit,
		noSelfApproval: o.NoSelfApproval, now: o.Now, ids: ids,
	}
	return g
}

// Run watches the store and keeps deadlines until the context ends. Call it
// once; it owns every goroutine of the gate.
func (g *Gate) Run(ctx context.Context) error {
	const watches = 3
	var loads atomic.Int32
	loaded := func() {
		if loads.Add(1) == watches {
			g.transitions.reconcile()
			close(g.ready)
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return g.store.WatchRequests(ctx, g.transitions.changed, loaded) })
	group.Go(func() error { return g.store.Runs().Watch(ctx, g.runs.apply, loaded) })
	group.Go(func() error { return g.store.Delegations().Watch(ctx, g.delegations.apply, loaded) })
	group.Go(func() error { return g.timers.run(ctx, g.fire) })
	if err := group.Wait(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("watch the store: %w", err)
	}
	return nil
}

// Ready is closed when everything recorded has been read and what a crash had
// left undone is scheduled.
func (g *Gate) Ready() <-chan struct{} { return g.ready }

// fire does what a timer is for, and again later if the store refuses.
func (g *Gate) fire(ctx context.Context, t *timer) {
	var err error
	switch t.kind {
	case timerExpire:
		_, err = g.transitions.expire(ctx, t.id)
	case timerRepair:
		err = g.repair(ctx, t.id)
	case timerCancel:
		err = g.transitions.cancel(ctx, t.id, t.reason)
	case timerAbortRun:
		err = g.runs.cancelRequests(ctx, t.id)
	case timerEscalate:
		err = g.transitions.escalate(ctx, t.id, t.at)
	}
	switch {
	case err == nil || errors.As(err, new(*approvals.DecidedError)) || ctx.Err() != nil:
	case errors.Is(err, approvals.ErrUnknownRequest) && g.pending.isRecording(t.id):
		g.timers.retry(*t)
	case errors.Is(err, approvals.ErrUnknownRequest):
		g.pending.fail(t.id, fmt.Errorf("it is no longer recorded: %w", approvals.ErrStoreUnavailable))
		g.pending.remove(t.id)
	default:
		g.pending.failOverdue(t.id, g.now(), err)
		g.log.Warn("the store refused; trying again", "id", t.id, "error", err)
		g.timers.retry(*t)
	}
}

// repair completes what should have followed the record of a request, the signal to its
// run included.
func (g *Gate) repair(ctx context.Context, id string) error {
	r, err := g.transitions.repair(ctx, id)
	if err != nil {
		return err
	}
	if d, ok := r.FinalDecision(); ok && d.Action == approvals.ActionAbortRun {
		_, err = g.Signal(ctx, approvals.Signal{RunID: r.RunID, Action: approvals.SignalAbort, ReviewerID: d.ReviewerID})
	}
	return err
}

// Open asks people the requests of one turn. It gives each its id, creation
// time and status pending, records them all, then their approval_required
// events, then publishes them; only then it returns. A request without
// expires_at expires 300 s from now.
//
// If anything cannot be recorded the error wraps [approvals.ErrStoreUnavailable] or
// [approvals.ErrTooLarge], and what was recorded already is cancelled. Requests of an
// aborted run are refused with [approvals.ErrRunAborted].
func (g *Gate) Open(ctx context.Context, requests []approvals.Request) (*Hold, error) {
	return g.opener.open(ctx, requests)
}

// Decide takes a reviewer's decision. The fields of the reviewer and Channel must
// have been set by the channel that authenticated the reviewer. It returns the
// request as it is then: still pending where more approvals are required.
//
// It fails with [*approvals.DecidedError] when the request had ended before, its
// deadline included; [*approvals.ForbiddenError] when this reviewer may not;
// [approvals.ErrUnknownRequest]; [*approvals.InvalidError]; [approvals.ErrTooLarge] for
// an edit or note that does not fit a record; or [approvals.ErrStoreUnavailable], when
// nothing is known of the outcome.
func (g *Gate) Decide(ctx context.Context, d approvals.Decision) (approvals.Request, error) {
	r, err := g.decider.decide(ctx, d)
	if err != nil {
		return r, err
	}
	g.metrics.decided(&r, &d)
	if d.Action != approvals.ActionAbortRun {
		return r, nil
	}
	_, err = g.Signal(ctx, approvals.Signal{RunID: r.RunID, Action: approvals.SignalAbort, ReviewerID: d.ReviewerID})
	if err != nil { // the record has the decision to abort the run
		g.timers.retry(timer{kind: timerRepair, id: r.ID})
	}
	return r, err
}

// CanApprove reports whether [Gate.Decide] would take an approval of a pending request
// from the reviewer whom d names.
func (g *Gate) CanApprove(r *approvals.Request, d approvals.Decision) bool {
	d.Action = approvals.ActionApprove
	return !r.Status.Final() && g.decider.authorize(r, &d) == nil
}

// Request returns a request. It fails with [approvals.ErrUnknownRequest] or
// [approvals.ErrStoreUnavailable].
func (g *Gate) Request(ctx context.Context, id string) (approvals.Request, error) {
	s, err := g.store.GetRequest(ctx, id)
	return s.Request, err
}

// Requests lists requests, newest first. It fails with [*approvals.InvalidError] or
// [approvals.ErrStoreUnavailable].
func (g *Gate) Requests(ctx context.Context, f approvals.Filter) (approvals.Page, error) {
	if err := f.Check(); err != nil {
		return approvals.Page{}, err
	}
	return g.store.ListRequests(ctx, f)
}

// Record appends to the audit log and returns when the events are durable. It
// fills in id and time where they are empty. Calls at the same time share
// their writes.
func (g *Gate) Record(ctx context.Context, events ...approvals.Event) error {
	return g.recorder.record(ctx, events...)
}

// Subscribe yields the audit log from a sequence on (0: from the next event),
// and waits for more until the context ends.
func (g *Gate) Subscribe(ctx context.Context, from uint64) iter.Seq2[approvals.Event, error] {
	return g.store.Events(ctx, from)
}

// LastSeq returns the sequence number of the latest event recorded, 0 for none.
func (g *Gate) LastSeq(ctx context.Context) (uint64, error) { return g.store.LastSeq(ctx) }

// Signal pauses, resumes or aborts a run, and returns its new state. The run need not
// be known: a run can be stopped before its first request. A signal that changes
// nothing succeeds. An abort is final: it also cancels the run's pending requests, and
// a later pause or resume is an [*approvals.InvalidError].
func (g *Gate) Signal(ctx context.Context, s approvals.Signal) (approvals.Steered, error) {
	return g.runs.signal(ctx, s)
}

// RunState returns the state of a run, from memory. A run without a signal is running.
func (g *Gate) RunState(id string) approvals.RunState { return g.runs.state(id) }

// LookUp returns a run after its last signal, from memory; ok is false for one that had
// none.
func (g *Gate) LookUp(id string) (run approvals.Run, ok bool) { return g.runs.find(id) }

// Steered reports from memory whether there was a signal to any run.
func (g *Gate) Steered() bool { return g.runs.any() }

// Runs returns the runs that had a signal, the latest first.
func (g *Gate) Runs() []approvals.Run { return g.runs.list() }

// RunByID returns a run that had a signal, or [approvals.ErrUnknownRun].
func (g *Gate) RunByID(id string) (approvals.Run, error) {
	if run, ok := g.runs.find(id); ok {
		return run, nil
	}
	return approvals.Run{}, fmt.Errorf("run %q: %w", id, approvals.ErrUnknownRun)
}

// AwaitResume returns nil as soon as the run is not paused, [approvals.ErrRunAborted] if
// it is or gets aborted, and the context's error when that ends first.
func (g *Gate) AwaitResume(ctx context.Context, id string) error { return g.runs.awaitResume(ctx, id) }

// Delegate records that d.To may decide in the place of d.From until d.Until, and
// returns the delegation with its id. CreatedBy must have been set by the channel
// that authenticated the reviewer. It fails with [*approvals.InvalidError] for one that
// could never be in force, [*approvals.ForbiddenError] where somebody would take
// another's place themselves, or [approvals.ErrStoreUnavailable].
func (g *Gate) Delegate(ctx context.Context, d approvals.Delegation) (approvals.Delegation, error) {
	return g.delegations.add(ctx, d)
}

// RevokeDelegation ends a delegation before its time. One that has ended stays
// as it is. It fails with [approvals.ErrUnknownDelegation] or [approvals.ErrStoreUnavailable].
func (g *Gate) RevokeDelegation(ctx context.Context, id, by string) (approvals.Delegation, error) {
	return g.delegations.revoke(ctx, id, by)
}

// Delegation returns a delegation, in force or not, or [approvals.ErrUnknownDelegation].
func (g *Gate) Delegation(ctx context.Context, id string) (approvals.Delegation, error) {
	d, _, err := g.delegations.store.Get(ctx, id)
	return d, err
}

// Delegations returns those in force, the latest first.
func (g *Gate) Delegations() []approvals.Delegation { return g.delegations.list() }
