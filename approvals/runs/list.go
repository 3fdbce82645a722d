package runs

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/heldcall/heldcall/approvals"
)

// list returns the runs that have not ended and those that ended last, the most recently
// active first.
func (a *activity) list() []approvals.Run {
	byID := map[string]approvals.Run{}
	for _, run := range a.states.all() {
		byID[run.ID] = run
	}
	a.mu.Lock()
	for id, one := range a.byID {
		recorded, known := byID[id]
		byID[id] = one.merge(recorded, known)
	}
	a.mu.Unlock()
	all := make([]approvals.Run, 0, len(byID))
	for _, run := range byID {
		all = append(all, a.states.effective(run))
	}
	slices.SortFunc(all, func(a, b approvals.Run) int {
		return cmp.Or(b.LastActive().Compare(a.LastActive()), cmp.Compare(a.ID, b.ID))
	})
	return all
}

// read returns one of these runs, or one that ended before.
func (a *activity) read(ctx context.Context, id string) (approvals.Run, error) {
	run, err := a.states.read(ctx, id)
	if err != nil && !errors.Is(err, approvals.ErrUnknownRun) {
		return run, err
	}
	a.mu.Lock()
	if one := a.byID[id]; one != nil {
		run, err = one.merge(run, err == nil), nil
	}
	a.mu.Unlock()
	return a.states.effective(run), err
}

// merge returns the record of a run with what this process knows of it.
func (one *activeRun) merge(run approvals.Run, known bool) approvals.Run {
	merged := one.mergeActive(run, known)
	if len(one.asking) == 0 && !merged.ActiveAt.After(one.run.ActiveAt) {
		merged.AnsweredAt = one.answered
	}
	return merged
}

// mergeActive is merge without the time of the last answer.
func (one *activeRun) mergeActive(run approvals.Run, known bool) approvals.Run {
	if !known {
		return one.run
	}
	if !one.run.ActiveAt.After(run.LastActive()) {
		return run
	}
	if run.State == approvals.RunEnded {
		run.State, run.UpdatedAt = approvals.RunRunning, one.run.ActiveAt
	}
	if run.Principal == (approvals.Principal{}) {
		run.Principal, run.SessionID = one.run.Principal, one.run.SessionID
	}
	run.ActiveAt, run.LastOutcome = one.run.ActiveAt, cmp.Or(one.run.LastOutcome, run.LastOutcome)
	return run
}
