package app_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/problem"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// ownPolicy gives the clients sk-own and sk-other policies of their own, in files of the
// same name, and lets headers name their users.
func ownPolicy(t *testing.T, own, other string) func(*app.Config) {
	return func(c *app.Config) {
		dir := filepath.Dir(c.Policy.File)
		c.Proxy.TrustHeaders = true
		for name, rules := range map[string]string{"own": own, "other": other} {
			if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
				t.Fatal(err)
			}
			file := writeFile(t, filepath.Join(dir, name, "client.yaml"), rules)
			c.Proxy.Clients = append(c.Proxy.Clients, app.Client{Key: app.Secret("sk-" + name), Tenant: "acme", Policy: file})
		}
	}
}

// A call of a client with a policy of its own is not edited to one about which that policy
// asks other reviewers, although a header names its user.
func TestEditsStayWithTheReviewersOfTheClientsPolicy(t *testing.T) {
	t.Parallel()
	m := team{}
	w := build(t, "default: ask\n", calling("bash"), m.with("ada", "admin"), m.with("dan", "reviewer", "dba"), ownPolicy(t, rulesOfGroups, allowAll))
	w.console = w.as(m["ada"])
	agent := w.post("/v1/chat/completions", saying("psql -c x"), "Authorization", "Bearer sk-own", "X-Heldcall-User", "ann")
	id := w.pending(1)[0].ID
	edit := func(command string) error {
		_, err := w.as(m["dan"]).Decide(t.Context(), approvals.Decision{RequestID: id, Action: approvals.ActionModifyArgs, ModifiedArgs: []byte(`{"command":"` + command + `"}`)})
		return err
	}
	wantCode(t, edit("curl evil.example"), problem.CodeForbidden)
	if r := w.status(id, approvals.StatusPending); len(r.Decisions) != 0 {
		t.Errorf("the refused edit is recorded: %+v", r.Decisions)
	}
	if err := edit("psql -c y"); err != nil {
		t.Error(err)
	}
	if got := agent.rest(); !strings.Contains(got, "psql -c y") {
		t.Errorf("the agent got %s", got)
	}
}

// TestEditIsJudgedBeforeTheReviewerIsAnswered: an edit that the client's policy denies, by
// a rule or its default, is refused, and the request stays open. An edit that is
// taken is released, whatever other policies deny.
func TestEditIsJudgedBeforeTheReviewerIsAnswered(t *testing.T) {
	t.Parallel()
	const own = "default: deny\ntools:\n  bash: {resource: command, as: shell}\nrules:\n  - ask: [\"bash(ls *)\"]\n  - allow: [\"bash(cat *)\"]\n  - deny: [\"bash(ls /etc)\"]\n"
	w := build(t, denyAll, callThenText, ownPolicy(t, own, denyAll))
	agent := w.post("/v1/chat/completions", wholeRequest, "Authorization", "Bearer sk-own", "X-Heldcall-User", "ann")
	r := w.pending(1)[0]
	if r.Details.Policy != "own/client.yaml" {
		t.Errorf("the request names the policy %q", r.Details.Policy)
	}
	for command, reason := range map[string]string{
		"ls /etc": "client.yaml:7 denies them",
		"rm x":    "default denies them",
	} {
		_, err := w.console.Decide(t.Context(), approvals.Decision{RequestID: r.ID, Action: approvals.ActionModifyArgs, ModifiedArgs: []byte(`{"command":"` + command + `"}`)})
		if !errors.As(err, new(*approvals.InvalidError)) || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %v", command, err)
		}
		w.status(r.ID, approvals.StatusPending)
	}
	w.decide(r.ID, approvals.Decision{Action: approvals.ActionModifyArgs, ModifiedArgs: []byte(`{"command":"cat y"}`)})
	if got := agent.rest(); !strings.Contains(got, "cat y") || len(w.upstream.Requests()) != 1 {
		t.Errorf("the agent got %s after %d requests upstream", got, len(w.upstream.Requests()))
	}
}

// Nor does a call that wraps others become one that wraps what others decide.
func TestEditsOfWrappedCallsStayWithTheirReviewers(t *testing.T) {
	t.Parallel()
	wrapping := func(command string) string {
		return `{"tool_uses":[{"recipient_name":"functions.bash","parameters":{"command":"` + command + `"}}]}`
	}
	script := func(r *fakemodel.Request) fakemodel.Reply {
		if strings.Contains(string(r.Body), `"role":"tool"`) {
			return fakemodel.Answer{Text: "Understood."}.Reply(r)
		}
		return fakemodel.Answer{Calls: []fakemodel.Call{{ID: "call_w", Name: "multi_tool_use.parallel", Arguments: wrapping("psql -c x")}}}.Reply(r)
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
		t.Errorf("an edit that cannot be judged: %v", err)
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
	t.Parallel()
	w := build(t, "default: ask\n", func(r *fakemodel.Request) fakemodel.Reply {
		return fakemodel.Answer{Calls: []fakemodel.Call{{ID: "call_s", Name: "bash", Arguments: `["ls"]`}}}.Reply(r)
	})
	w.post("/v1/chat/completions", saying("x"))
	told := 0
	for _, flag := range w.pending(1)[0].Details.Flags {
		if strings.Contains(flag, "not a JSON object") {
			told++
		}
	}
	if told != 1 {
		t.Errorf("the edit is reported %d times", told)
	}
}
