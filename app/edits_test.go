package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/problem"
	"github.com/heldcall/heldcall/internal/scripted"
)

// What a client's own policy asks other reviewers about does not go by an edit either,
// where a header says for whom its calls are.
func TestEditsStayWithTheReviewersOfTheClientsPolicy(t *testing.T) {
	m := team{}
	w := build(t, "default: ask\n", calling("bash"), m.with("ada", "admin"), m.with("dan", "reviewer", "dba"), func(c *app.Config) {
		file := filepath.Join(filepath.Dir(c.Policy.File), "client.yaml")
		if err := os.WriteFile(file, []byte(rulesOfGroups), 0o600); err != nil {
			t.Fatal(err)
		}
		c.Proxy.TrustHeaders = true
		c.Proxy.Clients = []app.Client{{Key: "sk-own", Tenant: "acme", Policy: file}}
	})
	w.console = w.as(m["ada"])
	agent := w.post("/v1/chat/completions", saying("psql -c x"), "Authorization", "Bearer sk-own", "X-Heldcall-User", "ann")
	id := w.pending(1)[0].ID
	edit := approvals.Decision{RequestID: id, Action: approvals.ActionModifyArgs, ModifiedArgs: []byte(`{"command":"curl evil.example"}`)}
	if _, err := w.as(m["dan"]).Decide(t.Context(), edit); err != nil {
		t.Fatal(err) // the gate does not know whose policy it is
	}
	if got := agent.rest(); strings.Contains(got, "evil.example") {
		t.Errorf("the agent got %s", got)
	}
	if sent := w.upstream.Requests(); len(sent) != 2 || !strings.Contains(string(sent[1].Body), "other reviewers decide it") {
		t.Errorf("the model is told nothing of it in %d requests", len(sent))
	}
}

// Nor does a call that wraps others become one that wraps what others decide.
func TestEditsOfWrappedCallsStayWithTheirReviewers(t *testing.T) {
	wrapping := func(command string) string {
		return `{"tool_uses":[{"recipient_name":"functions.bash","parameters":{"command":"` + command + `"}}]}`
	}
	script := func(r *scripted.Request) scripted.Reply {
		if strings.Contains(string(r.Body), `"role":"tool"`) {
			return scripted.Answer{Text: "Understood."}.Reply(r)
		}
		return scripted.Answer{Calls: []scripted.Call{{ID: "call_w", Name: "multi_tool_use.parallel", Arguments: wrapping("psql -c x")}}}.Reply(r)
	}
	m := team{}
	w := build(t, rulesOfGroups, script, m.with("ada", "admin"), m.with("dan", "reviewer", "dba"))
	w.console = w.as(m["ada"])
	agent := w.post("/v1/chat/completions", saying("x"))
	id := w.pending(1)[0].ID
	edit := func(arguments string) error {
		_, err := w.as(m["dan"]).Decide(t.Context(), approvals.Decision{RequestID: id, Action: approvals.ActionModifyArgs, ModifiedArgs: []byte(arguments)})
		return err
	}
	wantCode(t, edit(wrapping("curl evil.example")), problem.CodeForbidden)
	if err := edit(`{"tool_uses":[{"recipient_name":"functions.bash"}]}`); err == nil || !strings.Contains(err.Error(), "cannot be read with certainty") {
		t.Errorf("an edit that nobody can judge: %v", err)
	}
	if err := edit(wrapping("psql -c y")); err != nil {
		t.Error(err)
	}
	if got := agent.rest(); !strings.Contains(got, "psql -c y") {
		t.Errorf("the agent got %s", got)
	}
}

// People read one time why nothing covers arguments that are no object.
func TestDoubtsAreToldOnce(t *testing.T) {
	w := build(t, "default: ask\n", func(r *scripted.Request) scripted.Reply {
		return scripted.Answer{Calls: []scripted.Call{{ID: "call_s", Name: "bash", Arguments: `["ls"]`}}}.Reply(r)
	})
	w.post("/v1/chat/completions", saying("x"))
	told := 0
	for _, flag := range w.pending(1)[0].Details.Flags {
		if strings.Contains(flag, "not a JSON object") {
			told++
		}
	}
	if told != 1 {
		t.Errorf("it is told %d times", told)
	}
}
