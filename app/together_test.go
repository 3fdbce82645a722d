package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// mixedPolicy asks by its default, by a rule, and about a critical tool.
const mixedPolicy = `default: ask
tools:
  bash: {resource: command, as: shell}
rules:
  - ask: ["bash(git push *)"]
  - ask: [wipe]
    risk: critical
`

// mixedCalls are commands as calls of a model.
func mixedCalls(id string, commands ...string) (calls []fakemodel.Call) {
	for i, command := range commands {
		calls = append(calls, fakemodel.Call{ID: fmt.Sprintf("%s-%d", id, i), Name: "bash", Arguments: fmt.Sprintf(`{"command":%q}`, command)})
	}
	return calls
}

// byPreview waits until n requests are pending, and returns them by what lists show of them.
func (w *world) byPreview(n int) map[string]approvals.Request {
	w.t.Helper()
	all := map[string]approvals.Request{}
	for _, r := range w.pending(n) {
		all[r.ArgsPreview] = r
	}
	return all
}

// TestDecisionsOnAQuestion: the server states which requests are one question. A decision on it names those that were shown: one
// that came later waits, and one that was decided before blocks none of the others. The audit log has each by its id.
func TestDecisionsOnAQuestion(t *testing.T) {
	t.Parallel()
	answers := make(chan []fakemodel.Call, 2)
	w := build(t, mixedPolicy, func(r *fakemodel.Request) fakemodel.Reply {
		select {
		case calls := <-answers:
			return fakemodel.Answer{ID: "chatcmpl-1", Calls: calls}.Reply(r)
		default:
			return fakemodel.Answer{ID: "chatcmpl-2", Text: "Understood."}.Reply(r)
		}
	})
	ask := func(calls ...fakemodel.Call) *call {
		answers <- calls
		return w.post("/v1/chat/completions", streamedRequest, "X-Heldcall-Session", "s", "X-Heldcall-Run", "run")
	}
	first := ask(append(mixedCalls("c", "make test", "make lint", "make docs", "git push", "git push --tags", "touch notes"), fakemodel.Call{ID: "w", Name: "wipe", Arguments: `{}`})...)
	shown := w.byPreview(7)
	checks, pushes := shown["make test"].Together, shown["git push"].Together
	for preview, want := range map[string]string{"make test": checks, "make lint": checks, "make docs": checks, "git push": pushes, "git push --tags": pushes, "{}": ""} {
		if got := shown[preview].Together; got != want {
			t.Errorf("%s is of the question %q, want %q", preview, got, want)
		}
	}
	if touched := shown["touch notes"].Together; checks == "" || pushes == "" || checks == pushes || touched == "" || touched == checks || touched == pushes {
		t.Errorf("the questions are %q, %q and %q", checks, pushes, touched)
	}
	if r := shown["make test"]; !r.Details.ByDefault || shown["git push"].Details.ByDefault {
		t.Errorf("by_default is wrong: %+v", r.Details)
	}
	second := ask(mixedCalls("late", "make all")...)
	if late := w.byPreview(8)["make all"]; late.Together != checks {
		t.Errorf("the later call is of the question %q", late.Together)
	}
	w.decide(shown["make lint"].ID, approvals.Decision{Action: approvals.ActionDeny, Note: "not this one"})

	type one struct {
		RequestID string `json:"request_id"`
		Action    string `json:"action"`
	}
	var body struct {
		Decisions []one `json:"decisions"`
	}
	ids := []string{shown["make test"].ID, shown["make lint"].ID, shown["make docs"].ID}
	for _, id := range ids {
		body.Decisions = append(body.Decisions, one{id, "approve"})
	}
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(w.app.ConsoleURL()+"/api/v1/decisions", "application/json", strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var reply struct {
		Items []struct {
			Status  int
			Request *approvals.Request
			Problem *struct{ Code string }
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&reply); err != nil || len(reply.Items) != 3 {
		t.Fatalf("%+v: %v", reply, err)
	}
	for i, want := range []int{200, 409, 200} {
		item := reply.Items[i]
		if item.Status != want || (want == 200) != (item.Request != nil && item.Request.ID == ids[i] && item.Request.Together == "") || (want == 409) != (item.Problem != nil && item.Problem.Code == "already_decided") {
			t.Errorf("the answer for %s is %+v", ids[i], item)
		}
	}
	left := w.byPreview(5)
	if left["make all"].ID == "" {
		t.Error("the call that came after the look does not wait")
	}
	for _, r := range left {
		w.decide(r.ID, approvals.Decision{Action: approvals.ActionDeny})
	}
	first.rest()
	second.rest()
	for _, id := range []string{ids[0], ids[2]} {
		if e := w.eventOf(approvals.EventApprovalDecision, id); e.Action != approvals.ActionApprove || e.ReviewerID != "local" {
			t.Errorf("the audit log has %s by %s of %s", e.Action, e.ReviewerID, id)
		}
	}
}
