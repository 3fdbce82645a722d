package heldturns_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/approvalstest"
	"github.com/heldcall/heldcall/approvals/heldturns"
)

// clock is a time that a test moves.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time          { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *clock) forward(d time.Duration) { c.ahead.Add(int64(d)) }

// deliver keeps a turn whose call is approved, and whose agent gets the whole answer.
func deliver(t *testing.T, k *heldturns.Keeper, a *heldturns.Attachment, calls ...string) heldturns.Candidate {
	t.Helper()
	if err := a.Deliver(t.Context(), heldturns.Delivery{Released: time.Now().UTC(), Calls: calls}); err != nil {
		t.Fatal(err)
	}
	return only(t, k)
}

// A delivered turn is no held turn any more, and stays claimable for a time, as often as is needed.
func TestDeliveredTurn(t *testing.T) {
	var c clock
	s := approvalstest.OpenStore()
	k, g, _ := run(t, s, heldturns.Options{Now: c.now})
	a, h := keep(t, k, g, "t1")
	first := deliver(t, k, a, "call")
	if _, stored := k.AgentState("t1"); first.State != heldturns.Delivered || first.Ended || stored {
		t.Fatalf("%+v, its agent has a state: %t", first, stored)
	}
	if err := k.Cancel(t.Context(), "t2", "x"); !errors.Is(err, approvals.ErrUnknownTurn) {
		t.Error(err)
	}
	b, snapshot, err := k.Claim(t.Context(), first)
	if err != nil || string(snapshot) != "snapshot of t1" {
		t.Fatalf("%q, %v", snapshot, err)
	}
	if _, _, err := k.Claim(t.Context(), first); !errors.Is(err, approvals.ErrTaken) {
		t.Errorf("a second claim: %v", err)
	}
	// Its agent leaves: the answer stays delivered, since the first time.
	if err := b.Detach(t.Context()); err != nil {
		t.Fatal(err)
	}
	if again := only(t, k); again.State != heldturns.Delivered || !again.Since.Equal(first.Since) {
		t.Errorf("after the agent has left: %+v, want %+v", again, first)
	}
	c.forward(heldturns.AgainFor)
	if late := only(t, k); !late.Ended {
		t.Errorf("a minute later: %+v", late)
	}
	approvalstest.Eventually(t, "it is removed", func() bool { return !k.Any() })
	if events := turnEvents(t, s, h.Requests()[0].ID); len(events) > 0 {
		t.Errorf("events %v", approvalstest.EventTypes(events))
	}
}

// A process that gives an answer again dies: the turn is delivered, not held.
func TestDeliveredTurnOfADeadProcess(t *testing.T) {
	s := approvalstest.OpenStore()
	k, g, stop := run(t, s, heldturns.Options{})
	a, _ := keep(t, k, g, "t1")
	first := deliver(t, k, a, "call")
	if _, _, err := k.Claim(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	stop()
	after, _, _ := run(t, s, heldturns.Options{})
	if c := only(t, after); c.State != heldturns.Delivered || !c.Since.Equal(first.Since) {
		t.Errorf("%+v, want %+v", c, first)
	}
}

// quietLeases are those of processes that share a store and never end.
type quietLeases struct{}

func (quietLeases) Renew(context.Context, string, []string) error { return nil }
func (quietLeases) Remove(context.Context, string) error          { return nil }
func (quietLeases) Watch(ctx context.Context, _ func(string, []string), _ func(string)) error {
	<-ctx.Done()
	return nil
}

// An answer is not given again once a result of one of its calls was seen, before or after the
// delivery is recorded, by any process.
func TestResultsOfADeliveredTurn(t *testing.T) {
	for name, tt := range map[string]struct {
		before, elsewhere bool
		seen              string
		gone              bool
	}{
		"after the delivery":                     {seen: "call", gone: true},
		"before it is recorded":                  {before: true, seen: "call", gone: true},
		"in another process":                     {elsewhere: true, seen: "call", gone: true},
		"in another process, before it is known": {elsewhere: true, before: true, seen: "call", gone: true},
		"of another call":                        {seen: "other"},
	} {
		t.Run(name, func(t *testing.T) {
			s := approvalstest.OpenStore()
			k, g, _ := run(t, s, heldturns.Options{Leases: quietLeases{}})
			other, _, _ := run(t, s, heldturns.Options{Leases: quietLeases{}})
			sees := map[bool]*heldturns.Keeper{false: k, true: other}[tt.elsewhere]
			a, _ := keep(t, k, g, "t1")
			if tt.before {
				sees.Seen([]string{tt.seen})
			}
			if err := a.Deliver(t.Context(), heldturns.Delivery{Released: time.Now().UTC(), Calls: []string{"free", "call"}}); err != nil {
				t.Fatal(err)
			}
			if !tt.before {
				approvalstest.Eventually(t, "the delivery is known", func() bool {
					all := sees.Candidates("f1")
					return len(all) == 1 && all[0].State == heldturns.Delivered
				})
				sees.Seen([]string{tt.seen})
			}
			if tt.gone {
				approvalstest.Eventually(t, "it is removed", func() bool { return !k.Any() && !other.Any() })
			} else if c := only(t, k); c.State != heldturns.Delivered {
				t.Errorf("%+v", c)
			}
		})
	}
}

// The id of a call may have been that of an earlier one, whose result was seen long ago.
func TestResultsOfAnEarlierCall(t *testing.T) {
	var c clock
	s := approvalstest.OpenStore()
	k, g, _ := run(t, s, heldturns.Options{Now: c.now})
	a, _ := keep(t, k, g, "t1")
	k.Seen([]string{"call_0"})
	c.forward(time.Minute / 2)
	if err := a.Deliver(t.Context(), heldturns.Delivery{Released: c.now().UTC(), Calls: []string{"call_0"}}); err != nil {
		t.Fatal(err)
	}
	if c := only(t, k); c.State != heldturns.Delivered {
		t.Errorf("%+v", c)
	}
}

// Results are remembered however many others, or the same, are seen before the delivery is recorded:
// agents send each result again with the whole conversation.
func TestResultsOfManyRequests(t *testing.T) {
	for name, others := range map[string]struct{ count, different int }{
		"the same again and again": {50_000, 1},
		"many":                     {9_000, 9_000},
	} {
		t.Run(name, func(t *testing.T) {
			k, g, _ := run(t, approvalstest.OpenStore(), heldturns.Options{})
			a, _ := keep(t, k, g, "t1")
			for i := range others.count {
				if i == 10 {
					k.Seen([]string{"call"})
				}
				k.Seen([]string{fmt.Sprint("other ", i%others.different)})
			}
			if err := a.Deliver(t.Context(), heldturns.Delivery{Released: time.Now().UTC(), Calls: []string{"call"}}); err != nil {
				t.Fatal(err)
			}
			approvalstest.Eventually(t, "it is removed", func() bool { return !k.Any() })
		})
	}
}

// Delivered turns take no room from turns that wait for people.
func TestDeliveredTurnsMakeRoom(t *testing.T) {
	s := approvalstest.OpenStore()
	full := false
	k, g, _ := run(t, s, heldturns.Options{Store: faulty{s.Held, func(name string) error {
		if name == "Put" && full {
			full = false
			return approvals.ErrNoRoom
		}
		return nil
	}}})
	a, _ := keep(t, k, g, "t1")
	deliver(t, k, a)
	full = true
	turn, _ := held(g, "t2")
	if _, err := k.Keep(t.Context(), turn, []byte("snapshot of t2")); err != nil {
		t.Fatal(err)
	}
	all := k.Candidates("f1")
	if len(all) != 2 || all[0].State == heldturns.Delivered || all[1].State == heldturns.Delivered {
		t.Errorf("%+v", all)
	}
	full = true
	turn, _ = held(g, "t3")
	if _, err := k.Keep(t.Context(), turn, []byte("snapshot of t3")); !errors.Is(err, approvals.ErrNoRoom) {
		t.Errorf("without a delivered turn: %v", err)
	}
}
