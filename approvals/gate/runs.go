package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// requestLister lists requests, newest first.
type requestLister interface {
	ListRequests(ctx context.Context, f approvals.Filter) (approvals.Page, error)
}

// runs has the runs that people have paused, resumed or aborted, and notifies the turns
// that wait for a run.
type runs struct {
	store       approvals.Records[approvals.Run]
	requests    requestLister
	recorder    *recorder
	transitions *transitions
	timers      *scheduler
	now         func() time.Time

	mu      sync.Mutex
	byID    map[string]approvals.Run
	changes map[string]chan struct{} // closed when the state of the run changes
}

// signal is [Gate.Signal].
func (r *runs) signal(ctx context.Context, s approvals.Signal) (approvals.Steered, error) {
	state, event, err := checkSignal(&s)
	if err != nil {
		return approvals.Steered{}, err
	}
	page, err := r.requests.ListRequests(ctx, approvals.Filter{RunID: s.RunID, Limit: 1})
	if err != nil {
		return approvals.Steered{}, err
	}
	run, err := r.transition(ctx, &s, state, event)
	answer := approvals.Steered{Run: run, Known: len(page.Items) > 0}
	if err != nil {
		return answer, err
	}
	r.apply(run)
	if state == approvals.RunAborted {
		if err := r.cancelRequests(ctx, run.ID); err != nil {
			return answer, fmt.Errorf("cancel the requests of run %s: %w", run.ID, err)
		}
	}
	return answer, nil
}

// checkSignal returns the state of the run after a signal, and the type of its event.
func checkSignal(s *approvals.Signal) (approvals.RunState, approvals.EventType, error) {
	if s.RunID == "" {
		return "", "", approvals.Invalid("run_id", "it is missing")
	}
	if s.ReviewerID == "" {
		return "", "", approvals.Invalid("reviewer_id", "it is missing")
	}
	switch s.Action {
	case approvals.SignalPause:
		return approvals.RunPaused, approvals.EventRunPaused, nil
	case approvals.SignalResume:
		return approvals.RunRunning, approvals.EventRunResumed, nil
	case approvals.SignalAbort:
		return approvals.RunAborted, approvals.EventRunAborted, nil
	}
	return "", "", approvals.Invalid("action", "%q is not known; use pause_run, resume_run or abort_run", s.Action)
}

// transition writes the new state of a run by compare-and-set, then its event.
func (r *runs) transition(ctx context.Context, s *approvals.Signal, state approvals.RunState, event approvals.EventType) (approvals.Run, error) {
	for attempt := 0; ; attempt++ {
		run, revision, err := r.store.Get(ctx, s.RunID)
		if errors.Is(err, approvals.ErrUnknownRun) {
			run, err = r.newRun(ctx, s.RunID)
		}
		if err != nil || run.State == state {
			return run, err
		}
		if run.State == approvals.RunAborted {
			return run, approvals.Invalid("action", "the run was aborted by %s; that is final", run.ReviewerID)
		}
		run.State = state
		run.ReviewerID = s.ReviewerID
		run.UpdatedAt = r.now().UTC()
		err = r.store.Put(ctx, run, revision)
		if errors.Is(err, approvals.ErrConflict) {
			if err := approvals.Pause(ctx, attempt); err != nil {
				return run, approvals.Unavailable("change run "+run.ID, err)
			}
			continue
		}
		if err != nil {
			return run, err
		}
		return run, r.recorder.recordChange(ctx, approvals.Event{
			Type:       event,
			Tenant:     run.Principal.Tenant,
			Principal:  run.Principal,
			SessionID:  run.SessionID,
			RunID:      run.ID,
			ReviewerID: run.ReviewerID,
			Note:       string(s.Payload),
			Time:       run.UpdatedAt,
		})
	}
}

// newRun returns a run without a signal so far, with the principal and the session of its
// newest request, if it has one.
func (r *runs) newRun(ctx context.Context, id string) (approvals.Run, error) {
	run := approvals.Run{ID: id, State: approvals.RunRunning}
	page, err := r.requests.ListRequests(ctx, approvals.Filter{RunID: id, Limit: 1})
	if err != nil {
		return run, err
	}
	if len(page.Items) > 0 {
		run.Principal = page.Items[0].Principal
		run.SessionID = page.Items[0].SessionID
	}
	return run, nil
}

// cancelRequests cancels the pending requests of a run.
func (r *runs) cancelRequests(ctx context.Context, id string) error {
	filter := approvals.Filter{RunID: id, Status: approvals.StatusPending, Limit: 500}
	for {
		page, err := r.requests.ListRequests(ctx, filter)
		if err != nil {
			return err
		}
		for i := range page.Items {
			err := r.transitions.cancel(ctx, page.Items[i].ID, approvals.CancelRunAborted)
			if err != nil && !errors.As(err, new(*approvals.DecidedError)) {
				return err
			}
		}
		if page.NextCursor == "" {
			return nil
		}
		filter.Cursor = page.NextCursor
	}
}

// apply stores the state of a run in memory and notifies the turns that wait for it.
func (r *runs) apply(run approvals.Run) {
	r.mu.Lock()
	before, known := r.byID[run.ID]
	if known && before.UpdatedAt.After(run.UpdatedAt) {
		r.mu.Unlock()
		return
	}
	r.byID[run.ID] = run
	if c := r.changes[run.ID]; c != nil {
		close(c)
		delete(r.changes, run.ID)
	}
	r.mu.Unlock()
	if run.State == approvals.RunAborted && before.State != approvals.RunAborted {
		r.timers.add(&timer{kind: timerAbortRun, id: run.ID, at: r.now()})
	}
}

// find returns a run; ok is false for one that had no signal.
func (r *runs) find(id string) (run approvals.Run, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	run, ok = r.byID[id]
	return run, ok
}

func (r *runs) state(id string) approvals.RunState {
	if run, ok := r.find(id); ok {
		return run.State
	}
	return approvals.RunRunning
}

// any reports whether there was a signal to any run.
func (r *runs) any() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.byID) > 0
}

// list returns the runs that had a signal, the latest first.
func (r *runs) list() []approvals.Run {
	r.mu.Lock()
	all := make([]approvals.Run, 0, len(r.byID))
	for _, run := range r.byID {
		all = append(all, run)
	}
	r.mu.Unlock()
	slices.SortFunc(all, func(a, b approvals.Run) int {
		return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt), cmp.Compare(a.ID, b.ID))
	})
	return all
}

// awaitResume is [Gate.AwaitResume].
func (r *runs) awaitResume(ctx context.Context, id string) error {
	for {
		state, changed := r.watch(id)
		switch state {
		case approvals.RunAborted:
			return fmt.Errorf("run %s: %w", id, approvals.ErrRunAborted)
		case approvals.RunPaused:
		default:
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

// watch returns the state of a run and, if it is paused, a channel that is closed when the
// state changes.
func (r *runs) watch(id string) (approvals.RunState, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	state := r.byID[id].State
	if state != approvals.RunPaused {
		return state, nil
	}
	changed := r.changes[id]
	if changed == nil {
		changed = make(chan struct{})
		r.changes[id] = changed
	}
	return state, changed
}
