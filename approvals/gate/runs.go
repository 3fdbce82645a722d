package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals"
)

// Signal pauses, resumes or aborts a run, and returns it as it then stands. It
// need not be known: a run can be stopped before its first request. A signal that changes nothing succeeds. An abort is final: it
// also cancels the run's pending requests, and a later pause or resume is an
// [*InvalidError].
func (g *Gate) Signal(ctx context.Context, s approvals.Signal) (approvals.Steered, error) {
	state, event, err := checkSignal(s)
	if err != nil {
		return approvals.Steered{}, err
	}
	page, err := g.store.ListRequests(ctx, approvals.Filter{RunID: s.RunID, Limit: 1})
	if err != nil {
		return approvals.Steered{}, err
	}
	run, err := g.steer(ctx, s, state, event)
	answer := approvals.Steered{Run: run, Known: len(page.Items) > 0}
	if err != nil {
		return answer, err
	}
	g.runChanged(run)
	if state == approvals.RunAborted {
		if err := g.cancelRun(ctx, run.ID); err != nil {
			return answer, fmt.Errorf("cancel the requests of run %s: %w", run.ID, err)
		}
	}
	return answer, nil
}

// checkSignal says what state a signal asks for and what event tells of it.
func checkSignal(s approvals.Signal) (approvals.RunState, approvals.EventType, error) {
	if s.RunID == "" {
		return "", "", &approvals.InvalidError{Field: "run_id", Reason: "it is missing"}
	}
	if s.ReviewerID == "" {
		return "", "", &approvals.InvalidError{Field: "reviewer_id", Reason: "it is missing"}
	}
	switch s.Action {
	case approvals.SignalPause:
		return approvals.RunPaused, approvals.EventRunPaused, nil
	case approvals.SignalResume:
		return approvals.RunRunning, approvals.EventRunResumed, nil
	case approvals.SignalAbort:
		return approvals.RunAborted, approvals.EventRunAborted, nil
	}
	return "", "", &approvals.InvalidError{Field: "action", Reason: fmt.Sprintf("%q is not known; use pause_run, resume_run or abort_run", s.Action)}
}

// steer writes the run's new state by compare-and-set, then its event.
func (g *Gate) steer(ctx context.Context, s approvals.Signal, state approvals.RunState, event approvals.EventType) (approvals.Run, error) {
	for attempt := 0; ; attempt++ {
		run, revision, err := g.store.GetRun(ctx, s.RunID)
		switch {
		case errors.Is(err, approvals.ErrUnknownRun):
			if run, err = g.unsteered(ctx, s.RunID); err != nil {
				return run, err
			}
		case err != nil:
			return run, err
		}
		if run.State == state {
			return run, nil
		}
		if run.State == approvals.RunAborted {
			return run, &approvals.InvalidError{Field: "action", Reason: "the run was aborted by " + run.ReviewerID + "; that is final"}
		}
		run.State = state
		run.ReviewerID = s.ReviewerID
		run.UpdatedAt = g.now().UTC()
		err = g.store.PutRun(ctx, run, revision)
		if errors.Is(err, approvals.ErrConflict) {
			if err := approvals.Pause(ctx, attempt); err != nil {
				return run, approvals.Unavailable("steer run "+run.ID, err)
			}
			continue
		}
		if err != nil {
			return run, err
		}
		return run, g.recordSteer(ctx, run, event, string(s.Payload))
	}
}

// unsteered is a run that nobody steered before, as far as its requests tell.
func (g *Gate) unsteered(ctx context.Context, id string) (approvals.Run, error) {
	run := approvals.Run{ID: id, State: approvals.RunRunning}
	page, err := g.store.ListRequests(ctx, approvals.Filter{RunID: id, Limit: 1})
	if err != nil {
		return run, err
	}
	if len(page.Items) > 0 {
		run.Principal = page.Items[0].Principal
		run.SessionID = page.Items[0].SessionID
	}
	return run, nil
}

func (g *Gate) recordSteer(ctx context.Context, run approvals.Run, typ approvals.EventType, note string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), approvals.WriteTimeout)
	defer cancel()
	return g.Record(ctx, approvals.Event{
		Type:       typ,
		Tenant:     run.Principal.Tenant,
		Principal:  run.Principal,
		SessionID:  run.SessionID,
		RunID:      run.ID,
		ReviewerID: run.ReviewerID,
		Note:       note,
		Time:       run.UpdatedAt,
	})
}

// cancelRun cancels the pending requests of a run.
func (g *Gate) cancelRun(ctx context.Context, id string) error {
	filter := approvals.Filter{RunID: id, Status: approvals.StatusPending, Limit: 500}
	for {
		page, err := g.store.ListRequests(ctx, filter)
		if err != nil {
			return err
		}
		for _, r := range page.Items {
			_, err := g.cancel(ctx, r.ID, approvals.CancelRunAborted)
			var decided *approvals.DecidedError
			if err != nil && !errors.As(err, &decided) {
				return err
			}
		}
		if page.NextCursor == "" {
			return nil
		}
		filter.Cursor = page.NextCursor
	}
}

// runChanged takes over a run's state and wakes who waits for it.
func (g *Gate) runChanged(run approvals.Run) {
	g.mu.Lock()
	before, known := g.runs[run.ID]
	if known && before.UpdatedAt.After(run.UpdatedAt) {
		g.mu.Unlock()
		return
	}
	g.runs[run.ID] = run
	if c := g.steered[run.ID]; c != nil {
		close(c)
		delete(g.steered, run.ID)
	}
	g.mu.Unlock()
	if run.State == approvals.RunAborted && before.State != approvals.RunAborted {
		g.due.add(&job{kind: jobAbortRun, id: run.ID, at: g.now()})
	}
}

// RunState is where a run stands, from memory. A run that nobody steered is
// running.
func (g *Gate) RunState(id string) approvals.RunState {
	g.mu.Lock()
	defer g.mu.Unlock()
	if run, ok := g.runs[id]; ok {
		return run.State
	}
	return approvals.RunRunning
}

// LookUp is the run as people steered it last, from memory; ok is false for one
// that nobody steered.
func (g *Gate) LookUp(id string) (run approvals.Run, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	run, ok = g.runs[id]
	return run, ok
}

// Steered reports from memory whether anybody has steered any run.
func (g *Gate) Steered() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.runs) > 0
}

// Runs are the runs that somebody steered, the latest first.
func (g *Gate) Runs() []approvals.Run {
	g.mu.Lock()
	runs := make([]approvals.Run, 0, len(g.runs))
	for _, run := range g.runs {
		runs = append(runs, run)
	}
	g.mu.Unlock()
	slices.SortFunc(runs, func(a, b approvals.Run) int {
		if c := b.UpdatedAt.Compare(a.UpdatedAt); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return runs
}

// RunByID is a run that somebody steered, or [ErrUnknownRun].
func (g *Gate) RunByID(id string) (approvals.Run, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if run, ok := g.runs[id]; ok {
		return run, nil
	}
	return approvals.Run{}, fmt.Errorf("run %q: %w", id, approvals.ErrUnknownRun)
}

// AwaitResume returns nil as soon as the run is not paused, [ErrRunAborted] if
// it is or gets aborted, and the context's error when that ends first.
func (g *Gate) AwaitResume(ctx context.Context, id string) error {
	for {
		g.mu.Lock()
		state := g.runs[id].State
		changed := g.steered[id]
		if state == approvals.RunPaused && changed == nil {
			changed = make(chan struct{})
			g.steered[id] = changed
		}
		g.mu.Unlock()
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
