package inner

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/internal/testing/memstore"
	"github.com/heldcall/heldcall/proxy/conversation"
)

// fault fails one of the operations on durable state, by its number.
type fault struct {
	mu    sync.Mutex
	at, n int
	hit   bool
}

func (f *fault) next() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n++
	if f.at == 0 || f.n != f.at {
		return nil
	}
	f.hit = true
	return fmt.Errorf("the disk is full: %w", approvals.ErrStoreUnavailable)
}

// faultyGate is a gate whose writes can fail.
type faultyGate struct {
	*gate.Gate
	*fault
}

func (g faultyGate) Open(ctx context.Context, requests []approvals.Request) (*gate.Hold, error) {
	if err := g.next(); err != nil {
		return nil, err
	}
	return g.Gate.Open(ctx, requests)
}

func (g faultyGate) Record(ctx context.Context, events ...approvals.Event) error {
	if err := g.next(); err != nil {
		return err
	}
	return g.Gate.Record(ctx, events...)
}

func (g faultyGate) Request(ctx context.Context, id string) (approvals.Request, error) {
	if err := g.next(); err != nil {
		return approvals.Request{}, err
	}
	return g.Gate.Request(ctx, id)
}

// faultyStore is a store whose operations can fail.
type faultyStore struct {
	conversation.Store
	*fault
}

func (s faultyStore) AwaitTurns(ctx context.Context) (bool, error) {
	if err := s.next(); err != nil {
		return false, err
	}
	return s.Store.AwaitTurns(ctx)
}

func (s faultyStore) PutTurn(ctx context.Context, session, id string, value []byte) error {
	if err := s.next(); err != nil {
		return err
	}
	return s.Store.PutTurn(ctx, session, id, value)
}

func (s faultyStore) TakeTurn(ctx context.Context, session, id string, value []byte) (bool, error) {
	if err := s.next(); err != nil {
		return false, err
	}
	return s.Store.TakeTurn(ctx, session, id, value)
}

// bench is a judge with a gate, whose test is the reviewer.
type bench struct {
	*Judge
	gate *gate.Gate
	drop context.CancelFunc // begins the stop
}

func newBench(t *testing.T, rules string, f *fault) *bench {
	t.Helper()
	parsed, err := policy.Parse("policy.yaml", []byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	judged := judge.NewRules(parsed)
	s := memstore.New(memstore.Options{})
	g := gate.New(gate.Options{Store: s.ForGate()})
	ctx, cancel := context.WithCancel(context.Background())
	draining, drop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = g.Run(ctx) })
	t.Cleanup(func() { drop(); cancel(); running.Wait() })
	return &bench{&Judge{Options{
		Gate: faultyGate{g, f}, Rules: func(string) Rules { return judged }, Store: faultyStore{s.Turns, f}, Releases: NewReleases(),
		Draining: draining.Done(), Log: slog.New(slog.DiscardHandler),
	}}, g, drop}
}

var asked int

// call is a call of a hook that has to be answered within a minute.
func call(session string) *Call {
	asked++
	return &Call{
		Turn: fmt.Sprint("turn", asked), Principal: approvals.Principal{Tenant: conversation.DefaultTenant}, Session: session,
		Call: intercept.Call{ID: fmt.Sprint("call", asked), Name: "bash", Arguments: `{"command":"make"}`}, Offer: intercept.OfferOf("bash"), Until: time.Now().Add(time.Minute),
	}
}

// decide decides the pending request.
func (b *bench) decide(t *testing.T, id string, action approvals.Action) {
	t.Helper()
	d := approvals.Decision{RequestID: id, Action: action}
	d.ReviewerID = "ada"
	if _, err := b.gate.Decide(t.Context(), d); err != nil {
		t.Fatal(err)
	}
}

// requestIn is the id of the request that an answer names.
func requestIn(t *testing.T, a Answer) string {
	t.Helper()
	if a.Outcome != approvals.OutcomeParked || a.Request == "" || !strings.Contains(a.Reason, a.Request) {
		t.Fatalf("the call is not parked: %+v", a)
	}
	return a.Request
}

// Whichever operation on durable state fails, the call does not run; and nothing is lost for the next one.
func TestStoreRefuses(t *testing.T) {
	for _, rules := range []string{"default: allow\n", "default: deny\n", "default: ask\n"} {
		for at := 1; ; at++ {
			hit := false
			synctest.Test(t, func(t *testing.T) {
				f := &fault{}
				b := newBench(t, rules, f)
				synctest.Wait()
				if rules == "default: ask\n" {
					first := b.Ask(t.Context(), call("s"))
					b.decide(t, requestIn(t, first), approvals.ActionApprove)
					synctest.Wait()
				}
				f.mu.Lock()
				f.at = f.n + at
				f.mu.Unlock()
				answer := b.Ask(t.Context(), call("s"))
				hit = f.hit
				if hit && (answer.Allowed() || answer.Reason == "") {
					t.Errorf("%q, operation %d fails: %+v", rules, at, answer)
				}
				if again := b.Ask(t.Context(), call("s")); hit && again.Allowed() != (rules != "default: deny\n") {
					t.Errorf("%q, after operation %d has failed: %+v", rules, at, again)
				}
			})
			if !hit {
				if at < 3 {
					t.Errorf("%q: only %d operations", rules, at-1)
				}
				break
			}
		}
	}
}

// An approval passes one call, of the same session and arguments, until it ends.
func TestParkedApproval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "rules:\n  - ask: [bash]\n    timeout: 240h\n", &fault{})
		synctest.Wait()
		id := requestIn(t, b.Ask(t.Context(), call("s")))
		if again := requestIn(t, b.Ask(t.Context(), call("s"))); again != id {
			t.Errorf("the call made again has another request")
		}
		b.decide(t, id, approvals.ActionApprove)
		if other := requestIn(t, b.Ask(t.Context(), call("other"))); other == id {
			t.Error("another session has the request")
		}
		time.Sleep(approvals.ApprovalTTL - time.Hour)
		answer := b.Ask(t.Context(), call("s"))
		if !answer.Allowed() || answer.Request != id {
			t.Fatalf("the approved call: %+v", answer)
		}
		answer.Sent(context.Canceled) // the agent has gone
		if answer = b.Ask(t.Context(), call("s")); !answer.Allowed() {
			t.Fatalf("after a lost answer: %+v", answer)
		}
		answer.Sent(nil)
		if next := requestIn(t, b.Ask(t.Context(), call("s"))); next == id {
			t.Error("one approval passes two calls")
		}
	})
}

// The wait ends when heldcall stops, and when the agent leaves; the request of an agent that comes back is the same.
func TestWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "default: ask\n", &fault{})
		synctest.Wait()
		ctx, leave := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, leave)
		if a := b.Ask(ctx, call("s")); a.Allowed() || a.Reason == "" {
			t.Errorf("an agent that has gone: %+v", a)
		}
		time.AfterFunc(time.Second, b.drop)
		began := time.Now()
		if a := b.Ask(t.Context(), call("s")); a.Allowed() || !strings.Contains(a.Reason, "stopping") || time.Since(began) > 2*time.Second {
			t.Errorf("at a stop: %+v", a)
		}
	})
}

// A paused run waits for people, and its calls too.
func TestPausedRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "default: allow\n", &fault{})
		synctest.Wait()
		signal := func(action approvals.SignalAction) {
			t.Helper()
			if _, err := b.gate.Signal(t.Context(), approvals.Signal{RunID: "s", Action: action, ReviewerID: "ada"}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		first := b.Ask(t.Context(), call("s"))
		signal(approvals.SignalPause)
		if a := b.Ask(t.Context(), call("s")); !first.Allowed() || a.Allowed() || !strings.Contains(a.Reason, "paused") {
			t.Errorf("a paused run: %+v", a)
		}
		time.AfterFunc(time.Second, func() { signal(approvals.SignalResume) })
		if a := b.Ask(t.Context(), call("s")); !a.Allowed() {
			t.Errorf("a resumed run: %+v", a)
		}
	})
}
