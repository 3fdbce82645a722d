package app_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// TestFinding28_AlwaysCoversAScript: Finding 28. The API accepts the patterns suggested for a
// script of several commands, and the script then passes without asking. Fewer patterns are
// refused.
func TestFinding28_AlwaysCoversAScript(t *testing.T) {
	t.Parallel()
	script := func(r *fakemodel.Request) fakemodel.Reply {
		return fakemodel.Answer{Calls: []fakemodel.Call{{ID: "call_sesame", Name: "bash", Arguments: `{"command":"npm run lint && npm run test -- --ci; make"}`}}}.Reply(r)
	}
	w := build(t, askBash, script, twoClients)
	answer := w.turn("ann-key", "X-Heldcall-Session", "one")
	r := w.pending(1)[0]
	want := []string{"bash(npm run lint)", "bash(npm run test -- --ci)", "bash(make)"}
	if !slices.Equal(r.SuggestedPatterns, want) {
		t.Fatalf("suggested %q", r.SuggestedPatterns)
	}
	post := func(patterns []string) (int, string) {
		body, err := json.Marshal(map[string]any{"action": "allow_always", "patterns": patterns, "scope": "session"})
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.Post(w.app.ConsoleURL()+"/api/v1/requests/"+r.ID+"/decision", "application/json", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(text)
	}
	if status, body := post(want[:1]); status != http.StatusUnprocessableEntity || !strings.Contains(body, "do not cover this very call") {
		t.Errorf("a part of the script alone: %d %s", status, body)
	}
	if status, body := post(r.SuggestedPatterns); status != http.StatusOK {
		t.Fatalf("all that is suggested: %d %s", status, body)
	}
	<-answer
	if g := w.grants(1)[0]; !slices.Equal(g.Patterns, want) || g.Scope != approvals.GrantSession {
		t.Errorf("the grant is %+v", g)
	}
	w.passes("ann-key", "X-Heldcall-Session", "one")
}

// TestFinding8And30_DeniedNamesAreHeldAndShown: Findings 8 and 30. What a deny rule may
// mean is held though the tool is allowed, and the reviewer is shown the whole command.
func TestFinding8And30_DeniedNamesAreHeldAndShown(t *testing.T) {
	t.Parallel()
	script := func(r *fakemodel.Request) fakemodel.Reply {
		return fakemodel.Answer{Calls: []fakemodel.Call{{ID: "call_sesame", Name: "bash", Arguments: `{"command":"GIT_PAGER='rm npm' git log > /etc/cron.d/x && cat <<E\nnpm run lint\nE"}`}}}.Reply(r)
	}
	w := build(t, "tools:\n  bash: {resource: command, as: shell}\nrules:\n  - allow: [bash]\n  - deny: ['bash(rm *)']\n", script, twoClients)
	answer := w.turn("ann-key")
	r := w.pending(1)[0]
	want := []string{"GIT_PAGER='rm npm' git log > /etc/cron.d/x", "cat << E\nnpm run lint\nE"}
	if !slices.Equal(r.Details.Commands, want) {
		t.Errorf("shown %q", r.Details.Commands)
	}
	w.decide(r.ID, approvals.Decision{Action: approvals.ActionDeny})
	if got := <-answer; strings.Contains(got, "GIT_PAGER") {
		t.Errorf("released: %s", got)
	}
}
