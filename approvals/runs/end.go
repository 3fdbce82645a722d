package runs

import (
	"context"
	"errors"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// flushTime bounds the writes about runs when the program stops.
const flushTime = time.Second

// flush records the last outcomes whose timers have not fired before the program stops.
func (a *activity) flush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, flushTime)
	defer cancel()
	for _, one := range a.unrecorded() {
		if err := a.write(ctx, &one); err != nil {
			a.states.options.Log.Warn("the last outcome of a run is not recorded", "run", one.run.ID, "error", err)
		}
	}
}

// unrecorded returns the runs with an outcome that their record does not have.
func (a *activity) unrecorded() (found []activeRun) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range a.byID {
		if recorded, _ := a.states.find(one.run.ID); one.run.LastOutcome != "" && one.run.LastOutcome != recorded.LastOutcome {
			found = append(found, *one)
		}
	}
	return found
}

// finish ends a run, unless a request of it is held or another process knows that it is
// active.
func (a *activity) finish(ctx context.Context, one *activeRun, now time.Time) (next time.Time, err error) {
	page, err := a.states.options.Requests.ListRequests(ctx, approvals.Filter{RunID: one.run.ID, Status: approvals.StatusPending, Limit: 1})
	if err != nil {
		return now, err
	}
	if len(page.Items) > 0 {
		return now.Add(a.states.options.Idle / 2), nil
	}
	run, revision, err := a.states.options.Store.Get(ctx, one.run.ID)
	switch end := run.LastActive().Add(a.states.options.Idle); {
	case errors.Is(err, approvals.ErrUnknownRun):
		return now, a.write(ctx, one)
	case err != nil:
		return now, err
	case run.State != approvals.RunRunning:
		a.states.apply(run)
		return time.Time{}, nil
	case !one.moved && now.Before(end):
		a.states.apply(run)
		return end, nil
	}
	run.State, run.UpdatedAt = approvals.RunEnded, laterThan(run.UpdatedAt, now)
	run, err = a.put(ctx, one, run, revision)
	if err != nil {
		return now, err
	}
	if err := a.states.options.Record(ctx, endedEvent(&run)); err != nil {
		a.states.options.Log.Warn("failed to record an event; trying again", "run", run.ID, "error", err)
	}
	return time.Time{}, nil
}

// endedEvent returns the event of a run that has ended. It and its id depend on the record
// only, so that any replica can write it after a crash.
func endedEvent(run *approvals.Run) approvals.Event {
	return approvals.Event{
		ID: approvals.DerivedID(run.UpdatedAt, run.ID+"/"+string(approvals.EventRunEnded)), Type: approvals.EventRunEnded, Time: run.UpdatedAt,
		Tenant: run.Principal.Tenant, Principal: run.Principal, SessionID: run.SessionID, RunID: run.ID,
		Outcome: string(run.LastOutcome), Note: "last active at " + run.ActiveAt.Format(time.RFC3339),
	}
}

// reconcile writes the events of the runs that ended last, after the first load: a crash may
// have left them out.
func (a *activity) reconcile() {
	var newest time.Time
	all := a.states.all()
	for i := range all {
		if all[i].State == approvals.RunEnded && all[i].UpdatedAt.After(newest) {
			newest = all[i].UpdatedAt
		}
	}
	for i := range all {
		if all[i].State == approvals.RunEnded && newest.Sub(all[i].UpdatedAt) <= approvals.CrashWindow {
			a.states.options.Schedule(a.states.options.Now(), all[i].ID, func(ctx context.Context) error {
				return a.states.options.Ensure(ctx, endedEvent(&all[i]))
			})
		}
	}
}
