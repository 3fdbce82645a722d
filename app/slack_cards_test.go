package app_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/heldcall/heldcall/internal/testing/fakeslack"
)

// The calls of one answer are on one card; the cards of one run in one thread.
func TestSlackCardsOfATurnAndARun(t *testing.T) {
	t.Parallel()
	two := func(r *fakemodel.Request) fakemodel.Reply {
		second := fakemodel.Call{ID: "call_2", Name: "bash", Arguments: `{"command":"rm it"}`}
		if strings.Contains(string(r.Body), `"role":"tool"`) {
			return callThenText(r)
		}
		return fakemodel.Answer{ID: "chatcmpl-1", Calls: []fakemodel.Call{lsCall, second}}.Reply(r)
	}
	w := newSlackWorld(t, askAll, two)
	agent := w.post("/v1/chat/completions", streamedRequest, "X-Heldcall-Run", "task-1")
	requests := w.pending(2)
	m := w.card(0, "rm it")
	w.press("UANN", m, pressYes, requests[0].ID)
	m = w.card(0, "approved by `ann`")
	if m.Buttons(requests[0].ID) != nil || m.Buttons(requests[1].ID) == nil {
		t.Errorf("buttons %q and %q", m.Buttons(requests[0].ID), m.Buttons(requests[1].ID))
	}
	w.press("UANN", m, pressNo, requests[1].ID)
	agent.rest()
	w.post("/v1/chat/completions", streamedRequest, "X-Heldcall-Run", "task-1")
	w.pending(1) // what was denied is not asked about again
	if second := w.card(1, "opensesame"); second.ThreadTS != m.TS || !second.Broadcast {
		t.Errorf("the second card of the run is in thread %q, the first is %q", second.ThreadTS, m.TS)
	}
}

// The calls of several answers of a run that come within two seconds are on one card, which decides
// them all or singly.
func TestSlackDecidesAllCallsOfARun(t *testing.T) {
	t.Parallel()
	w := newSlackWorld(t, askAll, func(r *fakemodel.Request) fakemodel.Reply {
		if strings.Contains(string(r.Body), `"role":"tool"`) {
			return callThenText(r)
		}
		command := "ls a"
		for _, name := range []string{"b", "c", "d"} {
			if strings.Contains(string(r.Body), "task "+name) {
				command = "ls " + name
			}
		}
		return fakemodel.Answer{ID: "chatcmpl-" + command, Calls: []fakemodel.Call{{ID: "call_" + command[3:], Name: "bash", Arguments: `{"command":"` + command + `"}`}}}.Reply(r)
	})
	ask := func(names ...string) (agents []*call) {
		for _, name := range names {
			agents = append(agents, w.post("/v1/chat/completions", strings.Replace(streamedRequest, "do it", "task "+name, 1), "X-Heldcall-Session", "s", "X-Heldcall-Run", "run"))
		}
		return agents
	}
	ids := func(n int) string {
		var all []string
		for _, r := range w.pending(n) {
			all = append(all, r.ID)
		}
		return strings.Join(all, ",")
	}
	agents := ask("a", "b", "c")
	all := ids(3)
	m := w.card(0, "3 calls: 3 pending")
	if got := m.Buttons(all); !slices.Equal(got, []string{"heldcall_approve_all", "heldcall_deny_all"}) {
		t.Fatalf("the buttons for all are %q:\n%s", got, m.Shown())
	}
	w.press("UVIC", m, "heldcall_approve_all", all)
	w.toldAlone("UVIC", "view-only access")
	var denied string // the call of agent 0; the order of the calls is that of their arrival
	for _, r := range w.pending(3) {
		if r.ToolCallID == "call_a" {
			denied = r.ID
		}
	}
	rest := strings.Trim(strings.Replace(","+all+",", ","+denied+",", ",", 1), ",")
	w.press("UANN", m, pressNo, denied)
	m = w.card(0, "3 calls: 2 pending")
	if m.Buttons(rest) == nil || m.Buttons(all) != nil {
		t.Errorf("the buttons after one decision: %q, %q", m.Buttons(rest), m.Buttons(all))
	}
	w.press("UANN", m, "heldcall_approve_all", all) // of the card before
	w.card(0, "3 calls: none pending")
	for i, agent := range agents {
		if got := agent.rest(); strings.Contains(got, "tool_calls") != (i > 0) {
			t.Errorf("agent %d gets %s", i, got)
		}
	}
	if n := len(w.slack.Messages()); n != 1 {
		t.Errorf("%d messages for three calls", n)
	}
	agents = ask("d")
	m = w.card(1, "ls d")
	if m.Buttons(ids(1)) == nil || strings.Contains(m.Shown(), "Approve all") {
		t.Errorf("one call alone:\n%s", m.Shown())
	}
	w.press("UANN", m, pressNo, ids(1))
	agents[0].rest()
}

// What does not fit into a message cannot be approved from Slack, however it is asked.
func TestSlackApprovesOnlyWhatItShows(t *testing.T) {
	t.Parallel()
	long := fakemodel.Call{ID: "call_long", Name: "bash", Arguments: `{"command":"ls ` + strings.Repeat("x", 4000) + `"}`}
	w := newSlackWorld(t, askAll, func(r *fakemodel.Request) fakemodel.Reply {
		return fakemodel.Answer{ID: "chatcmpl-1", Calls: []fakemodel.Call{long}}.Reply(r)
	})
	agent := w.post("/v1/chat/completions", streamedRequest)
	r := w.pending(1)[0]
	m := w.card(0, "too long for Slack")
	if got := m.Buttons(r.ID); !slices.Equal(got, []string{pressNo}) {
		t.Errorf("the buttons are %q", got)
	}
	for _, action := range []string{pressYes, pressAlways, pressEdit, pressNote} {
		w.press("UANN", m, action, r.ID)
	}
	w.toldAlone("UANN", "Not possible from Slack")
	if got := w.pending(1)[0]; len(got.Decisions) != 0 || len(w.slack.Views()) != 0 {
		t.Errorf("decided %+v, %d forms", got.Decisions, len(w.slack.Views()))
	}
	agent.cancel()
}

// What a model writes shows as it is and does nothing.
func TestSlackHostileTexts(t *testing.T) {
	t.Parallel()
	hostile := fakemodel.Call{ID: "call_h", Name: "bash", Arguments: `{"command":"<!channel> <@U1> <https://evil.example|ok> &amp; ` + "```" + `\u202e*x*\u200b"}`}
	w := newSlackWorld(t, askAll, func(r *fakemodel.Request) fakemodel.Reply {
		return fakemodel.Answer{ID: "chatcmpl-1", Text: "<!here> ``` *bold*\n<https://evil.example>", Calls: []fakemodel.Call{hostile}}.Reply(r)
	})
	agent := w.post("/v1/chat/completions", streamedRequest)
	w.pending(1)
	shown := w.card(0, "bash").Shown()
	for _, bad := range []string{"<!channel>", "<!here>", "<@U1>", "<https://evil", "\u202e", "\u200b"} {
		if strings.Contains(shown, bad) {
			t.Errorf("the card has %q:\n%s", bad, shown)
		}
	}
	for _, good := range []string{"&lt;!channel&gt;", "&amp;amp;", `\u202e*x*\u200b`, `\u0060\u0060\u0060`} {
		if !strings.Contains(shown, good) {
			t.Errorf("the card lacks %q:\n%s", good, shown)
		}
	}
	if fences := strings.Count(shown, "```"); fences%2 != 0 {
		t.Errorf("%d fences: text of the model ends one", fences)
	}
	agent.cancel()
}

// Clicks over HTTP: only what the app's secret signed, lately.
func TestSlackOverHTTP(t *testing.T) {
	t.Parallel()
	w := newSlackWorld(t, askAll, callThenText, func(s *app.SlackConfig) { s.AppToken, s.SigningSecret = "", slackSecret })
	agent := w.post("/v1/chat/completions", streamedRequest)
	r := w.pending(1)[0]
	m := w.card(0, "bash")
	hook := w.app.ConsoleURL() + "/hooks/slack"
	click := fakeslack.Press("UANN", m, pressYes, r.ID)
	f := func(what, secret string, at time.Time, change func(*http.Request), want int) {
		t.Helper()
		req, err := fakeslack.Signed(hook, secret, click, at)
		if err != nil {
			t.Fatal(err)
		}
		if change != nil {
			change(req)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: status %d, want %d", what, resp.StatusCode, want)
		}
	}
	now := time.Now()
	f("another secret", "other", now, nil, http.StatusUnauthorized)
	f("six minutes ago", slackSecret, now.Add(-6*time.Minute), nil, http.StatusUnauthorized)
	f("in six minutes", slackSecret, now.Add(6*time.Minute), nil, http.StatusUnauthorized)
	f("no signature", slackSecret, now, func(r *http.Request) { r.Header.Del("X-Slack-Signature") }, http.StatusUnauthorized)
	f("another time", slackSecret, now.Add(-time.Minute), func(r *http.Request) { r.Header.Set("X-Slack-Request-Timestamp", fmt.Sprint(now.Unix())) }, http.StatusUnauthorized)
	f("a GET", slackSecret, now, func(r *http.Request) { r.Method = http.MethodGet }, http.StatusMethodNotAllowed)
	if got := w.pending(1)[0]; len(got.Decisions) != 0 {
		t.Fatalf("decided: %+v", got.Decisions)
	}
	status, _, err := fakeslack.OverHTTP(hook, slackSecret, click)
	if err != nil || status != http.StatusOK {
		t.Fatalf("status %d: %v", status, err)
	}
	agent.rest()
	w.card(0, "approved by `ann`")
	f("the same again", slackSecret, now, nil, http.StatusOK)
	w.toldAlone("UANN", "Too late: ")
	if r := w.status(r.ID, approvals.StatusApproved); len(r.Decisions) != 1 {
		t.Errorf("%d decisions", len(r.Decisions))
	}
}

// A Slack that is down or slow holds up no call and no answer from elsewhere.
func TestSlackDownDelaysNothing(t *testing.T) {
	t.Parallel()
	w := newSlackWorld(t, askAll, callThenText)
	w.slack.Answers(func(string) fakeslack.Answer { return fakeslack.Answer{Hang: true} })
	agent := w.post("/v1/chat/completions", streamedRequest)
	r := w.pending(1)[0]
	w.decide(r.ID, approvals.Decision{Action: approvals.ActionApprove})
	if answer := agent.rest(); !strings.Contains(answer, lsCall.ID) {
		t.Errorf("the agent got %q", answer)
	}
	w.slack.Answers(nil)
}

// TestSlackSetupFault: W14. While Slack refuses cards because of the app's setup it is asked once for a card, and the log,
// /readyz and the metrics name what to do; calls are held and decided elsewhere. The card comes when that is corrected.
func TestSlackSetupFault(t *testing.T) {
	t.Parallel()
	w := newSlackWorld(t, askAll, callThenText)
	var mu sync.Mutex
	posts := 0
	w.slack.Answers(func(method string) (a fakeslack.Answer) {
		mu.Lock()
		defer mu.Unlock()
		if method == "chat.postMessage" {
			posts++
			a.Error = "not_in_channel"
		}
		return a
	})
	first := w.begin("/v1/chat/completions", streamedRequest)
	r := w.pending(1)[0]
	console := w.app.ConsoleURL()
	w.until("the fault is shown", func() bool { return strings.Contains(w.get(console+"/readyz"), "invite the app") })
	if ready := w.get(console + "/readyz"); !strings.Contains(ready, `{"name":"channels","ok":false,"error":"slack: chat.postMessage: Slack answers`) || !strings.Contains(ready, `"status":"ready"`) {
		t.Errorf("readiness is %s", ready)
	}
	if metrics := w.get(console + "/metrics"); !strings.Contains(metrics, `heldcall_notify_faults{channel="slack"} 1`) {
		t.Error("the metrics do not have the fault")
	}
	if log := w.log.String(); !strings.Contains(log, "the channel cannot post until its setup is corrected") || !strings.Contains(log, "(/invite)") {
		t.Error("the log does not state what to do")
	}
	w.slack.Answers(nil)
	second := w.begin("/v1/chat/completions", strings.Replace(streamedRequest, "do it", "do it too", 1))
	w.until("both cards are there", func() bool { return len(w.slack.Messages()) == 2 })
	for _, p := range w.pending(2) {
		w.decide(p.ID, approvals.Decision{Action: approvals.ActionApprove})
	}
	<-first
	<-second
	w.until("the fault is over", func() bool { return strings.Contains(w.get(console+"/readyz"), `{"name":"channels","ok":true}`) })
	mu.Lock()
	defer mu.Unlock()
	if posts != 1 {
		t.Errorf("Slack was asked %d times for the card of %s", posts, r.ID)
	}
}

// One card of a run has a question for calls that may be joined. A button decides the calls that its card has shown; a critical
// call, and one that a rule asks about, are decided by themselves, whatever a press names.
func TestSlackJointQuestion(t *testing.T) {
	t.Parallel()
	var late atomic.Bool
	w := newSlackWorld(t, mixedPolicy, func(r *fakemodel.Request) fakemodel.Reply {
		switch {
		case strings.Contains(string(r.Body), `"role":"tool"`):
			return callThenText(r)
		case late.Load():
			return fakemodel.Answer{ID: "chatcmpl-2", Calls: mixedCalls("late", "make all")}.Reply(r)
		}
		return fakemodel.Answer{ID: "chatcmpl-1", Calls: append(mixedCalls("c", "make test", "make lint", "git push"), fakemodel.Call{ID: "c-wipe", Name: "wipe", Arguments: `{}`})}.Reply(r)
	})
	first := w.post("/v1/chat/completions", streamedRequest, "X-Heldcall-Session", "s", "X-Heldcall-Run", "run")
	byCommand := w.byPreview(4)
	joined := []string{byCommand["make test"].ID, byCommand["make lint"].ID}
	slices.Sort(joined)
	m := w.card(0, "4 calls: 4 pending")
	if m.Buttons(strings.Join(joined, ",")) == nil || strings.Count(m.Shown(), "one question") != 1 || !strings.Contains(m.Shown(), "`Runs 2 checks`") {
		t.Fatalf("the card is\n%s", m.Shown())
	}
	for _, other := range []string{"git push", "{}"} {
		w.press("UANN", m, "heldcall_approve_all", joined[0]+","+byCommand[other].ID)
	}
	w.toldAlone("UANN", "not one question now")
	late.Store(true)
	second := w.post("/v1/chat/completions", streamedRequest, "X-Heldcall-Session", "s", "X-Heldcall-Run", "run")
	if all := w.byPreview(5); all["make all"].Together != byCommand["make test"].Together {
		t.Errorf("the later call is of %q", all["make all"].Together)
	}
	w.press("UANN", m, "heldcall_approve_all", strings.Join(joined, ","))
	left := w.byPreview(3)
	for _, preview := range []string{"git push", "{}", "make all"} {
		if left[preview].ID == "" {
			t.Errorf("%s does not wait", preview)
		}
		w.decide(left[preview].ID, approvals.Decision{Action: approvals.ActionDeny})
	}
	first.rest()
	second.rest()
}
