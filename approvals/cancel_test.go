package approvals_test

import (
	"testing"

	"github.com/heldcall/heldcall/approvals"
)

func TestWhyCancelled(t *testing.T) {
	f := func(reason, want string) {
		t.Helper()
		r := approvals.Request{Details: approvals.Details{CancelReason: reason}}
		if got := r.WhyCancelled(); got != want {
			t.Errorf("the text of %q is %q, want %q", reason, got, want)
		}
	}
	f(approvals.CancelAgentGone, "its agent has gone")
	f(approvals.CancelRunAborted, "its run was stopped")
	f("of_another_version", "of another version")
	f("", "")
}
