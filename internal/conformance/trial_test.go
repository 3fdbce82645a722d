package conformance_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/conformance"
	"github.com/heldcall/heldcall/internal/recorded"
	"github.com/heldcall/heldcall/internal/scripted"
)

// outcome is what becomes of the calls of an answer.
type outcome string

const (
	allowed    outcome = "allowed"    // by policy; what policy may not allow, a reviewer approves
	approved   outcome = "approved"   // all, by a reviewer
	denied     outcome = "denied"     // all, by a reviewer
	edited     outcome = "edited"     // all, by a reviewer
	firstOnly  outcome = "first only" // the first approved, the second denied, the rest approved
	secondOnly outcome = "not first"  // the first denied, the rest approved
	compressed outcome = "compressed" // sent with a content coding that was not asked for
)

var outcomes = []outcome{allowed, approved, denied, edited, firstOnly, secondOnly, compressed}

// patience bounds one answer. Nothing waits that long unless something hangs.
const patience = time.Minute

// trial is one recorded answer, cut one way, with one outcome.
type trial struct {
	id       string
	exchange recorded.Exchange
	outcome  outcome
	mode     recorded.Mode
	calls    []*conformance.Call // of the answer as it was recorded
	request  []byte              // the agent's first

	asked    [][]byte // bodies that upstream received; guarded by the upstream
	ruled    []bool   // calls that were decided; only the reviewer touches it
	problems []string
}

var lastTrial atomic.Int64

func newTrial(e recorded.Exchange, o outcome, m recorded.Mode) *trial {
	x := &trial{id: fmt.Sprintf("trial-%d", lastTrial.Add(1)), exchange: e, outcome: o, mode: m, calls: callsOf(e)}
	x.ruled = make([]bool, len(x.calls))
	x.request = x.firstRequest()
	return x
}

// inapplicable says why an outcome cannot be tried on an answer, or "".
func inapplicable(e recorded.Exchange, o outcome) string {
	n := len(callsOf(e))
	switch {
	case o == compressed && e.Encoded == nil:
		return "plain"
	case (o == denied || o == edited) && n == 0:
		return "no call"
	case (o == firstOnly || o == secondOnly) && n == 0:
		return "no call"
	case (o == firstOnly || o == secondOnly) && n == 1:
		return "one call"
	}
	return ""
}

func (x *trial) fail(format string, args ...any) {
	x.problems = append(x.problems, fmt.Sprintf(format, args...))
}

// lets reports whether the trial's outcome lets call number i through.
func (x *trial) lets(i int) bool {
	switch x.outcome {
	case denied:
		return false
	case firstOnly:
		return i != 1
	case secondOnly:
		return i != 0
	}
	return true
}

func (x *trial) note() string { return "The reviewer of " + x.id + " says no." }

// editedArguments are what call number i is to run with instead.
func (x *trial) editedArguments(i int) string {
	if x.calls[i].Custom {
		return fmt.Sprintf("edited input %d of %s", i, x.id)
	}
	return fmt.Sprintf(`{"edited":%q,"number":%d}`, x.id, i)
}

// rule decides one request of the trial.
func (x *trial) rule(r approvals.Request) *scripted.Ruling {
	i := x.callOf(r)
	if i < 0 {
		return &scripted.Ruling{Action: approvals.ActionDeny, Note: "no such call was made"}
	}
	x.ruled[i] = true
	switch {
	case !x.lets(i):
		return &scripted.Ruling{Action: approvals.ActionDeny, Note: x.note()}
	case x.outcome == edited:
		arguments := json.RawMessage(x.editedArguments(i))
		if x.calls[i].Custom {
			arguments = json.RawMessage(quote(string(arguments)))
		}
		return &scripted.Ruling{Action: approvals.ActionModifyArgs, ModifiedArgs: arguments, Note: "changed for " + x.id}
	}
	return &scripted.Ruling{Action: approvals.ActionApprove}
}

// callOf finds the call that a request asks about: by id and arguments, and
// where both repeat the first that has not been decided.
func (x *trial) callOf(r approvals.Request) int {
	best := -1
	for i, call := range x.calls {
		if x.ruled[i] || call.Name != r.ToolName || call.ID != "" && call.ID != r.ToolCallID {
			continue
		}
		if sameArguments(call.Arguments, r) {
			return i
		}
		if best < 0 {
			best = i
		}
	}
	return best
}

func sameArguments(text string, r approvals.Request) bool {
	var asString string
	if json.Unmarshal(r.Arguments, &asString) == nil {
		return asString == text
	}
	return sameJSON(text, string(r.Arguments))
}

// run plays the trial against heldcall at base and judges it.
func (x *trial) run(a agent, base string, u *upstream) {
	u.add(x)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	got, err := a.ask(ctx, base, x.id, x.request)
	if err != nil {
		x.fail("the agent's request failed: %v", err)
		return
	}
	asked := u.askedOf(x)
	if len(asked) == 0 {
		x.fail("upstream was not asked; the agent got %d %s", got.status, shorten(got.body))
		return
	}
	if string(asked[0]) != string(x.request) {
		x.fail("the request went upstream changed:\nsent %s\ngot  %s", shorten(x.request), shorten(asked[0]))
	}
	if !x.judge(got, asked) {
		return
	}
	x.goOn(ctx, a, base, u, got)
}

// goOn sends what the agent sends next, twice, and judges what the model sees.
func (x *trial) goOn(ctx context.Context, a agent, base string, u *upstream, got reply) {
	received := conformance.Fold(got.body).First()
	if received.Text == "" && len(received.Calls) == 0 {
		return // nothing to echo: the answer was an error
	}
	next, before := x.nextRequest(received), len(u.askedOf(x))
	for range 2 {
		if _, err := a.ask(ctx, base, x.id, next); err != nil {
			x.fail("the agent's next request failed: %v", err)
			return
		}
	}
	asked := u.askedOf(x)[before:]
	if len(asked) != 2 {
		x.fail("the agent's next request, sent twice, reached upstream %d times", len(asked))
		return
	}
	if string(asked[0]) != string(asked[1]) {
		x.fail("the same request was spliced in two ways:\n%s\n%s", shorten(asked[0]), shorten(asked[1]))
	}
	x.judgeNext(next, asked[0], received)
}

func shorten(b []byte) string {
	const most = 1500
	if len(b) > most {
		return string(b[:most/2]) + " [...] " + string(b[len(b)-most/2:])
	}
	return string(b)
}
