package app_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// times is a model that makes n calls at once, and answers with text after a denial or a
// result.
func times(n *int) fakemodel.Script {
	return func(r *fakemodel.Request) fakemodel.Reply {
		if strings.Contains(string(r.Body), `"role":"tool"`) {
			return fakemodel.Answer{Text: "Understood.", Fragment: 100}.Reply(r)
		}
		var calls []fakemodel.Call
		for i := range *n {
			calls = append(calls, fakemodel.Call{ID: fmt.Sprintf("call_%d", i), Name: "bash", Arguments: fmt.Sprintf(`{"command":"ls %d"}`, i)})
		}
		return fakemodel.Answer{Calls: calls}.Reply(r)
	}
}

const (
	lsLimited  = "tools:\n  bash: {resource: command, as: shell}\nrules:\n  - allow: [\"bash(ls *)\"]\n    limit: "
	askLimited = "rules:\n  - ask: [bash]\n    limit: "
)

// received are the numbers of the calls that an answer holds.
func received(answer string) (numbers string) {
	for i := range 10 {
		if strings.Contains(answer, fmt.Sprintf("ls %d", i)) {
			numbers += fmt.Sprint(i)
		}
	}
	return numbers
}

// TestLimitPerTurn: of a batch as many calls pass as the rule permits, the others are
// denied; the next turn has a new count.
func TestLimitPerTurn(t *testing.T) {
	t.Parallel()
	n := 4
	w := build(t, lsLimited+"{per_turn: 3, then: deny}\n", times(&n))
	for range 2 {
		if got := received(w.post("/v1/chat/completions", wholeRequest).rest()); got != "012" {
			t.Errorf("the agent got the calls %q", got)
		}
	}
	events := w.events(14)
	if want := "The policy's limit of 3 calls a turn for bash(ls *) is reached."; strings.Count(events, want) != 2 {
		t.Errorf("not in the audit log: %s", events)
	}
}

// TestLimitPerRun: calls beyond the limit are requests with the reason; another run
// has its own count.
func TestLimitPerRun(t *testing.T) {
	t.Parallel()
	n := 2
	w := build(t, lsLimited+"{per_run: 3}\n    reviewers: [ops]\n", times(&n))
	post := func(run string) chan string {
		answer := make(chan string, 1)
		go func() { answer <- w.post("/v1/chat/completions", streamedRequest, "X-Heldcall-Run", run).rest() }()
		return answer
	}
	if got := received(<-post("a")); got != "01" {
		t.Errorf("the agent got the calls %q", got)
	}
	answer := post("a")
	r := w.pending(1)[0]
	if want := "The policy's limit of 3 calls a run for bash(ls *) is reached."; r.Reason != want || r.ArgsPreview != "ls 1" || fmt.Sprint(r.Reviewers) != "[ops]" {
		t.Errorf("people are asked about %s because %q, and %v may decide", r.ArgsPreview, r.Reason, r.Reviewers)
	}
	w.decide(r.ID, approvals.Decision{Action: approvals.ActionApprove})
	if got := received(<-answer); got != "01" {
		t.Errorf("the agent got the calls %q", got)
	}
	if got := received(<-post("b")); got != "01" {
		t.Errorf("in another run the agent got the calls %q", got)
	}
}

// TestLimitOfQuestions: people are asked so often, then the call is denied; what
// they deny does not count.
func TestLimitOfQuestions(t *testing.T) {
	t.Parallel()
	n := 1
	w := build(t, askLimited+"{per_run: 1}\n    denial: 'No more: {{.Reason}}'\n", times(&n))
	for i, action := range []approvals.Action{approvals.ActionDeny, approvals.ActionApprove} {
		answer := make(chan string, 1)
		body := strings.Replace(wholeRequest, "do it", fmt.Sprint("try ", i), 1)
		go func() { answer <- w.post("/v1/chat/completions", body, "X-Heldcall-Run", "a").rest() }()
		w.decide(w.pending(1)[0].ID, approvals.Decision{Action: action})
		<-answer
	}
	if got := w.post("/v1/chat/completions", strings.Replace(wholeRequest, "do it", "try 3", 1), "X-Heldcall-Run", "a").rest(); received(got) != "" {
		t.Errorf("got %s", got)
	}
	requests := w.upstream.Requests()
	if told := string(requests[len(requests)-1].Body); !strings.Contains(told, "No more: The policy's limit of 1 call a run for bash is reached.") {
		t.Errorf("the model got %s", told)
	}
}

// TestLimitPerMinute counts over the runs of a principal, also of a tool that is allowed whatever
// its arguments.
func TestLimitPerMinute(t *testing.T) {
	t.Parallel()
	n := 2
	w := build(t, "rules:\n  - allow: [bash]\n    limit: {per_minute: 5, then: deny}\n", times(&n))
	for i, want := range []string{"01", "01", "0", ""} {
		got := received(w.post("/v1/chat/completions", streamedRequest, "X-Heldcall-Run", fmt.Sprint("run-", i)).rest())
		if got != want {
			t.Errorf("request %d: the agent got the calls %q, want %q", i, got, want)
		}
	}
}

// TestLimitInShadow: a call that would have been denied passes and is logged.
func TestLimitInShadow(t *testing.T) {
	t.Parallel()
	n := 2
	w := build(t, lsLimited+"{per_turn: 1, then: deny}\n", times(&n), shadow)
	if got := received(w.post("/v1/chat/completions", wholeRequest).rest()); got != "01" {
		t.Errorf("the agent got the calls %q", got)
	}
	if events := w.events(4); !strings.Contains(events, "shadow: the policy's verdict is deny: The policy's limit of 1 call a turn") {
		t.Errorf("not in the audit log: %s", events)
	}
}

// TestLimitsOfTwoGroups: a call beyond the limits of two rules waits for the reviewers of
// both.
func TestLimitsOfTwoGroups(t *testing.T) {
	t.Parallel()
	n, m := 1, team{}
	w := build(t, lsLimited+"{per_run: 1}\n    reviewers: [ops]\n  - allow: [bash]\n    limit: {per_run: 1}\n    reviewers: [security]\n", times(&n),
		m.with("ada", "admin"), m.with("olaf", "reviewer", "ops"), m.with("sue", "reviewer", "security"))
	w.console = w.as(m["ada"])
	if got := received(w.post("/v1/chat/completions", wholeRequest, "X-Heldcall-Run", "a").rest()); got != "0" {
		t.Fatalf("the agent got the calls %q", got)
	}
	agent := w.post("/v1/chat/completions", streamedRequest, "X-Heldcall-Run", "a")
	id := w.pending(1)[0].ID
	for i, who := range []string{"olaf", "sue"} {
		r, err := w.as(m[who]).Decide(t.Context(), approve(id))
		if err != nil || r.Status.Final() != (i == 1) {
			t.Fatalf("after %s the request is %s, %v", who, r.Status, err)
		}
	}
	if got := received(agent.rest()); got != "0" {
		t.Errorf("the agent got the calls %q", got)
	}
}
