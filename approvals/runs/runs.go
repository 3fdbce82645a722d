// Package runs follows the runs of agents: which are active, and which people have paused or
// aborted, by run or by principal. Read runs.go, then states.go, signals.go
// and activity.go.
package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// Runs knows the runs of agents and their states. It is safe for concurrent use.
type Runs struct {
	states   *states
	activity *activity
	signals  *Signals
}

// New returns the runs. It knows those of the store from [Runs.Changed] and [Runs.SignalChanged].
func New(o Options) *Runs {
	s := &states{options: o, principals: newPrincipals(), byID: map[string]approvals.Run{}}
	return &Runs{s, newActivity(s), &Signals{s}}
}

// Changed applies the record of a run that any process has written.
func (r *Runs) Changed(run approvals.Run) {
	r.states.apply(run)
	r.activity.recorded(run)
}

// SignalChanged applies a signal by principal that any process has written.
func (r *Runs) SignalChanged(s approvals.PrincipalSignal) { r.signals.apply(s) }

// RequestChanged applies a request that any process has written: its run is active.
func (r *Runs) RequestChanged(q *approvals.Request) { r.activity.requested(q) }

// Reconcile schedules what a crash may have left out, after all records were applied.
func (r *Runs) Reconcile() {
	r.states.reconcile()
	r.activity.reconcile()
}

// Flush records the last outcomes of runs before the program stops. It takes a second at most.
func (r *Runs) Flush(ctx context.Context) { r.activity.flush(ctx) }

// Signal pauses, resumes or aborts a run, and returns its new state. The run may be
// unknown: it can be stopped before its first request. A signal that changes nothing
// succeeds. An abort is final and cancels the pending requests of the run; a later pause
// or resume is an [*approvals.InvalidError]. A signal by principal stays in force.
func (r *Runs) Signal(ctx context.Context, s approvals.Signal) (approvals.Steered, error) {
	if err := r.states.options.maskPayload(ctx, &s.Payload); err != nil {
		return approvals.Steered{}, err
	}
	known, err := r.activity.read(ctx, s.RunID)
	if err != nil && !errors.Is(err, approvals.ErrUnknownRun) {
		return approvals.Steered{}, err
	}
	return r.states.signal(ctx, s, known)
}

// maskPayload replaces secrets by their handles in the payload of a signal, if it has one.
func (o *Options) maskPayload(ctx context.Context, payload *json.RawMessage) error {
	if !json.Valid(*payload) { // there is none, or the channel refuses it
		return nil
	}
	return o.MaskWritten(ctx, payload)
}

// Signals returns the signals by principal.
func (r *Runs) Signals() *Signals { return r.signals }

// State returns the state of a run of a principal, from memory, and since when it is
// paused or aborted. With an empty id it is the state by signals to the principal alone. A
// run without a signal is running.
func (r *Runs) State(id string, who approvals.Principal) (approvals.RunState, time.Time) {
	return r.states.state(id, who)
}

// Aborted reports whether the run of a request is aborted.
func (r *Runs) Aborted(q *approvals.Request) bool { return r.states.aborted(q) }

// Steered reports from memory whether a run is paused or aborted.
func (r *Runs) Steered() bool { return r.states.any() }

// AwaitResume returns nil as soon as the run is not paused, [approvals.ErrRunAborted] if
// it is aborted, and the error of the context if that ends before.
func (r *Runs) AwaitResume(ctx context.Context, id string, who approvals.Principal) error {
	return r.states.awaitResume(ctx, id, who)
}

// Enter reports that a turn of a run has begun, or that it has calls. It returns the
// function that reports the end of the turn with the outcome of its last call, "" for none.
// It returns nil if the run is not followed: it has had no call. The caller then enters it
// again when the turn has calls. entry is called at most once.
func (r *Runs) Enter(calls bool, entry func() Entry) (leave func(approvals.Outcome)) {
	return r.activity.enter(calls, entry)
}

// List returns the runs that have not ended and the last 500 that have, the most recently
// active first.
func (r *Runs) List() []approvals.Run { return r.activity.list() }

// ByID returns a run that had a call or a signal, or [approvals.ErrUnknownRun].
func (r *Runs) ByID(ctx context.Context, id string) (approvals.Run, error) {
	run, err := r.activity.read(ctx, id)
	if err != nil {
		return run, fmt.Errorf("run %q: %w", id, err)
	}
	return run, nil
}

// IsLatest reports whether a request is the last one of an active run. After a restart that request
// shows when the run was active.
func (r *Runs) IsLatest(run, request string) bool { return r.activity.isLatest(run, request) }
