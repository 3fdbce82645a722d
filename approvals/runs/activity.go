package runs

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// DefaultIdle is the silence after which a run ends.
const DefaultIdle = 30 * time.Minute

// recordDelay is the time after which the first record of a run is written: a request about
// its first call is shown before.
const recordDelay = time.Second

// activity follows the runs whose agents are active, and ends them. A run is recorded when
// it begins, then at most every half of the idle time, and when it ends. There is one timer
// for each run that has not ended.
type activity struct {
	states *states

	mu     sync.Mutex
	byID   map[string]*activeRun
	latest map[session]string // the run that began last
}

func newActivity(s *states) *activity {
	return &activity{states: s, byID: map[string]*activeRun{}, latest: map[session]string{}}
}

// session is a conversation of a principal.
type session struct {
	principal approvals.Principal
	id        string
}

func sessionOf(r *approvals.Run) session { return session{r.Principal, r.SessionID} }

// activeRun is what this process knows of a run that has not ended.
type activeRun struct {
	run      approvals.Run   // ActiveAt and LastOutcome are those of this process
	turns    int             // that this process serves
	served   bool            // this process has served a turn; other processes end the run later
	moved    bool            // another run of the session has begun
	due      time.Time       // of its timer
	latest   string          // id of its request that was made or decided last
	moment   time.Time       // when that was
	asking   map[string]bool // ids of its pending requests
	answered time.Time       // of the last answer, if it has no calls; zero while a turn is served
}

// Entry is how a turn belongs to its run.
type Entry struct {
	Run       approvals.Run // id, principal and session
	Continues bool          // the request continues a conversation
}

// enter is [Runs.Enter].
func (a *activity) enter(calls bool, entry func() Entry) (leave func(approvals.Outcome)) {
	if !calls && !a.any() {
		return nil
	}
	e, now := entry(), a.states.options.Now().UTC()
	a.mu.Lock()
	defer a.mu.Unlock()
	one := a.byID[e.Run.ID]
	if one == nil {
		if one = a.beginLocked(&e, calls, now); one == nil {
			return nil
		}
	}
	one.turns++
	one.served, one.moved, one.answered = true, false, time.Time{}
	a.touchLocked(one, now)
	return func(last approvals.Outcome) {
		a.mu.Lock()
		defer a.mu.Unlock()
		one.turns--
		one.run.LastOutcome = cmp.Or(last, one.run.LastOutcome)
		left := a.states.options.Now().UTC()
		if last == "" && one.turns == 0 {
			one.answered = left
		}
		a.touchLocked(one, left)
	}
}

// any reports whether a run is known.
func (a *activity) any() bool {
	a.mu.Lock()
	active := len(a.byID)
	a.mu.Unlock()
	return active+a.states.known() > 0
}

// beginLocked begins to follow a run, and ends the run before it in the session. A run
// without calls is not followed.
func (a *activity) beginLocked(e *Entry, calls bool, now time.Time) *activeRun {
	recorded, known := a.states.find(e.Run.ID)
	if known {
		return a.addLocked(recorded)
	}
	if calls || e.Continues {
		a.moveLocked(&e.Run, now)
	}
	if !calls {
		return nil
	}
	e.Run.State, e.Run.UpdatedAt = approvals.RunRunning, now
	a.latest[sessionOf(&e.Run)] = e.Run.ID
	return a.addLocked(e.Run)
}

// moveLocked ends the run of the session that began before another one, unless its agent
// is waiting for an answer.
func (a *activity) moveLocked(next *approvals.Run, now time.Time) {
	before := a.byID[a.latest[sessionOf(next)]]
	if before != nil && before.run.ID != next.ID && before.turns == 0 {
		before.moved = true
		a.scheduleLocked(before, now)
	}
}

func (a *activity) addLocked(run approvals.Run) *activeRun {
	run.ReviewerID, run.Signals = "", nil
	one := &activeRun{run: run, asking: map[string]bool{}}
	a.byID[run.ID] = one
	return one
}

// touchLocked stores that the agent of a run is active in this process.
func (a *activity) touchLocked(one *activeRun, now time.Time) {
	one.run.ActiveAt = now
	recorded, known := a.states.find(one.run.ID)
	news := one.run.LastOutcome != "" && one.run.LastOutcome != recorded.LastOutcome
	if !known || news || recorded.State == approvals.RunEnded || now.Sub(recorded.LastActive()) > a.states.options.Idle/2 {
		a.scheduleLocked(one, now.Add(min(recordDelay, a.states.options.Idle/8)))
	}
	a.scheduleLocked(one, now.Add(a.states.options.Idle))
}

// scheduleLocked makes the timer of a run fire at a time, or earlier.
func (a *activity) scheduleLocked(one *activeRun, at time.Time) {
	if one.due.IsZero() || at.Before(one.due) {
		one.due = at
		id := one.run.ID
		a.states.options.Schedule(at, id, func(ctx context.Context) error { a.fire(ctx, id, at); return nil })
	}
}

// recorded follows a run that another process has recorded.
func (a *activity) recorded(run approvals.Run) {
	if run.State != approvals.RunRunning {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.byID[run.ID] != nil {
		return
	}
	one := a.addLocked(run)
	a.scheduleLocked(one, a.end(one, run.LastActive()))
	if before := a.byID[a.latest[sessionOf(&run)]]; before == nil || before.run.UpdatedAt.Before(run.UpdatedAt) {
		a.latest[sessionOf(&run)] = run.ID
	}
}

// requested follows the run of a request that any process has written: the record of the
// run may be missing after a crash.
func (a *activity) requested(r *approvals.Request) {
	if r.Status.Final() {
		a.settled(r)
	}
	at := r.CreatedAt
	if n := len(r.Decisions); n > 0 {
		at = r.Decisions[n-1].DecidedAt
	}
	recorded, known := a.states.find(r.RunID)
	if r.RunID == "" || (r.Status.Final() && a.states.options.Now().Sub(at) >= a.states.options.Idle) || (known && recorded.State != approvals.RunRunning && !at.After(recorded.UpdatedAt)) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	one := a.byID[r.RunID]
	if one == nil {
		one = a.addLocked(approvals.Run{ID: r.RunID, State: approvals.RunRunning, Principal: r.Principal, SessionID: r.SessionID, UpdatedAt: r.CreatedAt})
	}
	if !r.Status.Final() {
		one.asking[r.ID] = true
	}
	if !at.Before(one.moment) {
		one.latest, one.moment = r.ID, at
	}
	if at.After(one.run.ActiveAt) {
		one.run.ActiveAt = at
		one.run.LastOutcome = cmp.Or(outcomeOf(r), one.run.LastOutcome)
	}
	a.scheduleLocked(one, a.end(one, one.run.ActiveAt))
}

// settled notes that a request of a run has ended.
func (a *activity) settled(r *approvals.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if one := a.byID[r.RunID]; one != nil {
		delete(one.asking, r.ID)
	}
}

// isLatest reports whether a request is the last one of an active run. After a restart that request
// shows when the run was active.
func (a *activity) isLatest(run, request string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	one := a.byID[run]
	return one != nil && one.latest == request
}

// outcomes are those of the calls of requests, as far as the status decides them.
var outcomes = map[approvals.Status]approvals.Outcome{
	approvals.StatusApproved:  approvals.OutcomeAllowedByPerson,
	approvals.StatusDenied:    approvals.OutcomeDeniedByPerson,
	approvals.StatusExpired:   approvals.OutcomeExpired,
	approvals.StatusCancelled: approvals.OutcomeCancelled,
}

// outcomeOf is the outcome of the call of a request, as far as the request decides it.
func outcomeOf(r *approvals.Request) approvals.Outcome {
	if d, _ := r.FinalDecision(); d.ReviewerID == approvals.ReviewerPolicy {
		if r.Status == approvals.StatusDenied {
			return approvals.OutcomeDeniedByRule
		}
		return approvals.OutcomeAllowedByRule
	}
	return outcomes[r.Status]
}

// end returns when a run ends that is silent since a time. The process that serves the
// agent is the first: it knows the last outcome.
func (a *activity) end(one *activeRun, silent time.Time) time.Time {
	if one.served {
		return silent.Add(a.states.options.Idle)
	}
	return silent.Add(a.states.options.Idle + a.states.options.Idle/10)
}

// fire does the work of the timer of a run that was scheduled for a time.
func (a *activity) fire(ctx context.Context, id string, at time.Time) {
	a.mu.Lock()
	one := a.byID[id]
	if one == nil || !one.due.Equal(at) { // it was replaced
		a.mu.Unlock()
		return
	}
	one.due = time.Time{}
	now := a.states.options.Now().UTC()
	if one.turns > 0 {
		one.run.ActiveAt = now
	}
	seen := *one
	a.mu.Unlock()
	next, err := a.advance(ctx, &seen, now)
	if err != nil {
		if ctx.Err() != nil {
			return
		}
		if !errors.Is(err, approvals.ErrConflict) {
			a.states.options.Log.Warn("the store failed; trying again", "run", id, "error", err)
		}
		next = now.Add(approvals.RetryDelay)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case next.IsZero() && one.turns == 0 && one.due.IsZero() && one.run.ActiveAt.Equal(seen.run.ActiveAt):
		a.dropLocked(one)
	case next.IsZero():
		a.scheduleLocked(one, now.Add(a.states.options.Idle/2))
	default:
		a.scheduleLocked(one, next)
	}
}

func (a *activity) dropLocked(one *activeRun) {
	delete(a.byID, one.run.ID)
	if at := sessionOf(&one.run); a.latest[at] == one.run.ID {
		delete(a.latest, at)
	}
}

// advance records that a run is active, or ends it. It returns when to look again, zero if
// the run need not be followed: it has ended, or is paused or aborted.
func (a *activity) advance(ctx context.Context, one *activeRun, now time.Time) (next time.Time, err error) {
	recorded, known := a.states.find(one.run.ID)
	silent := recorded.LastActive()
	news := one.run.ActiveAt.After(silent)
	if news {
		silent = one.run.ActiveAt
	}
	ended := known && recorded.State == approvals.RunEnded
	end := a.end(one, silent)
	switch {
	case recorded.State.Stopped(), ended && !news:
		return time.Time{}, nil
	case one.turns == 0 && !ended && (one.moved || !now.Before(end)):
		return a.finish(ctx, one, now)
	case one.served && news && (!known || ended || a.outdated(one, &recorded, now)):
		if err := a.write(ctx, one); err != nil {
			return now, err
		}
		return now.Add(a.states.options.Idle / 2), nil
	}
	return a.nextLook(one, silent, end, now), nil
}

// nextLook returns when to look at a run again that was last active at silent and ends at
// end.
func (a *activity) nextLook(one *activeRun, silent, end, now time.Time) time.Time {
	if half := silent.Add(a.states.options.Idle / 2); half.After(now) && one.served {
		return half
	}
	return end
}

// outdated reports whether the record of an active run has to be written again.
func (a *activity) outdated(one *activeRun, recorded *approvals.Run, now time.Time) bool {
	return one.run.LastOutcome != recorded.LastOutcome || now.Sub(recorded.LastActive()) >= a.states.options.Idle/2
}

// write records that a run is active.
func (a *activity) write(ctx context.Context, one *activeRun) error {
	if _, known := a.states.find(one.run.ID); !known { // as a rule the run is new
		if _, err := a.put(ctx, one, one.run, 0); !errors.Is(err, approvals.ErrConflict) {
			return err
		}
	}
	run, revision, err := a.states.options.Store.Get(ctx, one.run.ID)
	switch {
	case errors.Is(err, approvals.ErrUnknownRun):
		run = one.run
	case err != nil:
		return err
	case run.State.Stopped() || !one.run.ActiveAt.After(run.LastActive()):
		a.states.apply(run)
		return nil
	case run.State == approvals.RunEnded:
		run.State, run.UpdatedAt = approvals.RunRunning, laterThan(run.UpdatedAt, one.run.ActiveAt)
	}
	_, err = a.put(ctx, one, run, revision)
	return err
}

// put writes the record of a run with what this process knows of it.
func (a *activity) put(ctx context.Context, one *activeRun, run approvals.Run, revision uint64) (approvals.Run, error) {
	if run.Principal == (approvals.Principal{}) {
		run.Principal, run.SessionID = one.run.Principal, one.run.SessionID
	}
	if one.run.ActiveAt.After(run.ActiveAt) {
		run.ActiveAt = one.run.ActiveAt
	}
	run.LastOutcome = cmp.Or(one.run.LastOutcome, run.LastOutcome)
	if err := a.states.options.Store.Put(ctx, run, revision); err != nil {
		return run, err
	}
	a.states.apply(run)
	return run, nil
}
