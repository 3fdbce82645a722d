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

// An edit is refused if the edited call needs its target to be typed and the request does not.
func TestEditsDoNotAvoidConfirmation(t *testing.T) {
	t.Parallel()
	w := build(t, "default: ask\nworkspace: [/srv/app]\nrules:\n  - ask: [\"Write(/srv/app/ci/**)\"]\n    confirm: type\n", writes, twoClients)
	answer := w.turn("ann-key")
	r := w.pending(1)[0]
	for _, typed := range []string{"", "/srv/app/ci/deploy.sh"} {
		edit := approvals.Decision{RequestID: r.ID, Action: approvals.ActionModifyArgs, Confirm: typed, ModifiedArgs: []byte(`{"file_path":"/srv/app/ci/deploy.sh","content":"x"}`)}
		var invalid *approvals.InvalidError
		if _, err := w.console.Decide(t.Context(), edit); !errors.As(err, &invalid) || invalid.Field != "modified_args" {
			t.Errorf("an edit with %q typed: %v", typed, err)
		}
	}
	w.decide(r.ID, approvals.Decision{Action: approvals.ActionModifyArgs, ModifiedArgs: []byte(`{"file_path":"/srv/app/b.go","content":"x"}`)})
	<-answer
}

// An edit of a request whose target was typed keeps that target.
func TestEditsKeepTheConfirmedTarget(t *testing.T) {
	t.Parallel()
	w := build(t, confirmWrites, writes, twoClients)
	answer := w.turn("ann-key")
	r := w.pending(1)[0]
	edit := approvals.Decision{RequestID: r.ID, Action: approvals.ActionModifyArgs, Confirm: "/srv/app/a.go", ModifiedArgs: []byte(`{"file_path":"/srv/app/b.go","content":"x"}`)}
	var invalid *approvals.InvalidError
	if _, err := w.console.Decide(t.Context(), edit); !errors.As(err, &invalid) || invalid.Field != "modified_args" {
		t.Errorf("an edit of another file: %v", err)
	}
	edit.ModifiedArgs = []byte(`{"file_path":"/srv/app/a.go","content":"less"}`)
	w.decide(r.ID, edit)
	<-answer
}
