package app_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// Issue 12, number 34: serve logs held, decided, released and expired calls with ids
// and without arguments.
func TestCallsAreLoggedWithIDs(t *testing.T) {
	t.Parallel()
	w := build(t, askAll, callThenText)
	agent := w.post("/v1/chat/completions", streamedRequest)
	id := w.pending(1)[0].ID
	w.decide(id, approvals.Decision{Action: approvals.ActionApprove})
	agent.rest()
	expiring := build(t, "rules: [{ask: [\"*\"], timeout: 1s}]", callThenText)
	expiring.post("/v1/chat/completions", streamedRequest).rest()
	for _, one := range []struct{ log, line string }{
		{w.log.String(), `level=INFO msg="call held" component=gate tool=bash rule=default risk=low request=` + id + ` turn=\w+ run=\S+\n`},
		{w.log.String(), `level=INFO msg="call decided" component=gate tool=bash rule=default risk=low request=` + id + ` turn=\w+ run=\S+ action=approve reviewer=local\n`},
		{w.log.String(), `level=INFO msg="call released" component=gate tool=bash rule=default risk=low request=` + id + ` turn=\w+ run=\S+ action=approve reviewer=local outcome=allowed_by_person\n`},
		{expiring.log.String(), `level=INFO msg="call expired" component=gate tool=bash rule=policy.yaml:1 risk=low request=\w+ turn=\w+ run=\S+ outcome=expired\n`},
	} {
		if found := regexp.MustCompile(one.line).FindAllString(one.log, -1); len(found) != 1 {
			t.Errorf("the log has %d lines like %s:\n%s", len(found), one.line, one.log)
		}
		if strings.Contains(one.log, "opensesame") {
			t.Errorf("the log has arguments:\n%s", one.log)
		}
	}
}

// Finding 2.5 (frameworks): an agent whose tools are text passed with no word. The log
// names the run once.
func TestRunsWithoutToolsAreLoggedOnce(t *testing.T) {
	t.Parallel()
	text := func(r *fakemodel.Request) fakemodel.Reply {
		return fakemodel.Answer{Text: "Fine."}.Reply(r)
	}
	tools := map[string]string{
		"chat/completions": `"tools":[{"type":"function","function":{"name":"f"}}]`,
		"messages":         `"tools":[{"name":"f","input_schema":{"type":"object"}}]`,
		"responses":        `"tools":[{"type":"function","name":"f"}]`,
	}
	w := build(t, askAll, text)
	for path, offer := range tools {
		ask := func(run, fields string) {
			said := `"messages":[{"role":"user","content":"hi"}]`
			if path == "responses" {
				said = `"input":"hi"`
			}
			if r := w.post("/v1/"+path, fmt.Sprintf(`{"model":"m",%s,%s}`, said, fields), "X-Heldcall-Run", run); r.resp.StatusCode != 200 {
				t.Fatalf("%s: %d %s", path, r.resp.StatusCode, r.rest())
			}
		}
		run := strings.ReplaceAll(path, "/", "-")
		ask(run+"-text", `"tools":[]`)
		ask(run+"-text", `"tools":null`)
		ask(run+"-tools", offer)
		for name, want := range map[string]int{run + "-text": 1, run + "-tools": 0} {
			if got := strings.Count(w.log.String(), "offers the model no tools: heldcall holds nothing of what the model writes as text\" component=proxy run="+name); got != want {
				t.Errorf("%s: logged %d times, want %d", name, got, want)
			}
		}
	}
	if asked, offering := w.app.ToolOffers(); asked != 9 || offering != 3 {
		t.Errorf("%d requests, of which %d offered tools, want 9 and 3", asked, offering)
	}
}

// Issue 12, number 35: where no reviewers are configured, the token of the run is
// needed to decide, on the console and over NATS.
func TestTokenOfARun(t *testing.T) {
	t.Parallel()
	var token string
	w := build(t, askAll, callThenText, func(c *app.Config) { token = c.AskLocal() }, embedded)
	if token == "" || strings.Contains(w.log.String(), token) {
		t.Errorf("the token is %q, or in the log", token)
	}
	anybody := w.console
	w.console = w.as(token)
	agent := w.post("/v1/chat/completions", streamedRequest)
	id := w.pending(1)[0].ID
	_, err := anybody.Decide(t.Context(), approve(id))
	wantCode(t, err, "unauthenticated")
	w.natsRefuses(t)
	if reply := connect(t, "nats://"+w.app.NATSAddr(), natsToken(token)).ask("heldcall.v1.decide.local."+id, `{"action":"approve"}`); reply["status"] != "approved" {
		t.Errorf("the decision over NATS: %v", reply)
	}
	if got := agent.rest(); !strings.Contains(got, lsCall.ID) {
		t.Errorf("the agent got %q", got)
	}
	if strings.Contains(w.log.String(), "anyone on this machine can approve") {
		t.Error("the log warns though a token is needed")
	}
}

// Finding 7 (control side): without reviewers the start warns that agents can approve.
func TestWarningWithoutReviewers(t *testing.T) {
	t.Parallel()
	w := build(t, askAll, callThenText)
	if !strings.Contains(w.log.String(), `level=WARN msg="no reviewers configured: anyone on this machine can approve, agents on it too`) {
		t.Errorf("the log does not warn:\n%s", w.log.String())
	}
}
