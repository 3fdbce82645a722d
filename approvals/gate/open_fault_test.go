package gate_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/approvalstest"
	"github.com/heldcall/heldcall/approvals/gate"
)

// openFaults fail the first write of a kind.
var openFaults = map[string]func(*faulty, func() bool){
	"create": func(f *faulty, now func() bool) { f.createFails = now },
	"event":  func(f *faulty, now func() bool) { f.appendFails = now },
}

func TestPromise3_FailClosed_OpenThatCannotBeRecorded(t *testing.T) {
	t.Parallel()
	for name, fault := range openFaults {
		t.Run(name, func(t *testing.T) {
			s := approvalstest.OpenStore()
			f := &faulty{Store: s}
			g := approvalstest.RunGate(t, gate.Options{Store: f})
			var calls atomic.Int32
			fault(f, func() bool { return calls.Add(1) == 1 }) // the first of two fails
			h, err := g.Open(t.Context(), []approvals.Request{approvalstest.Request("a"), approvalstest.Request("b")})
			if h != nil || !errors.Is(err, approvals.ErrStoreUnavailable) {
				t.Fatalf("%v, %v", h, err)
			}
			approvalstest.Eventually(t, "nothing is pending", func() bool {
				page, err := g.Requests(t.Context(), approvals.Filter{Status: approvals.StatusPending})
				return err == nil && len(page.Items) == 0
			})
			page, err := g.Requests(t.Context(), approvals.Filter{})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range page.Items {
				if r.Status != approvals.StatusCancelled || r.Details.CancelReason != approvals.CancelNotRecorded {
					t.Errorf("%s: %s (%s)", r.ToolName, r.Status, r.Details.CancelReason)
				}
			}
		})
	}
}

// The requests of a stored turn stay when they could not all be recorded: the agent's next
// request opens the same ones, and nobody is asked twice.
func TestPromise12_AskedOnce_OpenOfAStoredTurnIsRepeated(t *testing.T) {
	for name, fault := range openFaults {
		t.Run(name, func(t *testing.T) {
			s := approvalstest.OpenStore()
			f := &faulty{Store: s}
			g := approvalstest.RunGate(t, gate.Options{Store: f, Turns: storedTurns{}})
			var calls atomic.Int32
			fault(f, func() bool { return calls.Add(1) == 1 })
			requests := []approvals.Request{approvalstest.Request("a"), approvalstest.Request("b")}
			g.Prepare(requests)
			if h, err := g.Open(t.Context(), requests); h != nil || !errors.Is(err, approvals.ErrStoreUnavailable) {
				t.Fatalf("%v, %v", h, err)
			}
			h := approvalstest.Open(t, g, requests...)
			for _, r := range h.Requests() {
				if _, err := g.Decide(t.Context(), approvals.Decision{RequestID: r.ID, Action: approvals.ActionApprove, ReviewerID: "bob"}); err != nil {
					t.Fatal(err)
				}
			}
			approvalstest.Await(t, h.Done(), "the decisions")
			want := []approvals.EventType{approvals.EventApprovalRequired, approvals.EventApprovalDecision}
			for _, r := range requests {
				approvalstest.Eventually(t, "the events of "+r.ID, func() bool {
					got := approvalstest.EventTypes(approvalstest.EventsOf(t, s, r.ID))
					slices.Sort(got)
					return cmp.Equal(got, slices.Sorted(slices.Values(want)))
				})
			}
		})
	}
}

// A request can be decided before the event that asks people is in the audit log. The event of the
// decision is after it all the same.
func TestDecisionOfARequestThatIsBeingRecorded(t *testing.T) {
	t.Parallel()
	s := approvalstest.OpenStore()
	f := &faulty{Store: s}
	g := approvalstest.RunGate(t, gate.Options{Store: f})
	decided := make(chan struct{})
	var appends atomic.Int32
	f.appendFails = func() bool {
		if appends.Add(1) == 1 {
			<-decided
		}
		return false
	}
	requests := []approvals.Request{approvalstest.Request("a")}
	g.Prepare(requests)
	var group errgroup.Group
	group.Go(func() error {
		_, err := g.Open(t.Context(), requests)
		return err
	})
	id := requests[0].ID
	approvalstest.Eventually(t, "the request is in the store", func() bool {
		_, err := s.GetRequest(t.Context(), id)
		return err == nil
	})
	group.Go(func() error {
		_, err := g.Decide(t.Context(), approvals.Decision{RequestID: id, Action: approvals.ActionApprove, ReviewerID: "bob"})
		return err
	})
	approvalstest.Eventually(t, "the decision is in the store", func() bool {
		stored, err := s.GetRequest(t.Context(), id)
		return err == nil && stored.Request.Status == approvals.StatusApproved
	})
	close(decided)
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	want := []approvals.EventType{approvals.EventApprovalRequired, approvals.EventApprovalDecision}
	if got := approvalstest.EventTypes(approvalstest.EventsOf(t, s, id)); !slices.Equal(got, want) {
		t.Errorf("the events are %v, not %v", got, want)
	}
}

// storedTurns has every turn.
type storedTurns struct{}

func (storedTurns) AgentState(string) (approvals.AgentState, bool) {
	return approvals.AgentState{State: approvals.AgentAttached}, true
}
func (storedTurns) RequestChanged(*approvals.Request) {}

// lagging is a store of a cluster whose server does not have yet what another has written.
type lagging struct {
	approvals.Store

	reads atomic.Int32 // that do not find a request
}

func (l *lagging) GetRequest(ctx context.Context, id string) (approvals.Stored, error) {
	if l.reads.Add(-1) >= 0 {
		return approvals.Stored{}, approvals.ErrUnknownRequest
	}
	return l.Store.GetRequest(ctx, id)
}

// Two replicas open the same request at once: the one that is later waits for the same decision.
func TestPromise12_AskedOnce_OpenedByAnotherReplica(t *testing.T) {
	s := approvalstest.OpenStore()
	l := &lagging{Store: s.Reopen()}
	first := approvalstest.RunGate(t, gate.Options{Store: s})
	second := approvalstest.RunGate(t, gate.Options{Store: l})
	requests := []approvals.Request{approvalstest.Request("a")}
	first.Prepare(requests)
	approvalstest.Open(t, first, requests...)
	l.reads.Store(3)
	h := approvalstest.Open(t, second, requests...)
	if _, err := first.Decide(t.Context(), approvals.Decision{RequestID: requests[0].ID, Action: approvals.ActionApprove, ReviewerID: "bob"}); err != nil {
		t.Fatal(err)
	}
	approvalstest.Await(t, h.Done(), "the decision")
	if l.reads.Load() >= 0 {
		t.Error("the store was not read again")
	}
}
