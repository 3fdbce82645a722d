package heldturns_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/approvalstest"
	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/approvals/heldturns"
)

// life is a process on a store that dies before its nth write.
type life struct {
	keeper *heldturns.Keeper
	gate   *gate.Gate
	store  approvalstest.Store
	end    func()

	mu     sync.Mutex
	left   int // writes until the process dies; negative: it does not
	writes []string
}

var errDead = fmt.Errorf("the process is dead: %w", approvals.ErrStoreUnavailable)

func (l *life) write(name string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left == 0 {
		return errDead
	}
	l.left--
	l.writes = append(l.writes, name)
	return nil
}

func (l *life) dead() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.left == 0
}

// live starts a process that dies before its nth write from now on.
func live(t *testing.T, state approvalstest.Store, n int) *life {
	t.Helper()
	s := state.Reopen()
	l := &life{left: -1, store: s}
	l.keeper = heldturns.New(heldturns.Options{Store: faulty{s.Held, l.write}})
	l.gate = gate.New(gate.Options{Store: faultyGate{s, l.write}, Turns: l.keeper})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = l.keeper.Run(ctx, l.gate) })
	approvalstest.Await(t, l.keeper.Ready(), "the keeper")
	running.Go(func() { _ = l.gate.Run(ctx) })
	approvalstest.Await(t, l.gate.Ready(), "the gate")
	l.mu.Lock()
	l.left = n
	l.mu.Unlock()
	l.end = func() {
		cancel()
		running.Wait()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	return l
}

// play plays a turn to its end: it is kept, asked, decided, detached, claimed and ended. It
// stops at the first error.
func (l *life) play(ctx context.Context, turn approvals.HeldTurn, requests []approvals.Request) error {
	a, err := l.keeper.Keep(ctx, turn, []byte("snapshot"))
	if err != nil {
		return err
	}
	h, err := l.gate.Open(ctx, requests)
	if err != nil {
		return err
	}
	a.Opened(h.Requests())
	if err := a.Detach(ctx); err != nil {
		return err
	}
	h.Detach()
	if _, err := l.gate.Decide(ctx, approvals.Decision{RequestID: requests[0].ID, Action: approvals.ActionApprove, ReviewerID: "bob"}); err != nil {
		return err
	}
	return l.resume(ctx, requests)
}

// resume claims the turn, opens its requests and ends it once it is decided.
func (l *life) resume(ctx context.Context, requests []approvals.Request) error {
	all := l.keeper.Candidates("f1")
	if len(all) != 1 || all[0].Ended {
		return fmt.Errorf("candidates %+v: %w", all, approvals.ErrUnknownTurn)
	}
	b, snapshot, err := l.keeper.Claim(ctx, all[0])
	if err != nil {
		return err
	}
	if string(snapshot) != "snapshot" {
		return fmt.Errorf("the snapshot is %q", snapshot)
	}
	h, err := l.gate.Open(ctx, requests)
	if err != nil {
		return err
	}
	select {
	case <-h.Done():
	default:
		if _, err := l.gate.Decide(ctx, approvals.Decision{RequestID: requests[0].ID, Action: approvals.ActionApprove, ReviewerID: "bob"}); err != nil {
			return err
		}
	}
	select {
	case <-h.Done():
	case <-time.After(time.Minute):
		return errors.New("the hold has not ended")
	}
	return b.End(ctx)
}

// A process that dies before any of its writes loses nothing: the next one has the turn, or
// no person was asked. No person is asked twice, and the log has each event once.
func TestPromise4_RecordedFirst_CrashAtEachWrite(t *testing.T) {
	for n := 0; ; n++ {
		state := approvalstest.OpenStore()
		first := live(t, state, n)
		turn, requests := held(first.gate, "t1")
		err := first.play(t.Context(), turn, requests)
		writes := slices.Clone(first.writes)
		died := first.dead()
		first.end()
		t.Run(fmt.Sprintf("%d after %v", n, writes), func(t *testing.T) {
			if err != nil && !errors.Is(err, approvals.ErrStoreUnavailable) {
				t.Fatal(err)
			}
			second := live(t, state, -1)
			defer func() { second.end() }()
			if slices.Contains(writes, "Put") && !slices.Contains(writes, "End") {
				if err := second.resume(t.Context(), requests); err != nil {
					t.Fatal(err)
				}
			}
			approvalstest.Eventually(t, "nothing is stored", func() bool { return !second.keeper.Any() })
			approvalstest.Eventually(t, "the events of the request are repaired", func() bool {
				events := approvalstest.EventTypes(approvalstest.EventsOf(t, second.store, requests[0].ID))
				repaired := slices.Contains(events, approvals.EventApprovalRequired) && slices.Contains(events, approvals.EventApprovalDecision)
				return repaired || !slices.Contains(writes, "Put")
			})
			second.end()
			verifyOnce(t, state, requests[0].ID, slices.Contains(writes, "Put"))
			second = live(t, state, -1)
		})
		if !died {
			return
		}
	}
}

// verifyOnce verifies that a request was asked, approved and published once, and that no
// event is twice in the log.
func verifyOnce(t *testing.T, s approvalstest.Store, id string, asked bool) {
	t.Helper()
	r, err := s.GetRequest(t.Context(), id)
	if !asked {
		if !errors.Is(err, approvals.ErrUnknownRequest) {
			t.Fatalf("%+v, %v", r, err)
		}
		return
	}
	if err != nil || r.Request.Status != approvals.StatusApproved || r.Request.Agent != nil {
		t.Fatalf("%+v, %v", r.Request, err)
	}
	counts := map[approvals.EventType]int{}
	ids := map[string]bool{}
	for _, e := range approvalstest.EventsOf(t, s, id) {
		counts[e.Type]++
		if ids[e.ID] {
			t.Errorf("event %s is twice in the log", e.Type)
		}
		ids[e.ID] = true
	}
	if counts[approvals.EventApprovalRequired] != 1 || counts[approvals.EventApprovalDecision] != 1 {
		t.Errorf("events %v", counts)
	}
}
