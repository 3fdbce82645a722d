package runs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// maxEnded is the number of ended runs that are kept in memory. Older ones are in the store.
const maxEnded = 500

// states has the recorded states of runs, and notifies the turns that wait for a run.
type states struct {
	options    Options
	principals *principals

	mu      sync.Mutex
	byID    map[string]approvals.Run
	stopped int           // of these that are paused or aborted
	ended   []string      // of these that have ended, the oldest first
	changed chan struct{} // closed by wake; nil: nothing waits for it
}

// signal is [Runs.Signal]. Known is what this process knows of the run without a record.
func (r *states) signal(ctx context.Context, s approvals.Signal, known approvals.Run) (approvals.Steered, error) {
	if s.RunID == "" {
		return approvals.Steered{}, approvals.Invalid("run_id", "it is missing")
	}
	state, event, err := checkAction(s.Action, s.ReviewerID)
	if err != nil {
		return approvals.Steered{}, err
	}
	page, err := r.options.Requests.ListRequests(ctx, approvals.Filter{RunID: s.RunID, Limit: 1})
	if err != nil {
		return approvals.Steered{}, err
	}
	fresh := approvals.Run{
		ID: s.RunID, State: approvals.RunRunning, Principal: known.Principal, SessionID: known.SessionID, ActiveAt: known.ActiveAt, LastOutcome: known.LastOutcome,
	}
	if len(page.Items) > 0 {
		fresh.Principal, fresh.SessionID = page.Items[0].Principal, page.Items[0].SessionID
	}
	run, err := r.transition(ctx, &s, fresh, state, event)
	answer := approvals.Steered{Run: r.effective(run), Known: len(page.Items) > 0}
	if err != nil {
		return answer, err
	}
	r.apply(run)
	if state == approvals.RunAborted {
		err = r.cancelRequestsOf(ctx, run.ID)
	}
	return answer, err
}

// checkAction returns the state of a run after a signal, and the type of its event.
func checkAction(action approvals.SignalAction, reviewer string) (approvals.RunState, approvals.EventType, error) {
	if reviewer == "" {
		return "", "", approvals.Invalid("reviewer_id", "it is missing")
	}
	state, event := action.Effect()
	if state == "" {
		return "", "", approvals.Invalid("action", "%q is not known; use pause_run, resume_run or abort_run", action)
	}
	return state, event, nil
}

// transition writes the new state of a run by compare-and-set, then its event. A run without
// a record begins as fresh.
func (r *states) transition(ctx context.Context, s *approvals.Signal, fresh approvals.Run, state approvals.RunState, event approvals.EventType) (approvals.Run, error) {
	for attempt := 0; ; attempt++ {
		run, revision, err := r.options.Store.Get(ctx, s.RunID)
		if errors.Is(err, approvals.ErrUnknownRun) {
			run, err = fresh, nil
		}
		if err != nil || run.State == state || (state == approvals.RunRunning && run.State == approvals.RunEnded) {
			return run, err
		}
		if run.State == approvals.RunAborted {
			return run, approvals.Invalid("action", "the run was aborted by %s; that is final", run.ReviewerID)
		}
		run.State = state
		run.ReviewerID = s.ReviewerID
		run.UpdatedAt = laterThan(run.UpdatedAt, r.options.Now())
		err = r.options.Store.Put(ctx, run, revision)
		if errors.Is(err, approvals.ErrConflict) {
			if err := approvals.Pause(ctx, attempt); err != nil {
				return run, approvals.Unavailable("change run "+run.ID, err)
			}
			continue
		}
		if err != nil {
			return run, err
		}
		return run, r.options.Record(ctx, approvals.Event{
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

// laterThan returns the time of a change: now, or just after the change before, where the
// clock of another replica is ahead. The latest change counts everywhere.
func laterThan(before, now time.Time) time.Time {
	if now = now.UTC(); now.After(before) {
		return now
	}
	return before.Add(1)
}

// cancelRequests cancels the pending requests that the filter and aborted select.
func (r *states) cancelRequests(ctx context.Context, filter approvals.Filter, aborted func(*approvals.Request) bool) error {
	filter.Status, filter.Limit = approvals.StatusPending, 500
	for {
		page, err := r.options.Requests.ListRequests(ctx, filter)
		if err != nil {
			return err
		}
		for i := range page.Items {
			if !aborted(&page.Items[i]) {
				continue
			}
			err := r.options.Cancel(ctx, page.Items[i].ID, approvals.CancelRunAborted)
			if err != nil && !errors.As(err, new(*approvals.DecidedError)) {
				return fmt.Errorf("cancel the requests of an aborted run: %w", err)
			}
		}
		if page.NextCursor == "" {
			return nil
		}
		filter.Cursor = page.NextCursor
	}
}

// cancelRequestsOf cancels the pending requests of a run.
func (r *states) cancelRequestsOf(ctx context.Context, run string) error {
	return r.cancelRequests(ctx, approvals.Filter{RunID: run}, func(*approvals.Request) bool { return true })
}

// cancelAborted cancels the pending requests of all aborted runs.
func (r *states) cancelAborted(ctx context.Context) error {
	return r.cancelRequests(ctx, approvals.Filter{}, func(q *approvals.Request) bool { return r.aborted(q) })
}

// aborted reports whether the run of a request is aborted.
func (r *states) aborted(q *approvals.Request) bool {
	state, _ := r.state(q.RunID, q.Principal)
	return state == approvals.RunAborted
}

// reconcile cancels the requests of aborted runs after the first load: a crash may have
// prevented it.
func (r *states) reconcile() {
	if r.any() {
		r.options.Schedule(r.options.Now(), "", r.cancelAborted)
	}
}

// apply stores the state of a run in memory and notifies the turns that wait for it.
func (r *states) apply(run approvals.Run) {
	run.Signals = nil
	r.mu.Lock()
	before, known := r.byID[run.ID]
	if known && (before.UpdatedAt.After(run.UpdatedAt) || (before.UpdatedAt.Equal(run.UpdatedAt) && before.ActiveAt.After(run.ActiveAt))) {
		r.mu.Unlock()
		return
	}
	r.byID[run.ID] = run
	r.stopped += oneIf(run.State.Stopped()) - oneIf(before.State.Stopped())
	if run.State == approvals.RunEnded && before.State != approvals.RunEnded {
		r.forgetLocked(run.ID)
	}
	r.mu.Unlock()
	if before.State == approvals.RunPaused && run.State != before.State {
		r.wake()
	}
	if run.State == approvals.RunAborted && before.State != approvals.RunAborted {
		r.options.Schedule(r.options.Now(), run.ID, func(ctx context.Context) error { return r.cancelRequestsOf(ctx, run.ID) })
	}
}

// forgetLocked removes the run that ended first from memory if there are too many.
func (r *states) forgetLocked(id string) {
	r.ended = append(r.ended, id)
	if len(r.ended) <= maxEnded {
		return
	}
	if r.byID[r.ended[0]].State == approvals.RunEnded {
		delete(r.byID, r.ended[0])
	}
	r.ended = r.ended[1:]
}

// wake has the turns that wait for a run look at its state again.
func (r *states) wake() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// find returns the record of a run from memory.
func (r *states) find(id string) (run approvals.Run, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	run, ok = r.byID[id]
	return run, ok
}

// read returns the record of a run from memory or from the store.
func (r *states) read(ctx context.Context, id string) (approvals.Run, error) {
	if run, ok := r.find(id); ok {
		return run, nil
	}
	run, _, err := r.options.Store.Get(ctx, id)
	return run, err
}

// state is [Runs.State].
func (r *states) state(id string, who approvals.Principal) (approvals.RunState, time.Time) {
	run, _ := r.find(id)
	if run.State == approvals.RunAborted {
		return run.State, run.UpdatedAt
	}
	state, since := r.principals.state(who)
	if state == approvals.RunRunning && run.State == approvals.RunPaused {
		return run.State, run.UpdatedAt
	}
	return state, since
}

// effective returns a run with the signals by principal that apply to it, and its state
// after them. A run that has ended stays so.
func (r *states) effective(run approvals.Run) approvals.Run {
	run.Signals = r.principals.applying(run.Principal)
	if len(run.Signals) == 0 || run.State == approvals.RunEnded {
		return run
	}
	if state, since := r.state(run.ID, run.Principal); state != run.State {
		run.State, run.UpdatedAt = state, since
	}
	return run
}

// any reports whether a run is paused or aborted.
func (r *states) any() bool {
	r.mu.Lock()
	stopped := r.stopped > 0
	r.mu.Unlock()
	return stopped || r.principals.any()
}

// known returns the number of runs in memory.
func (r *states) known() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.byID)
}

// all returns the records of the runs in memory.
func (r *states) all() []approvals.Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]approvals.Run, 0, len(r.byID))
	for _, run := range r.byID {
		all = append(all, run)
	}
	return all
}

// awaitResume is [Runs.AwaitResume].
func (r *states) awaitResume(ctx context.Context, id string, who approvals.Principal) error {
	for {
		state, _ := r.state(id, who)
		var changed <-chan struct{}
		if state == approvals.RunPaused {
			changed = r.watch()
			state, _ = r.state(id, who) // it may have changed before
		}
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

// watch returns a channel that is closed when any run is no longer paused, or any signal to a principal changes.
func (r *states) watch() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	return r.changed
}
