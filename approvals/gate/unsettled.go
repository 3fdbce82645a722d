package gate

import (
	"context"
	"sync"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// settleInterval is the time between two looks for approvals that have ended without a release.
const settleInterval = time.Minute

// unsettled are the approved calls whose records do not have whether they were released.
type unsettled struct {
	mu   sync.Mutex
	open map[string]approval // by request
}

// approval is an approval of a call.
type approval struct {
	run, turn string
	principal approvals.Principal
	end       time.Time
}

// changed applies a state of a request.
func (u *unsettled) changed(r *approvals.Request) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if r.Unsettled() {
		u.open[r.ID] = approval{r.RunID, r.TurnID, r.Principal, r.ApprovalEnd()}
	} else {
		delete(u.open, r.ID)
	}
}

func (u *unsettled) has(request string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	_, open := u.open[request]
	return open
}

// matching returns the requests whose approvals match.
func (u *unsettled) matching(matches func(approval) bool) (requests []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for id, a := range u.open {
		if matches(a) {
			requests = append(requests, id)
		}
	}
	return requests
}

// NotReleased records that the agent does not get the calls of those requests that were approved, and why in words for
// people. Requests that are not approved, and calls that were released, stay as they are.
func (x *Results) NotReleased(reason string, requests ...string) {
	if x == nil {
		return
	}
	for _, id := range requests {
		x.enqueue(&approvals.RequestResult{Request: id, NotReleased: reason})
	}
}

// addNotReleased adds to a request that its approved call is not released. A release that is only in the audit log
// counts: the process that wrote it may have died before it wrote the request.
func (x *Results) addNotReleased(ctx context.Context, r *approvals.Request, reason string) (changed bool, err error) {
	if !r.Unsettled() {
		return false, nil
	}
	at := x.now().UTC()
	r.Outcome = &approvals.ApprovalOutcome{State: approvals.ApprovalNotReleased, Reason: reason, At: &at}
	released, err := x.store.HasEvent(ctx, approvals.Event{Type: approvals.EventCallReleased, Tenant: r.Principal.Tenant, RequestID: r.ID})
	if err != nil {
		return false, err
	}
	if released {
		r.Outcome = &approvals.ApprovalOutcome{State: approvals.ApprovalReleased, At: &at}
	}
	return true, nil
}

// settleEnded records that the calls of approvals that have ended were not released, until the context ends. It begins
// when ready is closed. A turn that is stored has an end of its own.
func (g *Gate) settleEnded(ctx context.Context) error {
	select {
	case <-g.ready:
	case <-ctx.Done():
	}
	look := time.NewTicker(settleInterval)
	defer look.Stop()
	for {
		now := g.now()
		g.Results.NotReleased(approvals.NotReleasedNotRepeated, g.Results.unsettled.matching(func(a approval) bool {
			return !now.Before(a.end) && !g.turns.stored(a.turn)
		})...)
		g.Results.NotReleased(approvals.NotReleasedRunStopped, g.Results.unsettled.matching(func(a approval) bool {
			state, _ := g.runs.State(a.run, a.principal) // a run can be stopped before its approval is known here
			return state == approvals.RunAborted && g.awaitsNoAgent(a)
		})...)
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
		}
	}
}

// NotReleased records, before it returns, that the agent does not get the call of a request, if that was approved and
// not released: see [Results.NotReleased]. It fails with [approvals.ErrUnknownRequest] or
// [approvals.ErrStoreUnavailable].
func (g *Gate) NotReleased(ctx context.Context, id, reason string) error {
	g.Results.count(id, 1)
	defer g.Results.count(id, -1)
	return g.Results.update(ctx, &approvals.RequestResult{Request: id, NotReleased: reason})
}

// stopped records that approved calls of a run that was stopped are not released. An agent that is connected gets its
// answer, which records that for itself.
func (g *Gate) stopped(run string) {
	g.Results.NotReleased(approvals.NotReleasedRunStopped, g.Results.unsettled.matching(func(a approval) bool {
		return a.run == run && g.awaitsNoAgent(a)
	})...)
}

// awaitsNoAgent reports whether the turn of an approval is stored without a connected agent.
func (g *Gate) awaitsNoAgent(a approval) bool {
	state, stored := g.turns.state(a.turn)
	return stored && state.State != approvals.AgentAttached
}

// describe adds to a request that is served what the record does not have.
func (g *Gate) describe(r *approvals.Request) {
	g.turns.describe(r)
	state, _ := g.runs.State(r.RunID, r.Principal)
	r.DescribeOutcome(state == approvals.RunPaused, g.now())
	r.DescribePending()
}
