package app_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/tidwall/gjson"
)

// Calls that are parked in a conversation which the provider keeps: the agent sends only
// new messages.

// chained is a model that keeps its answers and calls bash when the user asks for it.
type chained struct {
	mu   sync.Mutex
	read map[string]string // all that the model has read, by the user's last message
}

func (m *chained) model() *fakemodel.Model {
	calls := 0
	return &fakemodel.Model{Rules: []fakemodel.Rule{{When: m.note, Say: func(fakemodel.Conversation) fakemodel.Answer {
		calls++
		return list(fmt.Sprintf("call_sesame%dXk9", calls), sesame)
	}}}, Otherwise: fakemodel.Answer{Text: "Fine."}}
}

func (m *chained) note(c fakemodel.Conversation) bool {
	var all strings.Builder
	for _, message := range c.Messages {
		fmt.Fprintf(&all, "%s: %s\n", message.Role, message.Content)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.read[c.User()] = all.String()
	return c.Last().Role == "user" && strings.HasPrefix(c.User(), "list")
}

// has returns how often the model has read a text when the user wrote a message.
func (m *chained) has(message, text string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Count(m.read[message], text)
}

// chainedTalk is an agent that sends only new messages.
type chainedTalk struct {
	w    *world
	how  string // the field of a request that has stream
	conv string // the field with the conversation, "" for previous_response_id
	name string // of the session, "" for none
	last string // id of the last answer
}

func (k *chainedTalk) say(text string) gjson.Result { return k.send("", text) }

// send sends items, each with a comma after it, and a message of the user.
func (k *chainedTalk) send(items, text string) gjson.Result {
	k.w.t.Helper()
	follows := k.conv
	if follows == "" && k.last != "" {
		follows = fmt.Sprintf(`,"previous_response_id":%q`, k.last)
	}
	r := answerIn(k.w.t, k.w.post("/v1/responses", fmt.Sprintf(`{"model":"m","input":[%s{"role":"user","content":%q}]%s,%s}`, items, text, follows, k.how), "X-Heldcall-Session", k.name).rest())
	k.last = r.Get("id").Str
	return r
}

// A parked call is decided after the agent's next request: the request after that has the
// decision, once. The approved call passes when the model makes it again.
func TestParkedCallInAChain(t *testing.T) {
	t.Parallel()
	const waits = "waits for a person's approval"
	for name, tt := range map[string]struct {
		policy   string
		decision approvals.Decision
		reads    string
		released bool
	}{
		"approved": {askAll, approvals.Decision{Action: approvals.ActionApprove, Note: `It's "fine".`}, `It's "fine".`, true},
		"changed":  {askAll, approvals.Decision{Action: approvals.ActionModifyArgs, ModifiedArgs: []byte(`{"command":"ls -l"}`)}, `call it again with exactly these: {"command":"ls -l"}`, false},
		"denied":   {askAll, approvals.Decision{Action: approvals.ActionDeny, Note: "Not on a Friday."}, "Reviewer's note: Not on a Friday.", false},
		"expired":  {"rules:\n  - ask: [bash]\n    timeout: 6s\n", approvals.Decision{}, "nobody answered in time", false},
	} {
		for _, how := range []string{`"stream":true`, `"stream":false`} {
			for _, conversing := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s %s conversation=%t", name, how, conversing), func(t *testing.T) {
					t.Parallel()
					m := &chained{read: make(map[string]string)}
					var c app.Config
					w := build(t, tt.policy, m.model().Reply, parks, restarting(&c))
					k := &chainedTalk{w: w, how: how}
					if conversing {
						k.conv = `,"conversation":` + gjson.Get(w.post("/v1/conversations", `{}`).rest(), "id").Raw
					}
					k.say("list it")
					request := w.pending(1)[0]
					for _, text := range []string{"what else?", "and then?"} {
						if k.say(text); m.has(text, waits) != 1 || m.has(text, tt.reads) != 0 {
							t.Fatalf("after %q the model has read %s", text, m.read[text])
						}
					}
					waiting := k.last
					if tt.decision.Action == "" {
						w.status(request.ID, approvals.StatusExpired)
					} else {
						w.decide(request.ID, tt.decision)
					}
					w.restart(c)
					for _, text := range []string{"is it decided?", "sure?"} {
						if k.say(text); m.has(text, tt.reads) != 1 || m.has(text, request.ID) == 0 || m.has(text, "call_sesame1Xk9") == 0 {
							t.Fatalf("after %q the model has read %s", text, m.read[text])
						}
					}
					if !conversing { // another branch from the same answer
						branch := &chainedTalk{w: w, how: how, last: waiting}
						if branch.say("decided?"); m.has("decided?", tt.reads) != 1 {
							t.Fatalf("in another branch the model has read %s", m.read["decided?"])
						}
					}
					if got := k.say("list it now"); (len(outputsOf(got)) == 1) != tt.released {
						t.Errorf("the call again: %s", got.Raw)
					}
				})
			}
		}
	}
}

// Another conversation of the same session does not read the decision, and fetching an
// answer does not count as the model's reading.
func TestParkedCallOfAnotherChain(t *testing.T) {
	t.Parallel()
	m := &chained{read: make(map[string]string)}
	w := build(t, askAll, m.model().Reply, parks)
	k, other := &chainedTalk{w: w, how: `"stream":false`, name: "s1"}, &chainedTalk{w: w, how: `"stream":false`, name: "s1"}
	other.say("hello")
	k.say("list it")
	request := w.pending(1)[0]
	k.say("what else?")
	other.say("who are you?")
	w.get(w.url("/v1/responses/" + k.last))
	w.decide(request.ID, approvals.Decision{Action: approvals.ActionApprove})
	w.get(w.url("/v1/responses/" + k.last))
	if other.say("and now?"); m.has("and now?", "approved since then") != 0 {
		t.Errorf("another conversation has read %s", m.read["and now?"])
	}
	if k.say("is it approved?"); m.has("is it approved?", "approved since then") != 1 {
		t.Errorf("the model has read %s", m.read["is it approved?"])
	}
}
