package app_test

import (
	"encoding/json"
	"testing"

	"github.com/heldcall/heldcall/internal/testing/fakeslack"
)

// A click that comes from another workspace than the bot's decides nothing, and neither
// does a form or somebody of that workspace in a channel that both share.
func TestSlackOfAnotherWorkspaceDecidesNothing(t *testing.T) {
	t.Parallel()
	w := newSlackWorld(t, askAll, callThenText)
	agent := w.post("/v1/chat/completions", streamedRequest)
	r := w.pending(1)[0]
	m := w.card(0, "bash")
	const refusal = "another Slack workspace"
	w.press("UANN", m, pressNote, r.ID)
	w.until("a form is open", func() bool { return len(w.slack.Views()) == 1 })
	elsewhere := func(change func(interaction map[string]any)) {
		t.Helper()
		before := len(w.slack.Ephemerals())
		pressed := fakeslack.Press("UANN", m, pressYes, r.ID)
		change(pressed)
		if _, err := w.slack.OverSocket(pressed); err != nil {
			t.Fatal(err)
		}
		w.until("the click is answered", func() bool { return len(w.slack.Ephemerals()) == before+1 })
		w.toldAlone("UANN", refusal)
		form, err := fakeslack.Submit("UANN", w.slack.Views()[0], map[string]string{"answer": "approve"})
		if err != nil {
			t.Fatal(err)
		}
		change(form)
		answer, err := w.slack.OverSocket(form)
		var shown struct{ Errors map[string]string }
		if err != nil || json.Unmarshal(answer, &shown) != nil || len(shown.Errors) == 0 {
			t.Errorf("the form is answered with %s, %v", answer, err)
		}
		if got := w.pending(1)[0]; len(got.Decisions) != 0 {
			t.Fatalf("decided: %+v", got.Decisions)
		}
	}
	elsewhere(func(i map[string]any) { i["team"] = map[string]any{"id": "T2"} })
	elsewhere(func(i map[string]any) { delete(i, "team") })
	elsewhere(func(i map[string]any) { i["user"] = map[string]any{"id": "UANN", "team_id": "T2"} })
	elsewhere(func(i map[string]any) {
		i["team"], i["is_enterprise_install"], i["enterprise"] = nil, true, map[string]any{"id": "E2"}
	})
	w.press("UANN", m, pressYes, r.ID)
	agent.rest()
}
