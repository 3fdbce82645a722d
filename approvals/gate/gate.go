// Package gate asks people and waits for their decisions: a [Gate] records requests of
// agents, applies one decision to each, and ends the [Hold] that waits for it. Read
// gate.go, which creates the other parts, then open.go, decide.go and transition.go.
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
	"golang.org/x/sync/semaphore"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/grants"
	"github.com/heldcall/heldcall/approvals/questions"
	"github.com/heldcall/heldcall/approvals/runs"
)

// Options configures a [Gate].
type Options struct {
	Store      approvals.Store
	Now        func() time.Time      // nil: time.Now
	Log        *slog.Logger          // nil: discards
	Registerer prometheus.Registerer // nil: metrics are not exported
	// HideTools leaves the names of tools out of metrics: some of those who read them see some tenants only.
	HideTools bool
	// CheckEdit judges edited arguments by policy. It returns the demands of the rules
	// that ask about the edited call, and an [*approvals.InvalidError] if a rule denies
	// it. Nil: edits are not judged.
	CheckEdit func(r approvals.Request, args json.RawMessage) ([]approvals.Demand, error)
	// Grants keeps remembered decisions. Nil: decisions cannot be remembered.
	Grants *grants.Grants
	// GrantsKept has the grants that come into force, after AllowedBy knows them. It is not closed. Nil: grants decide no
	// requests that wait.
	GrantsKept <-chan approvals.Grant
	// AllowedBy reports whether the call of a request that waits would be allowed by a grant, if it came now.
	AllowedBy func(ctx context.Context, r approvals.Request, grant string) bool
	// PolicyChanged has a value when a policy has changed. It is not closed. Nil: policies decide no requests that wait.
	PolicyChanged <-chan struct{}
	// ByPolicy returns the decision of the policies in force on a request that waits; ok is false if they ask people.
	ByPolicy func(ctx context.Context, r approvals.Request) (d approvals.Decision, ok bool)
	// Idle is the silence of an agent after which its run ends. 0: [runs.DefaultIdle].
	Idle time.Duration
	// NoSelfApproval refuses approvals by the user for whom the agent acts. They may deny
	// such requests.
	NoSelfApproval bool
	// Conceal replaces secrets by their handles in a valid decision before it is recorded, and
	// settles their values after. Nil: questions for secrets cannot be answered.
	Conceal func(context.Context, *approvals.Request, *approvals.Decision) (settle func(ctx context.Context, decided bool), err error)
	// MaskWritten replaces secrets by their handles in what a person has written, before it is stored: in notes of
	// delegations and payloads of signals. Each field is a pointer to a value of JSON. Nil: there are none.
	MaskWritten func(ctx context.Context, fields ...any) error
	// Prove returns the id of the passkey that has confirmed a decision, "" if it needs none. It
	// fails with an [*approvals.InvalidError] for an approval that is not confirmed. Nil:
	// approvals that need a passkey are refused.
	Prove func(context.Context, *approvals.Request, *approvals.Decision) (passkey string, err error)
	// Results records the results of released calls. Whether an approved call was released is recorded always.
	Results bool
	// Profile returns the groups and the user of a reviewer, for decisions in their place.
	// Nil: no reviewer can delegate.
	Profile func(reviewer string) (approvals.ReviewerProfile, bool)
	// Turns knows the held turns. Nil: none is stored.
	Turns HeldTurns
}

// Gate records requests, applies one decision to each of them, ends them at their
// deadlines, pauses and aborts runs, and writes the audit log. Any number of gates may
// share one store. It is safe for concurrent use.
type Gate struct {
	// Results records what becomes of approved calls: without [Options.Results] only whether they are released.
	Results *Results

	store       approvals.Store
	log         *slog.Logger
	now         func() time.Time
	transitions *transitions
	runs        *runs.Runs
	delegations *delegations
	opener      *opener
	decider     *decider
	turns       heldTurns
	recorder    *recorder
	metrics     *metrics
	grants      *grants.Grants // nil: decisions are not remembered
	grantsKept  <-chan approvals.Grant
	allowedBy   func(ctx context.Context, r approvals.Request, grant string) bool
	policies    <-chan struct{}
	byPolicy    func(ctx context.Context, r approvals.Request) (approvals.Decision, bool)
	ready       chan struct{}
}

// New returns a gate. It can decide at once; deadlines and the decisions of other replicas
// need [Gate.Run].
func New(o Options) *Gate {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Profile == nil {
		o.Profile = func(string) (approvals.ReviewerProfile, bool) { return approvals.ReviewerProfile{}, false }
	}
	if o.MaskWritten == nil {
		o.MaskWritten = func(context.Context, ...any) error { return nil }
	}
	g := &Gate{store: o.Store, log: cmp.Or(o.Log, slog.New(slog.DiscardHandler)), now: o.Now, turns: heldTurns{o.Turns}, grants: o.Grants, grantsKept: o.GrantsKept, allowedBy: o.AllowedBy, policies: o.PolicyChanged, byPolicy: o.ByPolicy, ready: make(chan struct{})}
	ids := &approvals.IDSource{}
	timers := newScheduler(o.Now)
	pending := newPending(timers)
	g.metrics = newMetrics(o.Registerer, func() waiting { return pending.count(o.Now()) })
	g.metrics.tools.hidden, g.metrics.reviewers.hidden = o.HideTools, o.HideTools
	g.recorder = &recorder{store: o.Store, now: o.Now, ids: ids, timers: timers}
	g.transitions = &transitions{
		store: o.Store, closing: newCloser(o.Store.CloseRequest, o.Now), now: o.Now, log: g.log, grants: o.Grants, timers: timers, pending: pending, metrics: g.metrics, turns: g.turns,
		started: o.Now(), writing: map[string]*transition{}, recent: []finished{},
	}
	g.runs = runs.New(runs.Options{
		Store: o.Store.Runs(), Signals: o.Store.Signals(), Requests: o.Store, Record: g.recorder.recordChange, Ensure: o.Store.EnsureEvent,
		Cancel: g.transitions.cancel, Idle: cmp.Or(o.Idle, runs.DefaultIdle), Now: o.Now, Log: g.log, MaskWritten: o.MaskWritten,
		Schedule: func(at time.Time, run string, work func(context.Context) error) {
			timers.add(&timer{kind: timerWork, id: run, at: at, work: work})
		},
	})
	g.delegations = &delegations{
		store: o.Store.Delegations(), recorder: g.recorder, now: o.Now, ids: ids, profile: o.Profile, maskWritten: o.MaskWritten, byID: map[string]approvals.Delegation{},
	}
	g.transitions.closing.unless(func(r endedRequest) bool {
		return timers.working(r.ID) || g.transitions.isWriting(r.ID) || g.Results.isWriting(r.ID) || g.turns.stored(r.Turn) || g.runs.IsLatest(r.Run, r.ID)
	})
	g.opener = &opener{store: o.Store, transitions: g.transitions, runs: g.runs, now: o.Now, ids: ids, turns: g.turns, results: o.Results}
	if o.Conceal == nil {
		o.Conceal = questions.RefuseSecrets
	}
	if o.Prove == nil {
		o.Prove = refusePasskeys
	}
	g.decider = &decider{
		transitions: g.transitions, delegations: g.delegations, grants: o.Grants, checkEdit: o.CheckEdit,
		noSelfApproval: o.NoSelfApproval, conceal: o.Conceal, prove: o.Prove, answering: semaphore.NewWeighted(1), now: o.Now, ids: ids,
	}
	g.Results = newResults(o.Store, g.log, o.Now, o.Results, func(request string) { timers.retry(timer{kind: timerRepair, id: request}) })
	return g
}

// Run watches the store and fires timers until the context ends. Call it once. It owns
// every goroutine of the gate.
func (g *Gate) Run(ctx context.Context) error {
	const watches = 4
	var loads atomic.Int32
	loaded := func() {
		if loads.Add(1) == watches {
			g.transitions.reconcile()
			g.runs.Reconcile()
			close(g.ready)
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	requestChanged := func(s approvals.Stored) {
		g.Results.changed(&s.Request)
		g.transitions.changed(s)
		g.transitions.closing.changed(&s, g.Results.awaits(&s.Request))
		g.runs.RequestChanged(&s.Request)
	}
	group.Go(func() error { return g.store.WatchRequests(ctx, requestChanged, loaded) })
	group.Go(func() error { return g.store.Runs().Watch(ctx, g.runs.Changed, loaded) })
	group.Go(func() error { return g.store.Signals().Watch(ctx, g.runs.SignalChanged, loaded) })
	group.Go(func() error { return g.store.Delegations().Watch(ctx, g.delegations.apply, loaded) })
	group.Go(func() error { return g.transitions.timers.run(ctx, g.ready, g.fire) })
	group.Go(func() error { return g.Results.run(ctx) })
	group.Go(func() error { return g.settleEnded(ctx) })
	group.Go(func() error { return g.decideByGrants(ctx, g.grantsKept) })
	group.Go(func() error { return g.decideByPolicies(ctx, g.policies) })
	group.Go(func() error { g.transitions.closing.run(ctx, g.ready); return nil })
	if err := group.Wait(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("watch the store: %w", err)
	}
	if loads.Load() == watches {
		g.runs.Flush(context.WithoutCancel(ctx))
		g.transitions.closing.closeAll()
	}
	return nil
}

// Ready is closed when all records have been read and the repairs after a crash are
// scheduled.
func (g *Gate) Ready() <-chan struct{} { return g.ready }

// do does the work of a timer.
func (g *Gate) do(ctx context.Context, t *timer) (err error) {
	switch t.kind {
	case timerExpire:
		_, err = g.transitions.expire(ctx, t.id)
	case timerRepair:
		err = g.repair(ctx, t.id)
	case timerCancel:
		err = g.transitions.cancel(ctx, t.id, t.reason)
		if t.reason == approvals.CancelNotRecorded && errors.As(err, new(*approvals.DecidedError)) {
			err = g.repair(ctx, t.id) // its first event may be missing
		}
	case timerWork:
		err = t.work(ctx)
	case timerEscalate:
		err = g.transitions.escalate(ctx, t.id, t.at)
	}
	return err
}

// fire does the work of a timer. It schedules it again if the store fails.
func (g *Gate) fire(ctx context.Context, t *timer) {
	recording := g.transitions.pending.isRecording(t.id) // before the store is asked: it may be recorded meanwhile
	err := g.do(ctx, t)
	if err == nil || ctx.Err() == nil {
		defer g.transitions.timers.done(t)
	}
	switch {
	case err == nil || errors.As(err, new(*approvals.DecidedError)) || ctx.Err() != nil:
	case errors.Is(err, approvals.ErrUnknownRequest) && recording:
		g.transitions.timers.retry(*t)
	case errors.Is(err, approvals.ErrUnknownRequest):
		g.transitions.pending.fail(t.id, fmt.Errorf("the request is no longer recorded: %w", approvals.ErrStoreUnavailable))
		g.transitions.pending.remove(t.id)
	default:
		g.transitions.pending.failOverdue(t.id, g.now(), err)
		g.log.Warn("the store failed; trying again", "id", t.id, "error", err)
		g.transitions.timers.retry(*t)
	}
}

// repair does the work that should have followed the record of a request, including the
// signal to its run.
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

// Prepare sets the id, the creation time, the status and the defaults of new requests, so
// that they can be stored with their turn before [Gate.Open]. It leaves requests that have an
// id as they are. A request without expires_at expires after 300 s.
func (g *Gate) Prepare(requests []approvals.Request) { g.opener.prepare(requests) }

// Open waits for the requests of one turn. It prepares those without an id, records all
// that are not recorded yet, then their approval_required events, and then publishes them.
// So a turn that is restored opens its requests again: no one is asked twice, and decisions
// of the meantime count. Each hold of a request ends, also where several wait for it.
//
// If anything cannot be recorded, the error wraps [approvals.ErrStoreUnavailable] or [approvals.ErrTooLarge], and the
// requests that this call has recorded are cancelled. Requests of an aborted run fail with [approvals.ErrRunAborted].
func (g *Gate) Open(ctx context.Context, requests []approvals.Request) (*Hold, error) {
	return g.opener.open(ctx, requests)
}

// Cancel cancels a pending request, with a details.cancel_reason. It fails with
// [*approvals.DecidedError], [approvals.ErrUnknownRequest] or
// [approvals.ErrStoreUnavailable].
func (g *Gate) Cancel(ctx context.Context, id, reason string) error {
	return g.transitions.cancel(ctx, id, reason)
}

// Decide applies the decision of a reviewer. The channel that authenticated the reviewer must have set Channel and
// the fields of the reviewer. Decide returns the request after the decision: it is still pending if more approvals
// are required.
//
// It fails with [*approvals.DecidedError] if the request has ended, also by its deadline; [*approvals.ForbiddenError]
// if this reviewer may not decide; [approvals.ErrUnknownRequest]; [*approvals.InvalidError]; [approvals.ErrTooLarge]
// for an edit or note that does not fit into a record; or [approvals.ErrStoreUnavailable] if the outcome is unknown.
func (g *Gate) Decide(ctx context.Context, d approvals.Decision) (approvals.Request, error) {
	if err := g.checkTenant(ctx, &d); err != nil {
		return approvals.Request{}, err
	}
	defer g.transitions.closing.begin(approvals.Request{ID: d.RequestID})() // until what follows is recorded too
	r, err := g.decider.decide(ctx, d)
	g.describe(&r)
	if decided := (*approvals.DecidedError)(nil); errors.As(err, &decided) {
		g.describe(&decided.Request)
	}
	if err != nil {
		return r, err
	}
	g.metrics.decided(&r, &d)
	if d.Action != approvals.ActionAbortRun {
		return r, nil
	}
	_, err = g.Signal(ctx, approvals.Signal{RunID: r.RunID, Action: approvals.SignalAbort, ReviewerID: d.ReviewerID})
	if err != nil { // the decision to abort the run is recorded
		g.transitions.timers.retry(timer{kind: timerRepair, id: r.ID})
		if errors.Is(err, approvals.ErrNotRecorded) {
			err = fmt.Errorf("abort the run: %w: %s", approvals.ErrStoreUnavailable, err.Error())
		}
	}
	return r, err
}

// checkTenant returns [approvals.ErrUnknownRequest] if the request is of a tenant that the reviewer does not see: the
// answer to a late decision has the request.
func (g *Gate) checkTenant(ctx context.Context, d *approvals.Decision) error {
	if !d.Tenants.Limited() {
		return nil
	}
	s, err := g.store.GetRequest(ctx, d.RequestID)
	if err == nil && !d.Tenants.Has(s.Request.Principal.Tenant) {
		err = approvals.ErrUnknownRequest
	}
	return err
}

// CanApprove reports whether the reviewer of d may approve a pending request.
func (g *Gate) CanApprove(r *approvals.Request, d approvals.Decision) bool {
	d.Action = approvals.ActionApprove
	return !r.Status.Final() && g.decider.authorize(r, &d) == nil
}

// Request returns a request. It fails with [approvals.ErrUnknownRequest] or
// [approvals.ErrStoreUnavailable].
func (g *Gate) Request(ctx context.Context, id string) (approvals.Request, error) {
	s, err := g.store.GetRequest(ctx, id)
	g.describe(&s.Request)
	return s.Request, err
}

// Requests lists requests, newest first. It fails with [*approvals.InvalidError] or
// [approvals.ErrStoreUnavailable].
func (g *Gate) Requests(ctx context.Context, f approvals.Filter) (approvals.Page, error) {
	if err := f.Check(); err != nil {
		return approvals.Page{}, err
	}
	page, err := g.store.ListRequests(ctx, f)
	for i := range page.Items {
		g.describe(&page.Items[i])
	}
	return page, err
}

// Record appends to the audit log and returns when the events are durable. It sets empty
// ids and times. An event with both may be in the log: then it is not appended again.
// Concurrent calls share writes.
func (g *Gate) Record(ctx context.Context, events ...approvals.Event) error {
	return g.recorder.record(ctx, events...)
}

// Subscribe yields the audit log from a sequence on (0: from the next event) and waits for
// new events until the context ends.
func (g *Gate) Subscribe(ctx context.Context, from uint64) iter.Seq2[approvals.Event, error] {
	return g.store.Events(ctx, from)
}

// LastSeq returns the sequence number of the latest event recorded, 0 for none.
func (g *Gate) LastSeq(ctx context.Context) (uint64, error) { return g.store.LastSeq(ctx) }

// Signal is [runs.Runs.Signal].
func (g *Gate) Signal(ctx context.Context, s approvals.Signal) (approvals.Steered, error) {
	steered, err := g.runs.Signal(ctx, s)
	if err == nil && s.Action == approvals.SignalAbort && s.RunID != "" {
		g.stopped(s.RunID)
	}
	return steered, err
}

// Signals returns the signals by principal.
func (g *Gate) Signals() *runs.Signals { return g.runs.Signals() }

// RunState is [runs.Runs.State].
func (g *Gate) RunState(id string, who approvals.Principal) (approvals.RunState, time.Time) {
	return g.runs.State(id, who)
}

// Steered is [runs.Runs.Steered].
func (g *Gate) Steered() bool { return g.runs.Steered() }

// EnterRun is [runs.Runs.Enter].
func (g *Gate) EnterRun(calls bool, entry func() runs.Entry) (leave func(approvals.Outcome)) {
	return g.runs.Enter(calls, entry)
}

// Runs is [runs.Runs.List].
func (g *Gate) Runs() []approvals.Run { return g.runs.List() }

// RunByID is [runs.Runs.ByID].
func (g *Gate) RunByID(ctx context.Context, id string) (approvals.Run, error) {
	return g.runs.ByID(ctx, id)
}

// AwaitResume is [runs.Runs.AwaitResume].
func (g *Gate) AwaitResume(ctx context.Context, id string, who approvals.Principal) error {
	return g.runs.AwaitResume(ctx, id, who)
}
