package app_test

import (
	"errors"
	"testing"

	"github.com/heldcall/heldcall/approvals"
)

const confirmWrites = "default: ask\nworkspace: [/srv/app]\nrules:\n  - ask: [Write]\n    confirm: type\n"

// TestConfirmation: an approval of a call whose rule has confirm: type has the target of the call,
// as the reviewer typed it; a denial needs none.
func TestConfirmation(t *testing.T) {
	t.Parallel()
	w := build(t, confirmWrites, writes, twoClients)
	answer := w.turn("ann-key")
	r := w.pending(1)[0]
	if r.Details.Confirm != "/srv/app/a.go" {
		t.Fatalf("reviewers must type %q", r.Details.Confirm)
	}
	for _, wrong := range []approvals.Decision{
		{Action: approvals.ActionApprove},
		{Action: approvals.ActionApprove, Confirm: "a.go"},
		{Action: approvals.ActionModifyArgs, ModifiedArgs: []byte(`{"file_path":"/srv/app/b.go","content":"x"}`)},
	} {
		wrong.RequestID = r.ID
		var invalid *approvals.InvalidError
		if _, err := w.console.Decide(t.Context(), wrong); !errors.As(err, &invalid) || invalid.Field != "confirm" {
			t.Errorf("%s with %q: %v", wrong.Action, wrong.Confirm, err)
		}
	}
	w.decide(r.ID, approvals.Decision{Action: approvals.ActionApprove, Confirm: "/srv/app/a.go"})
	<-answer
	decided := w.eventsOf(approvals.EventApprovalDecision)
	if len(decided) != 1 {
		t.Errorf("%d decisions in the audit log", len(decided))
	}
	answer = w.turn("bob-key")
	w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionDeny})
	<-answer
}
