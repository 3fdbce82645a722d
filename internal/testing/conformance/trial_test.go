//go:build conformance

package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/cassettes"
	"github.com/heldcall/heldcall/internal/testing/conformance"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// outcome is what becomes of the calls of an answer.
type outcome string

const (
	allowed    outcome = "allowed"    // by policy; what policy may not allow, a reviewer approves
	approved   outcome = "approved"   // all, by a reviewer
	denied     outcome = "denied"     // all, by a reviewer
	answered   outcome = "answered"   // all, by a reviewer: they are questions to people
	edited     outcome = "edited"     // all, by a reviewer
	firstOnly  outcome = "first only" // the first approved, the second denied, the rest approved
	secondOnly outcome = "not first"  // the first denied, the rest approved
	withAnswer outcome = "question"   // approved, beside a question of heldcall's own that is put into the answer
	compressed outcome = "compressed" // approved, and sent with a content coding that was not asked for
)

var outcomes = []outcome{allowed, approved, denied, answered, edited, firstOnly, secondOnly, withAnswer, compressed}

// patience bounds one answer. Nothing waits that long unless something hangs.
const patience = time.Minute

// trial is one recorded answer, cut one way, with one outcome, for an agent with
// one habit.
type trial struct {
	id       string
	exchange cassettes.Exchange
	outcome  outcome
	mode     cassettes.Mode
	habit    habit
	dialect  conformance.Dialect
	agent    writer
	calls    []*conformance.Call // of the answer as it was recorded
	request  []byte              // the agent's first

	asked    []asked            // what upstream received; guarded by the upstream
	memory   conformance.Memory // what it remembers; guarded by the upstream
	ruled    []bool             // calls that were decided; only the reviewer touches it
	problems []string
}

// asked is one request that upstream received.
type asked struct {
	body []byte
	// shown is the request with all that the model is shown in it, where upstream
	// remembers some of it; nil where it would refuse the request.
	shown   []byte
	refusal error
	offered bool   // it had heldcall's own tool, which body and shown lack
	answer  []byte // the upstream's answer
}

var lastTrial atomic.Int64

func newTrial(e cassettes.Exchange, o outcome, h habit, m cassettes.Mode) *trial {
	if o == withAnswer {
		e, _ = withQuestion(e)
	}
	x := &trial{
		id: fmt.Sprintf("trial-%d", lastTrial.Add(1)), exchange: e, outcome: o, mode: m, habit: h,
		dialect: conformance.Of(e.Dialect), agent: writerOf(e.Dialect), calls: callsOf(e),
	}
	if e.Dialect == cassettes.Responses {
		x.renameResponse()
	}
	x.ruled = make([]bool, len(x.calls))
	if x.method() != http.MethodGet {
		x.request = x.agent.first(x)
	}
	return x
}

// renameResponse gives the recorded response an id of its own: a provider never
// gives one twice, and a response is known by nothing else.
func (x *trial) renameResponse() {
	for _, id := range x.dialect.Fold(x.exchange.Body).IDs {
		own := id + "_" + x.id
		x.exchange.Body = bytes.ReplaceAll(x.exchange.Body, []byte(quote(id)), []byte(quote(own)))
		if path.Base(x.exchange.URL) == id {
			x.exchange.URL += strings.TrimPrefix(own, id)
		}
	}
}

// method and route are those of the recorded request. A recording of another
// route than the dialect's is one that passes.
func (x *trial) method() string {
	if x.exchange.Method == http.MethodGet {
		return http.MethodGet
	}
	return http.MethodPost
}

func (x *trial) route() string {
	if x.method() == http.MethodGet {
		return "/v1" + path.Join("/", path.Base(x.exchange.URL)) + "?" + x.id
	}
	return "/v1" + x.agent.path()
}

// callsOf are the calls of the recorded answer as a client reads them.
func callsOf(e cassettes.Exchange) []*conformance.Call {
	return conformance.Of(e.Dialect).Fold(e.Body).Calls()
}

// inapplicable returns why an outcome cannot be tried on an answer, or "".
func inapplicable(e cassettes.Exchange, o outcome) string {
	calls := callsOf(e)
	fixed := slices.ContainsFunc(calls, (*conformance.Call).Fixed)
	switch {
	case o == compressed && e.Encoded == nil:
		return "plain"
	case o == withAnswer:
		_, why := withQuestion(e)
		return why
	case (o == denied || o == answered || o == edited) && len(calls) == 0:
		return "no call"
	case o == edited && fixed:
		return "fixed"
	case (o == firstOnly || o == secondOnly) && len(calls) == 0:
		return "no call"
	case (o == firstOnly || o == secondOnly) && len(calls) == 1:
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
	case denied, answered:
		return false
	case withAnswer:
		return x.calls[i].ID != questionID
	case firstOnly:
		return i != 1
	case secondOnly:
		return i != 0
	}
	return true
}

// handed reports whether call number i is to reach the agent. An approval that the
// provider asks for is given by heldcall itself.
func (x *trial) handed(i int) bool { return x.lets(i) && !x.calls[i].Fixed() }

// handedOver are the calls that the agent is to get, and those that it is not.
func (x *trial) handedOver() (let, kept []*conformance.Call) {
	for i, call := range x.calls {
		if x.handed(i) {
			let = append(let, call)
		} else {
			kept = append(kept, call)
		}
	}
	return let, kept
}

// unchanged reports whether the agent is to get the answer as it was recorded: it has no call.
func (x *trial) unchanged() bool { return len(x.calls) == 0 && !x.joins() }

// released reports whether the agent is to get all calls as they were recorded, in canonical form.
func (x *trial) released() bool {
	_, kept := x.handedOver()
	return x.outcome != edited && len(kept) == 0
}

// joins reports whether the agent gets two attempts as one message.
func (x *trial) joins() bool { return startsAgain[x.exchange.Name()] != "" }

func (x *trial) note() string { return "The reviewer of " + x.id + " says no." }

// editedArguments are what call number i is to run with instead. What has a shape
// that is the API's own keeps it.
func (x *trial) editedArguments(i int) string {
	call := x.calls[i]
	switch {
	case call.Custom:
		return fmt.Sprintf("edited input %d of %s", i, x.id)
	case call.Kind == "":
		return fmt.Sprintf(`{"edited":%q,"number":%d}`, x.id, i)
	}
	var value any
	if err := json.Unmarshal([]byte(call.Arguments), &value); err != nil {
		panic(fmt.Sprintf("a recorded %s has the arguments %q", call.Kind, call.Arguments))
	}
	edited, err := json.Marshal(editTexts(value, "edited by "+x.id))
	if err != nil {
		panic("internal error: " + err.Error())
	}
	return string(edited)
}

// editTexts replaces every text in a value but its type and names.
func editTexts(value any, text string) any {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			if key != "type" && key != "path" {
				v[key] = editTexts(v[key], text)
			}
		}
	case []any:
		for i := range v {
			v[i] = editTexts(v[i], text)
		}
	case string:
		return text
	}
	return value
}

// rule decides one request of the trial.
func (x *trial) rule(r approvals.Request) *fakemodel.Ruling {
	i := x.callOf(r)
	if i < 0 {
		return &fakemodel.Ruling{Action: approvals.ActionDeny, Note: "no such call was made"}
	}
	x.ruled[i] = true
	switch {
	case r.Asks():
		return &fakemodel.Ruling{Action: approvals.ActionAnswer, Response: approvals.Response{Answer: x.note()}}
	case !x.lets(i):
		return &fakemodel.Ruling{Action: approvals.ActionDeny, Note: x.note()}
	case x.outcome == edited:
		arguments := json.RawMessage(x.editedArguments(i))
		if x.calls[i].Custom {
			arguments = json.RawMessage(quote(string(arguments)))
		}
		return &fakemodel.Ruling{Action: approvals.ActionModifyArgs, ModifiedArgs: arguments, Note: "changed for " + x.id}
	}
	return &fakemodel.Ruling{Action: approvals.ActionApprove}
}

// callOf finds the call that a request asks about: by id and arguments, and
// where both repeat the first that has not been decided.
func (x *trial) callOf(r approvals.Request) int {
	best := -1
	for i, call := range x.calls {
		if x.ruled[i] || call.Name != r.ToolName || (call.ID != "" && call.ID != r.ToolCallID) {
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
	got, err := a.ask(ctx, x.method(), base+x.route(), x.id, x.request)
	if err != nil {
		x.fail("the agent's request failed: %v", err)
		return
	}
	asked := u.askedOf(x)
	if len(asked) == 0 {
		x.fail("upstream was not asked; the agent got %d %s", got.status, shorten(got.body))
		return
	}
	for _, is := range asked {
		if is.offered != (x.outcome == withAnswer) {
			x.fail("upstream was offered the tool for questions %t: %s", is.offered, shorten(is.body))
		}
	}
	if string(asked[0].body) != string(x.request) {
		x.fail("the request went upstream changed:\nsent %s\ngot  %s", shorten(x.request), shorten(asked[0].body))
	}
	if !x.judge(got, asked) {
		return
	}
	x.goOn(ctx, a, base, u, got)
}

// goOn sends what the agent sends next, twice where that changes nothing, and
// judges what the model sees.
func (x *trial) goOn(ctx context.Context, a agent, base string, u *upstream, got reply) {
	answer := x.dialect.Fold(got.body)
	received := answer.First()
	if received.Text == "" && len(received.Calls) == 0 {
		return // nothing to echo: the answer was an error
	}
	next, before := x.agent.next(x, answer), len(u.askedOf(x))
	times := 2
	if x.habit == inConversation {
		times = 1
	}
	for range times {
		if _, err := a.ask(ctx, x.method(), base+x.route(), x.id, next); err != nil {
			x.fail("the agent's next request failed: %v", err)
			return
		}
	}
	asked := u.askedOf(x)[before:]
	if len(asked) != times {
		x.fail("the agent's next request, sent %d times, reached upstream %d times", times, len(asked))
		return
	}
	if string(asked[0].body) != string(asked[times-1].body) {
		x.fail("the same request was spliced in two ways:\n%s\n%s", shorten(asked[0].body), shorten(asked[1].body))
	}
	x.judgeNext(next, u.askedOf(x)[0], asked[0])
}

func shorten(b []byte) string {
	const most = 1500
	if len(b) > most {
		return string(b[:most/2]) + " [...] " + string(b[len(b)-most/2:])
	}
	return string(b)
}
