package approvals_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/audit"
	"github.com/heldcall/heldcall/approvals/store"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashDirEnv); dir != "" {
		runCrasher(dir)
	}
	goleak.VerifyTestMain(m)
}

// opened is the store of a gate and of its grants, and the hidden turns beside.
type opened struct {
	store.GateStore
	*store.Grants
	hidden *store.Turns
}

// openStore opens a store with its embedded server in a folder.
func openStore(t testing.TB, dir string) opened {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{Dir: dir, Listen: "-"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return opened{s.ForGate(), s.Grants, s.Turns}
}

// runGate is a gate that runs until the end of the test and is ready.
func runGate(t testing.TB, o approvals.GateOptions) *approvals.Gate {
	t.Helper()
	g := approvals.NewGate(o)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := g.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	await(t, g.Ready(), "the gate to be ready")
	return g
}

func await(t testing.TB, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(2 * time.Minute):
		t.Fatalf("waited in vain for %s", what)
	}
}

// eventually waits until a condition holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for start := time.Now(); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Since(start) > 2*time.Minute {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

func request(tool string) approvals.Request {
	return approvals.Request{
		Kind:       approvals.KindPermission,
		Principal:  approvals.Principal{Tenant: "acme", User: "ann", Agent: "coder"},
		SessionID:  "s1",
		RunID:      "run-1",
		ToolCallID: "call_1",
		ToolName:   tool,
		Arguments:  json.RawMessage(`{"path":"<a>&b","n":9007199254740993}`),
		RiskLevel:  approvals.RiskHigh,
		Tool: approvals.Tool{Parameters: json.RawMessage(
			`{"type":"object","properties":{"path":{"type":"string"},"n":{"type":"integer"}},"required":["path"],"additionalProperties":false}`)},
	}
}

func open(t testing.TB, g *approvals.Gate, requests ...approvals.Request) *approvals.Hold {
	t.Helper()
	h, err := g.Open(t.Context(), requests)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// eventsOf are the events of a request in the log, and the log's verdict.
func eventsOf(t testing.TB, s opened, id string) []approvals.Event {
	t.Helper()
	var events []approvals.Event
	_, err := audit.Verify(func(yield func(audit.Entry, error) bool) {
		for entry, err := range s.Entries(t.Context(), 1) {
			if entry.Event.RequestID == id {
				events = append(events, entry.Event)
			}
			if !yield(entry, err) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func eventTypes(events []approvals.Event) []approvals.EventType {
	var types []approvals.EventType
	for _, e := range events {
		types = append(types, e.Type)
	}
	return types
}

func TestOpenAndApprove(t *testing.T) {
	s := openStore(t, t.TempDir())
	g := runGate(t, approvals.GateOptions{Store: s})
	h := open(t, g, request("write_file"), request("delete_file"))
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
	await(t, h.Done(), "the hold")
	now := h.Requests()
	if now[0].Status != approvals.StatusApproved || now[1].Status != approvals.StatusDenied || now[1].Decisions[0].Note != "no <b>" {
		t.Fatalf("ended as %+v", now)
	}
	if string(now[0].Arguments) != `{"path":"<a>&b","n":9007199254740993}` {
		t.Fatalf("the arguments changed: %s", now[0].Arguments)
	}
}

func TestPromise5_DecidedOnce_FiftyAtOnceOneWins(t *testing.T) {
	s := openStore(t, t.TempDir())
	g := runGate(t, approvals.GateOptions{Store: s})
	id := open(t, g, request("x")).Requests()[0].ID
	var won atomic.Int32
	var winners sync.Map
	var all sync.WaitGroup
	for i := range 50 {
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
	told := 0
	winners.Range(func(any, any) bool { told++; return true })
	if won.Load() != 1 || told != 1 {
		t.Fatalf("%d won, callers were told of %d winners", won.Load(), told)
	}
	got := eventTypes(eventsOf(t, s, id))
	if len(got) != 2 || got[1] != approvals.EventApprovalDecision {
		t.Fatalf("events %v", got)
	}
}
