package gate

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

var opened = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// pendingRequests returns pending requests with one escalation each.
func pendingRequests(ids ...string) []approvals.Request {
	var requests []approvals.Request
	for _, id := range ids {
		r := approvals.Request{ID: id, Status: approvals.StatusPending, CreatedAt: opened, ExpiresAt: opened.Add(time.Minute)}
		r.Details.Escalation = &approvals.Escalation{At: opened.Add(time.Second), To: []string{"oncall"}}
		requests = append(requests, r)
	}
	return requests
}

func newTestHold(p *pending, ids ...string) *Hold {
	requests := pendingRequests(ids...)
	return &Hold{transitions: &transitions{pending: p}, done: make(chan struct{}), requests: requests, left: len(requests)}
}

func isDone(h *Hold) bool {
	select {
	case <-h.Done():
		return true
	default:
		return false
	}
}

func ended(r approvals.Request, s approvals.Status) *approvals.Request {
	r.Status = s
	return &r
}

// A request is news when it is first pending and when it is first final. It has timers only
// while it is pending.
func TestPendingApply(t *testing.T) {
	t.Parallel()
	r := pendingRequests("a")[0]
	final := ended(r, approvals.StatusDenied)
	for name, c := range map[string]struct {
		ours   bool // the request is one of a hold
		states []*approvals.Request
		news   []bool
		timers int
	}{
		"of another replica":               {false, []*approvals.Request{&r}, []bool{true}, 2},
		"of another replica, seen twice":   {false, []*approvals.Request{&r, &r}, []bool{true, false}, 2},
		"of another replica, then decided": {false, []*approvals.Request{&r, final, final}, []bool{true, true, false}, 0},
		"decided before it was seen":       {false, []*approvals.Request{final}, []bool{false}, 0},
		"ours":                             {true, []*approvals.Request{&r}, []bool{false}, 2},
		"ours, decided":                    {true, []*approvals.Request{final}, []bool{true}, 0},
	} {
		s := newScheduler(func() time.Time { return opened })
		p := newPending(s)
		var hold *Hold
		if c.ours {
			hold = newTestHold(p, "z", "a")
			p.expect(hold)
			p.remove("z")
		}
		for i, state := range c.states {
			var want []waiter
			if c.ours {
				want = []waiter{{hold, 1}}
			}
			if waiting, news := p.apply(state); news != c.news[i] || !slices.Equal(waiting, want) {
				t.Errorf("%s, state %d: news %t, %v", name, i, news, waiting)
			}
		}
		if len(s.timers) != c.timers {
			t.Errorf("%s: %d timers, want %d", name, len(s.timers), c.timers)
		}
		if w := p.count(opened.Add(time.Second)); w.requests != c.timers/2 || (w.requests > 0) != (w.oldest == time.Second) {
			t.Errorf("%s: %d pending, the oldest for %s", name, w.requests, w.oldest)
		}
	}
}

func TestPendingRecording(t *testing.T) {
	t.Parallel()
	p := newPending(newScheduler(func() time.Time { return opened }))
	h := newTestHold(p, "a", "b")
	h.recorded = make(chan struct{})
	if p.isRecording("a") {
		t.Error("it is being recorded before it is expected")
	}
	p.expect(h)
	p.remove("b")
	if !p.isRecording("a") || p.isRecording("b") {
		t.Error("the first is not being recorded, or the second is")
	}
	close(h.recorded)
	if p.isRecording("a") {
		t.Error("it is still being recorded")
	}
}

// A hold fails only long after the deadline of a pending request.
func TestPendingFail(t *testing.T) {
	t.Parallel()
	lost := errors.New("lost")
	deadline := opened.Add(time.Minute)
	for name, c := range map[string]struct {
		before func(*pending, *Hold)
		at     time.Time
		id     string
		fails  bool
	}{
		"in time":            {nil, deadline, "a", false},
		"just in time":       {nil, deadline.Add(giveUpAfter), "a", false},
		"too late":           {nil, deadline.Add(giveUpAfter + 1), "a", true},
		"another request":    {nil, deadline.Add(time.Hour), "b", false},
		"detached":           {func(_ *pending, h *Hold) { h.Detach() }, deadline.Add(time.Hour), "a", false},
		"removed":            {func(p *pending, _ *Hold) { p.remove("a") }, deadline.Add(time.Hour), "a", false},
		"final in the store": {func(p *pending, h *Hold) { p.apply(ended(h.Requests()[0], approvals.StatusDenied)) }, deadline.Add(time.Hour), "a", false},
	} {
		p := newPending(newScheduler(func() time.Time { return opened }))
		h := newTestHold(p, "a")
		p.expect(h)
		if c.before != nil {
			c.before(p, h)
		}
		p.failOverdue(c.id, c.at, lost)
		if isDone(h) != c.fails || errors.Is(h.Err(), lost) != c.fails {
			t.Errorf("%s: done %t, %v", name, isDone(h), h.Err())
		}
	}
}

// Each hold of a request is found until it is detached or its request has ended.
func TestPendingOfSeveralHolds(t *testing.T) {
	t.Parallel()
	p := newPending(newScheduler(func() time.Time { return opened }))
	first, second, third := newTestHold(p, "a"), newTestHold(p, "b", "a"), newTestHold(p, "a")
	for _, h := range []*Hold{first, second, third} {
		p.expect(h)
	}
	before, _ := p.apply(&pendingRequests("a")[0])
	second.Detach()
	if waiting, _ := p.find("a"); !slices.Equal(waiting, []waiter{{first, 0}, {third, 0}}) {
		t.Errorf("without the second: %v", waiting)
	}
	if !slices.Equal(before, []waiter{{first, 0}, {second, 1}, {third, 0}}) {
		t.Errorf("the list that was returned before has changed: %v", before)
	}
	p.fail("a", errors.New("lost"))
	if !isDone(first) || isDone(second) || !isDone(third) {
		t.Error("not all holds have failed, or a detached one has")
	}
}

// A hold ends with the last of its requests, keeps the first final state of each, and
// does not change after it was detached.
func TestHoldUpdate(t *testing.T) {
	t.Parallel()
	pending := pendingRequests("a", "b")
	approved := pending[0]
	approved.Decisions = []approvals.Decision{{ReviewerID: "ann"}}
	for name, c := range map[string]struct {
		detach bool
		states []*approvals.Request // of "a", then one of "b"
		want   approvals.Status     // of "a"
		counts int                  // decisions of "a"
		done   bool
	}{
		"nothing has changed":   {false, []*approvals.Request{&pending[0]}, approvals.StatusPending, 0, false},
		"an approval of two":    {false, []*approvals.Request{&approved}, approvals.StatusPending, 1, false},
		"decided":               {false, []*approvals.Request{&approved, ended(approved, approvals.StatusApproved)}, approvals.StatusApproved, 1, true},
		"an older state, later": {false, []*approvals.Request{ended(approved, approvals.StatusApproved), &pending[0]}, approvals.StatusApproved, 1, true},
		"decided twice":         {false, []*approvals.Request{ended(pending[0], approvals.StatusDenied), ended(approved, approvals.StatusApproved)}, approvals.StatusDenied, 0, true},
		"detached":              {true, []*approvals.Request{ended(approved, approvals.StatusApproved)}, approvals.StatusPending, 0, false},
	} {
		h := newTestHold(newPending(newScheduler(time.Now)), "a", "b")
		if c.detach {
			h.Detach()
		}
		for _, r := range c.states {
			h.update(0, *r)
		}
		if isDone(h) {
			t.Errorf("%s: done without the second request", name)
		}
		h.update(1, *ended(pending[1], approvals.StatusExpired))
		got := h.Requests()[0]
		if got.Status != c.want || len(got.Decisions) != c.counts || isDone(h) != c.done {
			t.Errorf("%s: %s with %d decisions, done %t", name, got.Status, len(got.Decisions), isDone(h))
		}
		h.fail(errors.New("lost"))
		if (h.Err() == nil) != (c.done || c.detach) {
			t.Errorf("%s: fails with %v", name, h.Err())
		}
	}
}
