package turn

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/intercept/chat"
	"github.com/heldcall/heldcall/intercept/messages"
	"github.com/heldcall/heldcall/intercept/responses"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/heldcall/heldcall/proxy/conversation"
	"github.com/heldcall/heldcall/proxy/packed"
)

// requests are one of each dialect.
func requests(streamed bool) map[string]*Request {
	stream := fmt.Sprintf(`"stream":%t,`, streamed)
	return map[string]*Request{
		"chat":      requestTo(chat.Dialect{}, "/chat/completions", `{"model":"m",`+stream+`"messages":[{"role":"user","content":"do it"}],"tools":[{"type":"function","function":{"name":"bash"}}]}`),
		"responses": requestTo(responses.Dialect{}, "/responses", `{"model":"m",`+stream+`"input":"do it","tools":[{"type":"function","name":"bash"}]}`),
		"messages":  requestTo(messages.Dialect{}, "/messages", `{"model":"m","max_tokens":9,`+stream+`"messages":[{"role":"user","content":"do it"}],"tools":[{"name":"bash","input_schema":{"type":"object"}}]}`),
	}
}

// stepTo takes steps until the turn is in a state.
func (t *Turn) stepTo(tb testing.TB, s State) {
	tb.Helper()
	for t.state != s {
		if t.state == Ended {
			tb.Fatalf("the turn ended before it was %v, with outcome %s", s, t.Outcome())
		}
		t.state = states[t.state].step(t)
	}
}

// heldTurn is a turn whose call is held by a real gate.
func heldTurn(t *testing.T, e *Engine, r *Request, a *recorder, m *model) *Turn {
	t.Helper()
	turn := e.New(t.Context(), r, a, m, nil)
	if refusal := turn.Prepare(); refusal != nil {
		t.Fatal(refusal)
	}
	turn.stepTo(t, Waiting)
	return turn
}

// decoded returns the snapshot of a turn after it was encoded and decoded.
func decoded(t *testing.T, turn *Turn) *Snapshot {
	t.Helper()
	s, err := turn.stored.snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var again Snapshot
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	ignore := cmpopts.IgnoreFields(Request{}, "Dialect", "APIKey")
	if diff := cmp.Diff(s, &again, cmpopts.EquateEmpty(), ignore, cmpopts.IgnoreUnexported(packed.Answers{}, packed.Buffer{}), cmp.AllowUnexported(conversation.Denied{}, Snapshot{})); diff != "" {
		t.Errorf("the snapshot changes when it is encoded and decoded:\n%s", diff)
	}
	return &again
}

// decide answers the one pending request.
func decide(t *testing.T, g *gate.Gate, d approvals.Decision) {
	t.Helper()
	page, err := g.Requests(t.Context(), approvals.Filter{Status: approvals.StatusPending})
	if err != nil || len(page.Items) != 1 {
		t.Fatalf("%d requests are pending, %v", len(page.Items), err)
	}
	d.RequestID, d.ReviewerID = page.Items[0].ID, "ann"
	if _, err := g.Decide(t.Context(), d); err != nil {
		t.Fatal(err)
	}
}

// withoutHeartbeats removes comments, which may come directly before an event, and blanks
// at the ends.
func withoutHeartbeats(body []byte) string {
	var kept []string
	for line := range strings.Lines(string(body)) {
		if !strings.HasPrefix(line, ":") {
			kept = append(kept, line)
		}
	}
	return strings.TrimSpace(strings.Join(kept, ""))
}

// A held turn that loses its agent is encoded, decoded and continued for another one, in
// every dialect: it gets what the first one would have got, upstream is not asked again,
// and neither are people.
func TestHeldTurnContinuesForAnotherAgent(t *testing.T) {
	for _, action := range []approvals.Action{approvals.ActionApprove, approvals.ActionDeny, approvals.ActionModifyArgs} {
		for _, streamed := range []bool{true, false} {
			for name, r := range requests(streamed) {
				t.Run(fmt.Sprintf("%s %s streamed %t", name, action, streamed), func(t *testing.T) {
					g, s := newGate(t)
					e := NewEngine(options(t, "default: ask\n", g, s), nil)
					first, second := newRecorder(), newRecorder()
					answers := func() []canned {
						return []canned{answerTo(r.Envelope, callBash(`{"command":"ls"}`)), answerTo(r.Envelope, fakemodel.Answer{Text: "Very well."})}
					}
					m := &model{answers: answers()}
					broken := heldTurn(t, e, r, first, m)
					snapshot := decoded(t, broken)
					hold := broken.review.hold // a gate of another process would make one for the same requests
					broken.review.hold = nil
					broken.Close()
					decide(t, g, approvals.Decision{Action: action, Note: "because", ModifiedArgs: modified(action)})

					continued, err := e.Restore(t.Context(), snapshot, Restored{Agent: second, Upstream: m, Hold: hold, Dialect: r.Dialect})
					if err != nil {
						t.Fatal(err)
					}
					if ended, err := continued.Run(); !ended || err != nil {
						t.Fatalf("ended %t, %v", ended, err)
					}

					// The same turn with one agent. Its store has no denials of the other one.
					g, s = newGate(t)
					e = NewEngine(options(t, "default: ask\n", g, s), nil)
					whole, unbroken := newRecorder(), &model{answers: answers()}
					turn := heldTurn(t, e, r, whole, unbroken)
					decide(t, g, approvals.Decision{Action: action, Note: "because", ModifiedArgs: modified(action)})
					if ended, err := turn.Run(); !ended || err != nil {
						t.Fatalf("ended %t, %v", ended, err)
					}
					if got, want := withoutHeartbeats(second.body), withoutHeartbeats(whole.body); got != want {
						t.Errorf("the second agent gets\n%s\nwant\n%s", got, want)
					}
					if diff := cmp.Diff(whole.header, second.header); diff != "" || second.status != whole.status {
						t.Errorf("the second agent gets another head, with status %d:\n%s", second.status, diff)
					}
					if m.requests() != unbroken.requests() {
						t.Errorf("upstream got %d requests, want %d", m.requests(), unbroken.requests())
					}
					if released := bytes.Contains(second.body, []byte(`call_1`)); released != (action != approvals.ActionDeny) {
						t.Errorf("released %t: %s", released, second.body)
					}
					if continued.Outcome() != turn.Outcome() {
						t.Errorf("outcome %s, want %s", continued.Outcome(), turn.Outcome())
					}
				})
			}
		}
	}
}

func modified(action approvals.Action) json.RawMessage {
	if action == approvals.ActionModifyArgs {
		return json.RawMessage(`{"command":"ls -l"}`)
	}
	return nil
}

// A snapshot is made only of a state from which the turn can be continued.
func TestSnapshotNeedsACompleteAnswer(t *testing.T) {
	b := newBench(t, allowAll)
	r := chatRequest(true)
	answered := b.New(t.Context(), r, newRecorder(), &model{answers: []canned{answerTo(r.Envelope, fakemodel.Answer{Text: "Hello."})}}, nil)
	if refusal := answered.Prepare(); refusal != nil {
		t.Fatal(refusal)
	}
	answered.stepTo(t, Judging)
	for s := range states {
		turn := b.New(t.Context(), chatRequest(true), newRecorder(), &model{}, nil)
		if refusal := turn.Prepare(); refusal != nil {
			t.Fatal(refusal)
		}
		turn.state = State(s)
		if _, err := turn.Snapshot(); (err == nil) != State(s).complete() {
			t.Errorf("%v: %v", turn.state, err)
		}
		snapshot := decoded(t, answered)
		snapshot.State = State(s)
		restorable := State(s).complete() && State(s) != Waiting && State(s) != Deciding // these need requests
		if _, err := b.Restore(t.Context(), snapshot, Restored{Dialect: chat.Dialect{}, Agent: newRecorder(), Upstream: &model{}}); (err == nil) != restorable {
			t.Errorf("%v is restored with %v", State(s), err)
		}
	}
	b.Keeper = nil
	turn := b.New(t.Context(), chatRequest(true), newRecorder(), &model{}, nil)
	turn.state = Judging
	if _, err := turn.Snapshot(); err == nil {
		t.Error("a snapshot is made without the bytes of the answer")
	}
}
