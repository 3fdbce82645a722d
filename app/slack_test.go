package app_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/heldcall/heldcall/internal/testing/fakeslack"
)

const (
	slackSecret = "8f742231b10e8888abcd99yyyzzz85a5"
	pressYes    = "heldcall_approve"
	pressNo     = "heldcall_deny"
	pressAlways = "heldcall_allow_always"
	pressEdit   = "heldcall_edit"
	pressNote   = "heldcall_note"
)

// slackWorld is a heldcall with reviewers in Slack: ann, bob and vic, a viewer.
type slackWorld struct {
	*world
	slack  *fakeslack.Server
	config app.Config
	team   team
}

// slackUsers are the reviewers' ids there.
var slackUsers = map[string]string{"ann": "UANN", "bob": "UBOB", "vic": "UVIC"}

func newSlackWorld(t *testing.T, policy string, script fakemodel.Script, change ...func(*app.SlackConfig)) *slackWorld {
	t.Helper()
	return slackWorldOn(t, func(*app.Config) {}, policy, script, change...)
}

// slackWorldOn makes a world whose state is kept where a function configures it.
func slackWorldOn(t *testing.T, state func(*app.Config), policy string, script fakemodel.Script, change ...func(*app.SlackConfig)) *slackWorld {
	t.Helper()
	m := team{}
	w := &slackWorld{slack: fakeslack.New(), team: m}
	t.Cleanup(w.slack.Close)
	configure := []func(*app.Config){state, m.with("ada", "admin"), m.with("ann", "reviewer", "finance"), m.with("bob", "reviewer"), m.with("vic", "viewer"), func(c *app.Config) {
		for i := range c.Console.Reviewers {
			c.Console.Reviewers[i].Slack = slackUsers[c.Console.Reviewers[i].Name]
		}
		s := app.SlackConfig{Name: "slack", BotToken: "xoxb-1", AppToken: "xapp-1", Channel: "#approvals", APIURL: w.slack.URL()}
		for _, f := range change {
			f(&s)
		}
		c.Notify.Slack = []app.SlackConfig{s}
		w.config = *c
	}}
	w.world = build(t, policy, script, configure...)
	w.console = w.as(m["ada"])
	if w.config.Notify.Slack[0].AppToken != "" {
		w.until("Slack is connected", w.slack.Connected)
	}
	return w
}

// restart stops heldcall and starts it again on the same state.
func (w *slackWorld) restart() {
	w.t.Helper()
	if err := w.stop(); err != nil {
		w.t.Fatal(err)
	}
	w.start(w.config)
	w.console = w.as(w.team["ada"])
}

func (w *slackWorld) until(what string, holds func() bool) {
	w.t.Helper()
	var poll polling
	for deadline := time.Now().Add(soon); !holds(); poll.sleep() {
		if time.Now().After(deadline) {
			w.t.Fatalf("did not happen: %s; messages: %+v, private messages: %+v", what, w.slack.Messages(), w.slack.Ephemerals())
		}
	}
}

// card waits for the nth message, until it shows a text.
func (w *slackWorld) card(n int, shows string) fakeslack.Message {
	w.t.Helper()
	var m fakeslack.Message
	w.until(fmt.Sprintf("message %d shows %q", n, shows), func() bool {
		all := w.slack.Messages()
		if len(all) <= n {
			return false
		}
		m = all[n]
		return strings.Contains(m.Shown(), shows)
	})
	return m
}

// press presses a button over Socket Mode.
func (w *slackWorld) press(user string, m fakeslack.Message, action, id string) {
	w.t.Helper()
	if _, err := w.slack.OverSocket(fakeslack.Press(user, m, action, id)); err != nil {
		w.t.Fatal(err)
	}
}

// submit sends the form that was opened last, and returns the errors shown in it.
func (w *slackWorld) submit(user string, values map[string]string) map[string]string {
	w.t.Helper()
	views := w.slack.Views()
	if len(views) == 0 {
		w.t.Fatal("no form was opened")
	}
	form, err := fakeslack.Submit(user, views[len(views)-1], values)
	if err != nil {
		w.t.Fatal(err)
	}
	answer, err := w.slack.OverSocket(form)
	if err != nil {
		w.t.Fatal(err)
	}
	var shown struct{ Errors map[string]string }
	if len(answer) > 0 {
		if err := json.Unmarshal(answer, &shown); err != nil {
			w.t.Fatalf("the form is answered with %s: %v", answer, err)
		}
	}
	return shown.Errors
}

// toldAlone waits until a user gets a private message with a text.
func (w *slackWorld) toldAlone(user, text string) {
	w.t.Helper()
	w.until(user+" gets "+text, func() bool {
		return slices.ContainsFunc(w.slack.Ephemerals(), func(e fakeslack.Ephemeral) bool {
			return e.User == user && strings.Contains(e.Text, text)
		})
	})
}

func TestSlackApproves(t *testing.T) {
	t.Parallel()
	w := newSlackWorld(t, askAll, callThenText)
	agent := w.post("/v1/chat/completions", streamedRequest)
	r := w.pending(1)[0]
	m := w.card(0, "ls -la /opensesame")
	if m.Channel != "APPROVALS" || !slices.Equal(m.Buttons(r.ID), []string{pressYes, pressNo, pressNote, pressEdit, pressAlways}) {
		t.Errorf("in %s with the buttons %q", m.Channel, m.Buttons(r.ID))
	}
	for _, text := range []string{"`bash`", "do it", "Let me look.", "#/requests/" + r.ID} {
		if !strings.Contains(m.Shown(), text) {
			t.Errorf("the card does not show %q:\n%s", text, m.Shown())
		}
	}
	w.press("UANN", m, pressYes, r.ID)
	if answer := agent.rest(); !strings.Contains(answer, lsCall.ID) {
		t.Errorf("the agent got %q", answer)
	}
	d := w.status(r.ID, approvals.StatusApproved).Decisions[0]
	if d.ReviewerID != "ann" || d.Channel != "slack" || !slices.Equal(d.ReviewerGroups, []string{"finance"}) {
		t.Errorf("decided by %+v", d)
	}
	if m = w.card(0, "approved by `ann`"); m.Buttons(r.ID) != nil || len(w.slack.Messages()) != 1 {
		t.Errorf("the buttons are still there: %q; %d messages", m.Buttons(r.ID), len(w.slack.Messages()))
	}
}

func TestSlackDeniesWithANote(t *testing.T) {
	t.Parallel()
	w := newSlackWorld(t, askAll, callThenText)
	agent := w.post("/v1/chat/completions", streamedRequest)
	r := w.pending(1)[0]
	m := w.card(0, "bash")
	w.press("UBOB", m, pressNote, r.ID)
	if wrong := w.submit("UBOB", map[string]string{"note": "why not"}); wrong["note"] == "" {
		t.Error("a form without an answer is taken")
	}
	if wrong := w.submit("UBOB", map[string]string{"note": "use <b> & `grep`", "answer": "deny"}); wrong != nil {
		t.Errorf("not taken: %q", wrong)
	}
	if answer := agent.rest(); leaks(answer) != "" {
		t.Errorf("the agent got %q", answer)
	}
	if d := w.status(r.ID, approvals.StatusDenied).Decisions[0]; d.Note != "use <b> & `grep`" || d.ReviewerID != "bob" {
		t.Errorf("decided by %+v", d)
	}
	w.card(0, `denied by `+"`bob`: `use &lt;b&gt; &amp; \\u0060grep\\u0060`")
	if wrong := w.submit("UBOB", map[string]string{"note": "again", "answer": "approve"}); !strings.Contains(wrong["note"], "Too late") {
		t.Errorf("a late form gets %q", wrong)
	}
}

func TestSlackEdits(t *testing.T) {
	t.Parallel()
	w := newSlackWorld(t, askAll, callThenText)
	agent := w.post("/v1/chat/completions", streamedRequest)
	r := w.pending(1)[0]
	w.press("UANN", w.card(0, "bash"), pressEdit, r.ID)
	for _, one := range []struct{ arguments, wrong string }{
		{`{"command": “ls”}`, "not valid JSON"},
		{`{"command":"a","command":"b"}`, "strict JSON"},
		{`{"path":"x"}`, "command"},
		{`[]`, "object"},
	} {
		if wrong := w.submit("UANN", map[string]string{"arguments": one.arguments}); !strings.Contains(wrong["arguments"], one.wrong) {
			t.Errorf("%s: the form shows %q, want %q", one.arguments, wrong, one.wrong)
		}
	}
	w.pending(1)
	if wrong := w.submit("UANN", map[string]string{"arguments": `{"command": "ls /tmp"}`, "note": "elsewhere"}); wrong != nil {
		t.Fatalf("not taken: %q", wrong)
	}
	if answer := agent.rest(); !strings.Contains(answer, "ls /tmp") || strings.Contains(answer, "opensesame") {
		t.Errorf("the agent got %q", answer)
	}
	w.card(0, "approved by `ann` with other arguments: `elsewhere`")
}

func TestSlackAllowsAlways(t *testing.T) {
	t.Parallel()
	w := newSlackWorld(t, askAll, callThenText)
	agent := w.post("/v1/chat/completions", streamedRequest)
	r := w.pending(1)[0]
	m := w.card(0, "bash")
	for _, part := range []string{r.SuggestedPatterns[0], "for `this session`, for 8 hours."} {
		if !strings.Contains(string(m.Blocks), part) {
			t.Errorf("the button lacks %q", part)
		}
	}
	if strings.Contains(string(m.Blocks), "*)") {
		t.Errorf("the button offers more than this call: %s", m.Blocks)
	}
	w.press("UANN", m, pressAlways, r.ID)
	agent.rest()
	w.card(0, "always: `"+r.SuggestedPatterns[0])
	if again := w.post("/v1/chat/completions", streamedRequest); !strings.Contains(again.rest(), lsCall.ID) {
		t.Error("the same call is asked about again")
	}
	page, err := w.console.Grants(t.Context(), approvals.GrantFilter{})
	if err != nil || len(page.Items) != 1 || page.Items[0].Scope != approvals.GrantSession || page.Items[0].ExpiresAt == nil || len(page.Items[0].Patterns) != 1 {
		t.Errorf("finding 29: the grants are %+v, %v", page.Items, err)
	}
}

// Finding 32: an approval that does not decide yet is shown as waiting for more.
func TestFinding32_SlackSaysWhatAnApprovalWaitsFor(t *testing.T) {
	t.Parallel()
	w := newSlackWorld(t, "default: ask\nrules:\n  - ask: [\"bash(*)\"]\n    required_approvals: 2\n", callThenText)
	agent := w.post("/v1/chat/completions", streamedRequest)
	r := w.pending(1)[0]
	m := w.card(0, "2 of whom must approve")
	w.press("UANN", m, pressYes, r.ID)
	w.toldAlone("UANN", "You approved. Waiting for `1 more approval`.")
	w.card(0, "so far: `ann`")
	w.press("UBOB", m, pressYes, r.ID)
	agent.rest()
	w.card(0, "approved by `ann`, `bob`")
}

// A user who may not decide gets a private message, and nothing is decided.
func TestSlackAsksWhoClicks(t *testing.T) {
	t.Parallel()
	w := newSlackWorld(t, "default: ask\nrules:\n  - ask: [\"bash(*)\"]\n    reviewers: [finance]\n", callThenText)
	agent := w.post("/v1/chat/completions", streamedRequest)
	r := w.pending(1)[0]
	m := w.card(0, "members of `finance`")
	w.press("USTRANGER", m, pressYes, r.ID)
	w.toldAlone("USTRANGER", "not a reviewer")
	w.press("UVIC", m, pressYes, r.ID)
	w.toldAlone("UVIC", "your role is `viewer`")
	w.press("UBOB", m, pressYes, r.ID)
	w.toldAlone("UBOB", "members of finance decide this request")
	w.press("UBOB", m, pressNote, r.ID)
	if wrong := w.submit("UBOB", map[string]string{"answer": "approve"}); !strings.Contains(wrong["note"], "members of finance") {
		t.Errorf("bob's form shows %q", wrong)
	}
	if wrong := w.submit("USTRANGER", map[string]string{"answer": "approve"}); !strings.Contains(wrong["note"], "not a reviewer") {
		t.Errorf("the stranger's form shows %q", wrong)
	}
	w.slack.SetUser(fakeslack.User{ID: "UANN", Deleted: true})
	w.press("UANN", m, pressYes, r.ID)
	w.toldAlone("UANN", "not that of an active person")
	w.press("UANN", m, pressYes, "01KAKZ00000000000000000000")
	if got := w.pending(1)[0]; len(got.Decisions) != 0 {
		t.Errorf("decided: %+v", got.Decisions)
	}
	w.slack.SetUser(fakeslack.User{ID: "UANN"})
	w.press("UANN", m, pressYes, "01KAKZ00000000000000000000")
	w.toldAlone("UANN", "no longer exists")
	w.press("UANN", m, pressYes, r.ID)
	agent.rest()
}

// To a reviewer of other tenants, a request whose card they see in a shared channel does not exist.
func TestSlackOfATenant(t *testing.T) {
	t.Parallel()
	var config *app.Config
	w := slackWorldOn(t, func(c *app.Config) { config = c }, askAll, callThenText, func(*app.SlackConfig) {
		for i := range config.Console.Reviewers {
			if config.Console.Reviewers[i].Name == "bob" {
				config.Console.Reviewers[i].Tenants = []string{"theirs"}
			}
		}
	})
	agent := w.post("/v1/chat/completions", streamedRequest)
	r := w.pending(1)[0]
	m := w.card(0, "bash")
	for _, button := range []string{pressYes, pressNote} {
		w.press("UBOB", m, button, r.ID)
		w.toldAlone("UBOB", "no longer exists")
	}
	w.press("UANN", m, pressNote, r.ID)
	if wrong := w.submit("UBOB", map[string]string{"answer": "approve"}); !strings.Contains(wrong["note"], "no longer exists") {
		t.Errorf("bob's form shows %q", wrong)
	}
	if got := w.pending(1)[0]; len(got.Decisions) != 0 {
		t.Errorf("decided: %+v", got.Decisions)
	}
	w.press("UANN", m, pressYes, r.ID)
	agent.rest()
}

func TestSlackTwoClicksAtOnce(t *testing.T) {
	t.Parallel()
	w := newSlackWorld(t, askAll, callThenText)
	agent := w.post("/v1/chat/completions", streamedRequest)
	r := w.pending(1)[0]
	m := w.card(0, "bash")
	var both sync.WaitGroup
	for user, action := range map[string]string{"UANN": pressYes, "UBOB": pressNo} {
		both.Go(func() { w.press(user, m, action, r.ID) })
	}
	both.Wait()
	agent.rest()
	r, err := w.console.Request(t.Context(), r.ID)
	if err != nil || len(r.Decisions) != 1 {
		t.Fatalf("%d decisions: %v", len(r.Decisions), err)
	}
	loser := map[string]string{"ann": "UBOB", "bob": "UANN"}[r.Decisions[0].ReviewerID]
	w.toldAlone(loser, "Too late: ")
	w.toldAlone(loser, "by `"+r.Decisions[0].ReviewerID+"`")
	w.card(0, "by `"+r.Decisions[0].ReviewerID+"`")
}

// A restart loses no card and posts none twice; what was decided meanwhile shows.
func TestSlackRestart(t *testing.T) {
	t.Parallel()
	w := slackWorldOn(t, embedded, askAll, callThenText)
	first := w.post("/v1/chat/completions", streamedRequest)
	r := w.pending(1)[0]
	m := w.card(0, "bash")
	w.restart()
	w.until("Slack is connected", w.slack.Connected)
	w.press("UANN", m, pressYes, r.ID)
	w.card(0, "approved by `ann`")
	if got := w.slack.Messages(); len(got) != 1 {
		t.Errorf("%d messages after a restart: %+v", len(got), got)
	}
	first.cancel()
}

func TestSlackExpiryAndEscalationShow(t *testing.T) {
	t.Parallel()
	w := newSlackWorld(t, "default: ask\nrules:\n  - ask: [\"bash(*)\"]\n    reviewers: [nobody]\n    timeout: 3s\n    escalate: {after: 1s, to: [finance]}\n", callThenText)
	agent := w.post("/v1/chat/completions", streamedRequest)
	r := w.pending(1)[0]
	w.card(0, "members of `nobody`")
	w.card(0, "escalated to `finance`")
	agent.rest()
	m := w.card(0, "expired, not run")
	if m.Buttons(r.ID) != nil {
		t.Errorf("buttons after the end: %q", m.Buttons(r.ID))
	}
	w.press("UANN", m, pressYes, r.ID)
	w.toldAlone("UANN", "Too late: ")
}
