package app_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/tidwall/gjson"
)

// TestRewriteRules: the agent gets the changed arguments, the request shows them,
// and the model learns of the change.
func TestRewriteRules(t *testing.T) {
	t.Parallel()
	const rewrite = "rules:\n  - rewrite: [\"bash(ls *)\", \"bash(ls -la *)\"]\n    set: {command: \"ls /safe\"}\n"
	released := func(t *testing.T, w *world, got string, events int) {
		t.Helper()
		if !strings.Contains(got, `"arguments":"{\"command\":\"ls /safe\"}"`) || strings.Contains(got, "opensesame") {
			t.Fatalf("got %s", got)
		}
		follow := `{"model":"m","messages":[{"role":"user","content":"do it"},{"role":"assistant","content":"Let me look.","tool_calls":[{"id":"call_sesame","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls /safe\"}"}}]},{"role":"tool","tool_call_id":"call_sesame","content":"/tmp"}]}`
		w.post("/v1/chat/completions", follow).rest()
		requests := w.upstream.Requests()
		if told := string(requests[len(requests)-1].Body); !strings.Contains(told, "policy changed the arguments") {
			t.Errorf("the model did not learn of it: %s", told)
		}
		if events := w.events(events); !strings.Contains(events, `"type":"call_modified"`) || !strings.Contains(events, "opensesame") {
			t.Errorf("the change is not in the audit log: %s", events)
		}
	}
	t.Run("allowed", func(t *testing.T) {
		t.Parallel()
		w := build(t, "default: allow\n"+rewrite, callThenText)
		released(t, w, w.post("/v1/chat/completions", streamedRequest).rest(), 3)
	})
	t.Run("asked about", func(t *testing.T) {
		t.Parallel()
		w := build(t, "default: ask\n"+rewrite, callThenText)
		answer := make(chan string, 1)
		go func() { answer <- w.post("/v1/chat/completions", streamedRequest).rest() }()
		r := w.pending(1)[0]
		if string(r.Arguments) != `{"command":"ls /safe"}` || r.Resource != "ls /safe" || len(r.Details.Commands) != 1 || !strings.Contains(r.Details.RawArguments, "opensesame") {
			t.Errorf("people are asked about %s, %q, %+v", r.Arguments, r.Resource, r.Details)
		}
		w.decide(r.ID, approvals.Decision{Action: approvals.ActionApprove})
		released(t, w, <-answer, 4)
	})
	t.Run("denied once changed", func(t *testing.T) {
		t.Parallel()
		w := build(t, "default: allow\n"+rewrite+"  - deny: [\"bash(ls /safe)\"]\n", callThenText)
		if got := w.post("/v1/chat/completions", wholeRequest).rest(); leaks(got) != "" || !strings.Contains(got, "Understood.") {
			t.Errorf("got %s", got)
		}
	})
}

func shadow(c *app.Config) { c.Policy.Mode = "shadow" }

// TestShadow: a policy in shadow mode holds and denies nothing, and logs what it
// would have done.
func TestShadow(t *testing.T) {
	t.Parallel()
	for policy, says := range map[string]string{denyAll: "deny", askAll: "ask"} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			w := build(t, policy, callThenText, shadow)
			if got := w.post("/v1/chat/completions", wholeRequest).rest(); !strings.Contains(got, "opensesame") {
				t.Errorf("got %s", got)
			}
			if events := w.events(2); !strings.Contains(events, "shadow: the policy's verdict is "+says) {
				t.Errorf("not in the audit log: %s", events)
			}
			if metrics := w.get(w.app.ConsoleURL() + "/metrics"); !strings.Contains(metrics, `heldcall_call_verdicts_total{verdict="`+says+`"} 1`) {
				t.Error("not counted")
			}
			if log := w.log.String(); !strings.Contains(log, "policy.mode is shadow") || !strings.Contains(log, "verdict="+says) {
				t.Errorf("not in the log: %s", log)
			}
		})
	}
}

// TestPolicyIsReloaded: a changed file counts at once, and a bad one not at all.
func TestPolicyIsReloaded(t *testing.T) {
	t.Parallel()
	file := ""
	w := build(t, denyAll, callThenText, func(c *app.Config) { file = c.Policy.File })
	denied := func() bool {
		return leaks(w.post("/v1/chat/completions", wholeRequest).rest()) == ""
	}
	change := func(content, logged string) {
		t.Helper()
		w.logs(logged, func() { writeFile(t, file, content) })
	}
	if !denied() {
		t.Error("the policy does not hold")
	}
	change(allowAll, "the policy has changed")
	if denied() {
		t.Error("the changed policy does not hold")
	}
	change("default: maybe\n", "refused")
	if denied() || !strings.Contains(w.get(w.app.ConsoleURL()+"/metrics"), "heldcall_policy_valid 0") {
		t.Error("a bad policy is taken, or not reported")
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	change(denyAll, "the policy has changed")
	if !denied() || !strings.Contains(w.get(w.app.ConsoleURL()+"/metrics"), "heldcall_policy_valid 1") {
		t.Error("a good policy is not taken after a bad one")
	}
}

// TestDeniedAgain: a call that a person denied is denied at once when it comes
// again in the run, however it is written, until the user speaks.
func TestDeniedAgain(t *testing.T) {
	t.Parallel()
	arguments := `{"command":"ls","cwd":"/"}`
	w := build(t, askAll, func(r *fakemodel.Request) fakemodel.Reply {
		if strings.Contains(string(r.Body), "denied") || strings.Contains(string(r.Body), "refused") {
			return fakemodel.Answer{Text: "Understood."}.Reply(r)
		}
		return fakemodel.Answer{Calls: []fakemodel.Call{{ID: "call_sesame", Name: "bash", Arguments: arguments}}}.Reply(r)
	})
	ask := func(users ...string) chan string {
		answer := make(chan string, 1)
		messages := `{"role":"user","content":"` + strings.Join(users, `"},{"role":"assistant","content":"well"},{"role":"user","content":"`) + `"}`
		go func() {
			answer <- w.post("/v1/chat/completions", `{"model":"m","messages":[`+messages+`]}`, "X-Heldcall-Run", "run-1").rest()
		}()
		return answer
	}
	first := ask("do it")
	w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionDeny, Note: "not on Fridays"})
	<-first
	arguments = `{ "cwd": "\u002f", "command": "ls" }` // the same, written otherwise
	if got := <-ask("do it"); leaks(got) != "" {
		t.Errorf("got %s", got)
	}
	requests := w.upstream.Requests()
	if told := string(requests[len(requests)-1].Body); !strings.Contains(told, "already denied") || !strings.Contains(told, "not on Fridays") {
		t.Errorf("the model got %s", told)
	}
	arguments = `{"command":"ls","cwd":"/x"}`
	other := ask("do it") // another call
	w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionDeny})
	<-other
	arguments = `{"command":"ls","cwd":"/"}`
	again := ask("do it", "do it") // the user insists
	w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionApprove})
	if got := <-again; !strings.Contains(got, "call_sesame") {
		t.Errorf("got %s", got)
	}
}

// TestTemplates: people read the title of the rule, and the model its denial.
func TestTemplates(t *testing.T) {
	t.Parallel()
	w := build(t, `
rules:
  - ask: [bash]
    title: "Run {{.Args.command}} for {{.Principal.Tenant}}?"
    denial: "{{.Outcome}} by {{.Reviewer}}: {{.Note}}"
`, callThenText)
	answer := make(chan string, 1)
	go func() { answer <- w.post("/v1/chat/completions", wholeRequest).rest() }()
	r := w.pending(1)[0]
	if r.Title != "Run ls -la /opensesame for default?" {
		t.Errorf("title %q", r.Title)
	}
	w.decide(r.ID, approvals.Decision{Action: approvals.ActionDeny, Note: "not now"})
	<-answer
	if told := gjson.GetBytes(w.upstream.Requests()[1].Body, "messages.2.content").Str; told != "denied_by_person by local: not now" {
		t.Errorf("the model got %q", told)
	}
}

// TestArgumentsBesideTheSchema: people are warned of arguments that the tool's own
// schema does not know or wants otherwise, in each API.
func TestArgumentsBesideTheSchema(t *testing.T) {
	t.Parallel()
	w := build(t, askAll, func(r *fakemodel.Request) fakemodel.Reply {
		return fakemodel.Answer{Calls: []fakemodel.Call{{ID: "call_1", Name: "bash", Arguments: `{"command":["ls"],"sudo":true}`}}}.Reply(r)
	})
	for path, body := range dialectRequests {
		body = strings.Replace(body, `{"type":"object"}`, `{"type":"object","properties":{"command":{"type":"string"}}}`, 1)
		answer := make(chan string, 1)
		go func() { answer <- w.post(path, body).rest() }()
		r := w.pending(1)[0]
		for _, want := range []string{"The tool's schema does not know the argument sudo.", "The argument command is of type array, and the tool's schema wants string."} {
			if !slices.Contains(r.Details.Flags, want) {
				t.Errorf("%s: the request lacks %q: %q", path, want, r.Details.Flags)
			}
		}
		w.decide(r.ID, approvals.Decision{Action: approvals.ActionApprove})
		<-answer
	}
}
