package gate

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// Calls and writes in memory are bounded in number and time, and no caller waits for room.
func TestResultsAreBounded(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	x := newResults(nil, slog.New(slog.DiscardHandler), func() time.Time { return now }, true, nil)
	release := func(call string) *approvals.Request {
		r := &approvals.Request{ID: "request of " + call, SessionID: "s", ToolCallID: call}
		x.Released(r)
		return r
	}
	awaited := func(call string) bool {
		_, ok := x.Awaited(approvals.Principal{}, "s", call)
		return ok
	}
	if release(""); x.Any() {
		t.Error("a call without an id waits for a result")
	}
	for i := range maxAwaited + 10 {
		release(fmt.Sprint(i))
	}
	if n := len(x.calls); n != maxAwaited || x.inside[conversation{session: "s"}] != n || len(x.order) > maxAwaited || awaited("0") || !awaited("10") {
		t.Errorf("%d calls wait, in the order of %d", n, len(x.order))
	}
	if n := len(x.writes); n != maxResultWrites || !x.full {
		t.Errorf("%d writes wait", n)
	}
	now = now.Add(awaitResultFor)
	last := release("last")
	if !x.Any() || len(x.calls) != 1 || len(x.order) != 1 || !awaited("last") {
		t.Errorf("%d calls wait after a day", len(x.calls))
	}
	old := *last
	old.ID, old.Details.Result = "older", &approvals.CallResult{ReleasedAt: now.Add(-time.Hour)}
	if x.changed(&old); x.calls[callOf(last)].request != last.ID {
		t.Error("an older call has replaced a newer one with its id")
	}
	for _, r := range []*approvals.Request{&old, last} {
		r.Details.Result = &approvals.CallResult{ReleasedAt: now, ReceivedAt: &now}
		if x.changed(r); x.Any() != (r == &old) {
			t.Errorf("after the result of %s: %d calls wait", r.ID, len(x.calls))
		}
	}
	if len(x.inside) != 0 {
		t.Errorf("sessions that wait: %v", x.inside)
	}
}

// A call whose time passes while it is added does not wait, and ends nothing.
func TestACallThatIsJustTooOld(t *testing.T) {
	released := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	now := released.Add(awaitResultFor - 1)
	x := newResults(nil, slog.New(slog.DiscardHandler), func() time.Time {
		now = now.Add(1)
		return now.Add(-1)
	}, true, nil)
	x.changed(&approvals.Request{ID: "r", ToolCallID: "c", Details: approvals.Details{Result: &approvals.CallResult{ReleasedAt: released}}})
	if len(x.order) != 1 {
		t.Errorf("%d calls are in order", len(x.order))
	}
}
