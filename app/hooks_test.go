package app_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept/hooks"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/tidwall/gjson"
)

// hookEvent is the input of a hook of Claude Code about a call of Bash.
func hookEvent(session, id, command string) string {
	return fmt.Sprintf(`{"session_id":%q,"transcript_path":"/t","cwd":"/work","permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":%q},"tool_use_id":%q}`, session, command, id)
}

// hookAnswer is the answer to a hook.
type hookAnswer struct{ decision, reason, input, body string }

// hook asks as the hook of Claude Code does, and waits for the answer.
func (w *world) hook(event string, header ...string) hookAnswer {
	w.t.Helper()
	return w.claudeAnswer(w.post("/heldcall/v1/hooks/claude-code", event, header...))
}

func (w *world) claudeAnswer(c *call) hookAnswer {
	w.t.Helper()
	body := c.rest()
	if c.resp.StatusCode != 200 || !gjson.Valid(body) {
		w.t.Fatalf("status %d: %s", c.resp.StatusCode, body)
	}
	answer := gjson.Get(body, "hookSpecificOutput")
	return hookAnswer{answer.Get("permissionDecision").String(), answer.Get("permissionDecisionReason").String(), answer.Get("updatedInput").Raw, body}
}

// hookAsks asks in the background, and returns the request to people and the answer to come.
func (w *world) hookAsks(event string, header ...string) (approvals.Request, <-chan hookAnswer) {
	w.t.Helper()
	answer := make(chan hookAnswer, 1)
	go func() {
		c, err := w.tryPost("/heldcall/v1/hooks/claude-code", event, header...)
		if err != nil {
			answer <- hookAnswer{body: err.Error()}
			return
		}
		answer <- w.claudeAnswer(c)
	}()
	return w.pending(1)[0], answer
}

const hookRules = "rules:\n  - allow: [\"Bash(ls *)\"]\n  - deny: [\"Bash(rm *)\"]\n    reason: never\n"

// noModel is an upstream that is not asked.
func noModel(*fakemodel.Request) fakemodel.Reply { panic("the model is asked") }

// The call that a hook asks about is judged by the policy, and people decide the rest.
func TestHook(t *testing.T) {
	t.Parallel()
	w := build(t, "default: ask\n"+hookRules, noModel)
	if a := w.hook(hookEvent("s1", "toolu_1", "ls -la")); a.decision != "allow" || a.input != "" {
		t.Errorf("an allowed call: %+v", a)
	}
	if a := w.hook(hookEvent("s1", "toolu_2", "rm -rf /")); a.decision != "deny" || !strings.Contains(a.reason, "never") {
		t.Errorf("a denied call: %+v", a)
	}
	for _, test := range []struct {
		decision approvals.Decision
		want     hookAnswer
	}{
		{approvals.Decision{Action: approvals.ActionApprove}, hookAnswer{decision: "allow"}},
		{approvals.Decision{Action: approvals.ActionDeny, Note: "not on Friday"}, hookAnswer{decision: "deny", reason: "not on Friday"}},
		{approvals.Decision{Action: approvals.ActionModifyArgs, ModifiedArgs: []byte(`{"command":"make test"}`)}, hookAnswer{decision: "allow", input: `{"command":"make test"}`}},
	} {
		q, answer := w.hookAsks(hookEvent("s1", "toolu_"+string(test.decision.Action), "make "+string(test.decision.Action)))
		if q.Dialect != "hook" || q.ToolName != "Bash" || q.SessionID != "s1" || q.RunID == "" || q.Agent == nil || q.Agent.State != approvals.AgentAttached {
			t.Errorf("the request: %+v", q)
		}
		w.decide(q.ID, test.decision)
		if a := <-answer; a.decision != test.want.decision || !strings.Contains(a.reason, test.want.reason) || a.input != test.want.input {
			t.Errorf("%s: %+v, want %+v", test.decision.Action, a, test.want)
		}
	}
	w.pending(0)
}

// After its deadline a call is parked. The same call joins its request, and gets the decision, once.
func TestParkedHook(t *testing.T) {
	t.Parallel()
	w := build(t, askAll, noModel)
	const soonOver = "0.05"
	for _, action := range []approvals.Action{approvals.ActionApprove, approvals.ActionDeny} {
		session := "s-" + string(action)
		first := w.hook(hookEvent(session, "toolu_1", "make all"), "X-Heldcall-Deadline", soonOver)
		q := w.pending(1)[0]
		if first.decision != "deny" || !strings.Contains(first.reason, q.ID) || !strings.Contains(first.reason, "again") {
			t.Fatalf("the first answer: %+v", first)
		}
		if q.Agent == nil || q.Agent.State != approvals.AgentParked {
			t.Errorf("the call is not parked: %+v", q.Agent)
		}
		second := w.hook(hookEvent(session, "toolu_2", "make all"), "X-Heldcall-Deadline", soonOver)
		if again := w.pending(1)[0]; second.decision != "deny" || again.ID != q.ID {
			t.Fatalf("the second call has another request: %s, %+v", again.ID, second)
		}
		w.decide(q.ID, approvals.Decision{Action: action, Note: "because"})
		want := map[approvals.Action]string{approvals.ActionApprove: "allow", approvals.ActionDeny: "deny"}[action]
		third := w.hook(hookEvent(session, "toolu_3", "make all"))
		if third.decision != want || (want == "deny" && !strings.Contains(third.reason, "because")) {
			t.Fatalf("after %s: %+v", action, third)
		}
		if want == "deny" { // the answer stays for a moment
			if a := w.hook(hookEvent(session, "toolu_4", "make all")); a.decision != "deny" || !strings.Contains(a.reason, "already denied") {
				t.Errorf("a denied call again: %+v", a)
			}
			continue
		}
		next, answer := w.hookAsks(hookEvent(session, "toolu_4", "make all"))
		if next.ID == q.ID {
			t.Error("one approval passes two calls")
		}
		w.decide(next.ID, approvals.Decision{Action: approvals.ActionDeny})
		<-answer
	}
}

// A hook whose connection breaks leaves its request to the same call, and not to another one.
func TestHookComesBack(t *testing.T) {
	t.Parallel()
	w := build(t, askAll, noModel)
	go func() {
		if c, err := w.tryPost("/heldcall/v1/hooks/claude-code", hookEvent("s1", "toolu_1", "make all")); err == nil {
			c.cancel()
		}
	}()
	q := w.pending(1)[0]
	conn := w.dial()
	conn.send(rawPost("/heldcall/v1/hooks/claude-code", hookEvent("s1", "toolu_9", "make none"), ""))
	w.pending(2)
	conn.Close()
	w.decide(q.ID, approvals.Decision{Action: approvals.ActionApprove})
	other := w.pending(1)[0]
	again := make(chan hookAnswer, 1)
	go func() { again <- w.hook(hookEvent("s1", "toolu_9", "make none")) }()
	for range 20 {
		time.Sleep(10 * time.Millisecond)
		if page := w.pending(1); page[0].ID != other.ID {
			t.Fatal("the call that comes back has another request")
		}
	}
	w.decide(other.ID, approvals.Decision{Action: approvals.ActionApprove})
	if a := <-again; a.decision != "allow" {
		t.Errorf("after the approval: %+v", a)
	}
}

// A call that waits, and a decision on a parked call, outlive heldcall.
func TestHookOutlivesRestart(t *testing.T) {
	t.Parallel()
	var c app.Config
	w := build(t, askAll, noModel, embedded, func(made *app.Config) { c = *made })
	parked := w.hook(hookEvent("s1", "toolu_1", "make all"), "X-Heldcall-Deadline", "0.05")
	first := w.pending(1)[0]
	w.decide(first.ID, approvals.Decision{Action: approvals.ActionApprove})
	q, stopped := w.hookAsks(hookEvent("s1", "toolu_2", "make test"))
	w.restart(c)
	if a := <-stopped; a.decision != "deny" || parked.decision != "deny" {
		t.Errorf("at the stop: %+v, %+v", a, parked)
	}
	if a := w.hook(hookEvent("s1", "toolu_3", "make all")); a.decision != "allow" {
		t.Errorf("the approval did not outlive the restart: %+v", a)
	}
	again, answer := w.hookAsks(hookEvent("s1", "toolu_4", "make test"))
	if again.ID != q.ID {
		t.Errorf("people are asked again: %s, then %s", q.ID, again.ID)
	}
	w.decide(again.ID, approvals.Decision{Action: approvals.ActionApprove})
	if a := <-answer; a.decision != "allow" {
		t.Errorf("after the approval: %+v", a)
	}
}

// A grant decides the calls of hooks, and so does an aborted run.
func TestHookGrantAndAbort(t *testing.T) {
	t.Parallel()
	w := build(t, askAll, noModel)
	q, answer := w.hookAsks(hookEvent("s1", "toolu_1", "echo all"))
	w.decide(q.ID, approvals.Decision{Action: approvals.ActionAllowAlways, Patterns: []string{"Bash(echo *)"}})
	if a := <-answer; a.decision != "allow" {
		t.Fatalf("the first: %+v", a)
	}
	if a := w.hook(hookEvent("s1", "toolu_2", "echo test")); a.decision != "allow" {
		t.Errorf("the grant does not cover: %+v", a)
	}
	q, answer = w.hookAsks(hookEvent("s1", "toolu_3", "curl x"))
	w.decide(q.ID, approvals.Decision{Action: approvals.ActionAbortRun, Note: "enough"})
	if a := <-answer; a.decision != "deny" || !strings.Contains(a.reason, "enough") {
		t.Errorf("the aborted call: %+v", a)
	}
	if a := w.hook(hookEvent("s1", "toolu_4", "echo test")); a.decision != "deny" || !strings.Contains(a.reason, "stopped") {
		t.Errorf("after the abort: %+v", a)
	}
	q, answer = w.hookAsks(hookEvent("s2", "toolu_5", "echo test")) // the run of another session, without the grant
	w.decide(q.ID, approvals.Decision{Action: approvals.ActionApprove})
	if a := <-answer; a.decision != "allow" {
		t.Errorf("another session: %+v", a)
	}
}

// A question that is signed with the key of a client is of that client. Another question with its signature is denied.
func TestHookSigned(t *testing.T) {
	t.Parallel()
	const key = "sesame of an agent"
	w := build(t, "default: ask\n"+hookRules, noModel, func(c *app.Config) {
		c.Proxy.Clients = append(c.Proxy.Clients, app.Client{Key: app.Secret(key), User: "ann"})
	})
	digest := sha256.Sum256([]byte(key))
	event := hookEvent("s1", "toolu_1", "make")
	signed := func(body string) []string {
		return []string{
			"X-Heldcall-Nonce", "a nonce of the command", "X-Heldcall-Deadline", "60", "X-Heldcall-Key-Id", hooks.KeyID(digest[:]),
			"X-Heldcall-Signed", hooks.Sign(digest[:], "claude-code", "a nonce of the command", "60", []byte(body)),
		}
	}
	request, answer := w.hookAsks(event, signed(event)...)
	if request.Principal.User != "ann" {
		t.Errorf("it is asked for %+v", request.Principal)
	}
	w.decide(request.ID, approvals.Decision{Action: approvals.ActionApprove})
	if a := <-answer; a.decision != "allow" {
		t.Errorf("the approved call: %+v", a)
	}
	other := hookEvent("s1", "toolu_2", "ls -la")
	for name, header := range map[string][]string{
		"another call":     signed(event),
		"another deadline": append(signed(other)[:2:2], append([]string{"X-Heldcall-Deadline", "61"}, signed(other)[4:]...)...),
		"another nonce":    append([]string{"X-Heldcall-Nonce", "another nonce of it"}, signed(other)[2:]...),
		"another key":      append(signed(other)[:4:4], "X-Heldcall-Key-Id", hooks.KeyID([]byte("unknown")), "X-Heldcall-Signed", signed(other)[7]),
		"no signature":     signed(other)[:6],
	} {
		if a := w.hook(other, header...); a.decision != "deny" || !strings.Contains(a.reason, "not signed") {
			t.Errorf("%s: %+v", name, a)
		}
	}
	if a := w.hook(other, signed(other)...); a.decision != "allow" {
		t.Errorf("the call itself: %+v", a)
	}
}

// People approve the arguments that they saw: a changed rewrite rule does not change them.
func TestHookApprovedAsShown(t *testing.T) {
	t.Parallel()
	w := build(t, "default: ask\nrules:\n  - rewrite: [\"Bash(git push *)\"]\n    set: {command: git push origin --dry-run}\n", noModel)
	a := w.hook(hookEvent("s1", "toolu_1", "git push origin"), "X-Heldcall-Deadline", "0.05")
	q := w.pending(1)[0]
	if !strings.Contains(string(q.Arguments), "--dry-run") {
		t.Fatalf("%s %+v", q.Arguments, a)
	}
	w.decide(q.ID, approvals.Decision{Action: approvals.ActionApprove})
	w.logs("the policy has changed", func() { writeFile(t, w.policyFile, "default: ask\n") })
	if got := w.hook(hookEvent("s1", "toolu_2", "git push origin")); got.decision != "allow" || gjson.Get(got.input, "command").Str != "git push origin --dry-run" {
		t.Errorf("what runs is not what was approved: %+v", got)
	}
}

// lsBash is a call that the wire releases, as Claude Code names its tool.
var lsBash = fakemodel.Call{ID: "toolu_wire", Name: "Bash", Arguments: `{"command":"make all","description":"d"}`}

// wireEvent is the input of a hook about lsBash.
func wireEvent(session, id, arguments string) string {
	return fmt.Sprintf(`{"session_id":%q,"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":%s,"tool_use_id":%q}`, session, arguments, id)
}

// A call that was released on the wire is not asked about again: once, and only in its conversation, of its principal, with
// its arguments. The approval of a hook passes nothing on the wire.
func TestHookAfterWire(t *testing.T) {
	t.Parallel()
	other := strings.Repeat("k", 20)
	w := build(t, askAll, func(r *fakemodel.Request) fakemodel.Reply {
		return fakemodel.Answer{ID: "msg_1", Text: "Let me see.", Calls: []fakemodel.Call{lsBash}}.Reply(r)
	}, func(c *app.Config) {
		c.Proxy.Clients = append(c.Proxy.Clients, app.Client{Key: app.Secret(other), User: "other"})
	})
	const session = "0f0e0d0c-1111-2222-3333-444455556666"
	body := `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"do it"}],"metadata":{"user_id":"user_x_account__session_` + session + `"},"tools":[{"name":"Bash","input_schema":{"type":"object"}}]}`
	release := func(d approvals.Decision) approvals.Request {
		t.Helper()
		done := make(chan string, 1)
		go func() {
			c, err := w.tryPost("/v1/messages", body)
			if err != nil {
				done <- err.Error()
				return
			}
			done <- c.rest()
		}()
		q := w.pending(1)[0]
		w.decide(q.ID, d)
		if answer := <-done; !strings.Contains(answer, "toolu_wire") {
			t.Fatalf("the wire does not release the call: %s", answer)
		}
		return q
	}
	wire := release(approvals.Decision{Action: approvals.ActionApprove})
	asked := func(what, event string, header ...string) approvals.Request {
		t.Helper()
		q, answer := w.hookAsks(event, header...)
		w.decide(q.ID, approvals.Decision{Action: approvals.ActionDeny, Note: what})
		if a := <-answer; a.decision != "deny" {
			t.Errorf("%s passes: %+v", what, a)
		}
		return q
	}
	asked("another session", wireEvent("other", "toolu_wire", lsBash.Arguments))
	asked("another principal", wireEvent(session, "toolu_wire", lsBash.Arguments), "Authorization", "Bearer "+other)
	asked("other arguments", wireEvent(session, "toolu_wire", `{"command":"make none"}`))
	if a := w.hook(wireEvent(session, "toolu_wire", `{"description":"d", "command":"make all"}`)); a.decision != "allow" || a.input != "" {
		t.Errorf("the released call: %+v", a)
	}
	q, answer := w.hookAsks(wireEvent(session, "toolu_wire", lsBash.Arguments)) // a second time
	if q.SessionID != wire.SessionID || q.RunID != wire.RunID {
		t.Errorf("the hook is of session %s and run %s, the wire of %s and %s", q.SessionID, q.RunID, wire.SessionID, wire.RunID)
	}
	w.decide(q.ID, approvals.Decision{Action: approvals.ActionApprove})
	<-answer
	release(approvals.Decision{Action: approvals.ActionModifyArgs, ModifiedArgs: []byte(`{"command":"make edited"}`)})
	asked("what the model wrote", wireEvent(session, "toolu_wire", lsBash.Arguments))
	if a := w.hook(wireEvent(session, "an id of the client", `{"command":"make edited"}`)); a.decision != "allow" {
		t.Errorf("the edited call: %+v", a)
	}
	q, answer = w.hookAsks(wireEvent(session, "toolu_hook", `{"command":"make hooked"}`))
	w.decide(q.ID, approvals.Decision{Action: approvals.ActionApprove})
	if a := <-answer; a.decision != "allow" {
		t.Errorf("the call of the hook: %+v", a)
	}
	release(approvals.Decision{Action: approvals.ActionApprove}) // the wire asks as before
}

// Whatever comes, the answer denies with a reason and status 200.
func TestHookFailsClosed(t *testing.T) {
	t.Parallel()
	w := build(t, allowAll, noModel, func(c *app.Config) { c.Proxy.MaxBody = 64 << 10 })
	good := hookEvent("s1", "toolu_1", "ls")
	for name, test := range map[string]struct {
		path, body string
		header     []string
	}{
		"no JSON":         {"claude-code", "hello", nil},
		"empty":           {"claude-code", "", nil},
		"a list":          {"claude-code", "[]", nil},
		"two names":       {"claude-code", strings.Replace(good, `"tool_name"`, `"tool_name":"Read","tool_name"`, 1), nil},
		"two commands":    {"claude-code", strings.Replace(good, `"command"`, `"command":"rm","command"`, 1), nil},
		"no session":      {"claude-code", strings.Replace(good, `"s1"`, `""`, 1), nil},
		"another event":   {"claude-code", strings.Replace(good, "PreToolUse", "PostToolUse", 1), nil},
		"a long body":     {"claude-code", strings.Replace(good, `"ls"`, `"`+strings.Repeat("x", 70<<10)+`"`, 1), nil},
		"a bad deadline":  {"claude-code", good, []string{"X-Heldcall-Deadline", "soon"}},
		"compressed":      {"claude-code", good, []string{"Content-Encoding", "gzip"}},
		"a web page":      {"claude-code", good, []string{"Origin", "https://example.com"}},
		"no client":       {"claude", good, nil},
		"a foreign event": {"claude-code/", strings.Replace(good, "PreToolUse", "preToolUse", 1), nil},
	} {
		if a := w.claudeAnswer(w.post("/heldcall/v1/hooks/"+test.path, test.body, test.header...)); a.decision != "deny" || a.reason == "" {
			t.Errorf("%s: %+v", name, a)
		}
	}
	if a := w.hook(good); a.decision != "allow" {
		t.Errorf("the good event: %+v", a)
	}
	unknown := strings.Replace(good, `"Bash"`, `"Bush"`, 1)
	q, answer := w.hookAsks(unknown)
	if q.ToolName != "Bush" {
		t.Errorf("the request: %+v", q)
	}
	w.decide(q.ID, approvals.Decision{Action: approvals.ActionDeny})
	<-answer
}
