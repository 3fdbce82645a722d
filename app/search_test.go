package app_test

import (
	"testing"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
)

// A search finds a request by the words of its call and of its decisions, at once and after a restart.
func TestSearchByWords(t *testing.T) {
	t.Parallel()
	var c app.Config
	w := build(t, askAll, callThenText, silent, restarting(&c))
	answer := make(chan string, 1)
	go func() { answer <- w.post("/v1/chat/completions", wholeRequest).rest() }()
	id := w.pending(1)[0].ID
	finds := func(text string, status approvals.Status, want bool) {
		t.Helper()
		page, err := w.console.Requests(t.Context(), approvals.Filter{Text: text, Status: status})
		if err != nil {
			t.Fatal(err)
		}
		if found := len(page.Items) == 1 && page.Items[0].ID == id; found != want || len(page.Items) > 1 {
			t.Errorf("a search for %q among %q finds %d requests, want it: %v", text, status, len(page.Items), want)
		}
	}
	finds("OpenSesame", "", true)
	finds("zebra", "", false)
	w.decide(id, approvals.Decision{Action: approvals.ActionApprove, Note: "Ask the zebra first."})
	<-answer
	for range 2 {
		finds("zebra sesame", "", true)
		finds("zebra", approvals.StatusApproved, true)
		finds("zebra", approvals.StatusDenied, false)
		finds("zebras", "", false)
		finds("ze", "", true)
		if err := w.stop(); err != nil {
			t.Fatal(err)
		}
		w.start(c)
	}
}
