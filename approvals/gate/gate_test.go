package gate_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/approvalstest"
	"github.com/heldcall/heldcall/approvals/gate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOpenAndApprove(t *testing.T) {
	t.Parallel()
	s := approvalstest.OpenStore()
	g := approvalstest.RunGate(t, gate.Options{Store: s})
	h := approvalstest.Open(t, g, approvalstest.Request("write_file"), approvalstest.Request("delete_file"))
	held := h.Requests()
	for _, r := range held {
		if r.Status != approvals.StatusPending || r.ID == "" || r.CreatedAt.IsZero() || !r.ExpiresAt.After(r.CreatedAt) {
			t.Fatalf("opened request: %+v", r)
		}
	}
	page, err := g.Requests(t.Context(), approvals.Filter{Status: approvals.StatusPending})
	if err != nil || len(page.Items) != 2 || page.Items[0].ID != held[1].ID {
		t.Fatalf("pending: %+v, %v", page, err)
	}
	if _, err := g.Decide(t.Context(), approvals.Decision{RequestID: held[0].ID, Action: approvals.ActionApprove, ReviewerID: "bob"}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-h.Done():
		t.Fatal("done with one of two undecided")
	default:
	}
	if _, err := g.Decide(t.Context(), approvals.Decision{RequestID: held[1].ID, Action: approvals.ActionDeny, ReviewerID: "bob", Note: "no <b>"}); err != nil {
		t.Fatal(err)
	}
	approvalstest.Await(t, h.Done(), "the hold")
	now := h.Requests()
	if now[0].Status != approvals.StatusApproved || now[1].Status != approvals.StatusDenied || now[1].Decisions[0].Note != "no <b>" {
		t.Fatalf("ended as %+v", now)
	}
	if string(now[0].Arguments) != `{"path":"<a>&b","n":9007199254740993}` {
		t.Fatalf("the arguments changed: %s", now[0].Arguments)
	}
}

func TestPromise5_DecidedOnce_FiftyAtOnceOneWins(t *testing.T) {
	t.Parallel()
	const reviewers = 50
	s := approvalstest.OpenStore()
	var writers atomic.Int32
	read := make(chan struct{})
	g := approvalstest.RunGate(t, gate.Options{Store: &faulty{Store: s, updateFails: func() bool { // nobody writes before everybody has read
		n := writers.Add(1)
		if n == reviewers {
			close(read)
		}
		if n <= reviewers {
			select {
			case <-read:
			case <-time.After(time.Minute):
				t.Error("some have not read the pending request")
			}
		}
		return false
	}}})
	id := approvalstest.Open(t, g, approvalstest.Request("x")).Requests()[0].ID
	var won atomic.Int32
	var winners sync.Map
	var all sync.WaitGroup
	for i := range reviewers {
		all.Go(func() {
			action := approvals.ActionApprove
			if i%2 == 1 {
				action = approvals.ActionDeny
			}
			reviewer := "r" + string(rune('A'+i))
			r, err := g.Decide(t.Context(), approvals.Decision{RequestID: id, Action: action, ReviewerID: reviewer})
			var lost *approvals.DecidedError
			switch {
			case err == nil:
				won.Add(1)
			case errors.As(err, &lost):
				r = lost.Request
			default:
				t.Error(err)
				return
			}
			d, _ := r.FinalDecision()
			winners.Store(d.ReviewerID, true)
		})
	}
	all.Wait()
	named := 0
	winners.Range(func(any, any) bool { named++; return true })
	if won.Load() != 1 || named != 1 {
		t.Fatalf("%d won, the errors name %d winners", won.Load(), named)
	}
	got := approvalstest.EventTypes(approvalstest.EventsOf(t, s, id))
	if len(got) != 2 || got[1] != approvals.EventApprovalDecision {
		t.Fatalf("events %v", got)
	}
}
