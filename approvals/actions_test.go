package approvals_test

import (
	"errors"
	"testing"

	"github.com/heldcall/heldcall/approvals"
)

// What a request does not take is refused by the field, with the stated reason; app has the actions of real calls.
func TestCheckPossible(t *testing.T) {
	question := approvals.Request{Kind: approvals.KindClarification, Details: approvals.Details{Questions: []approvals.Question{{Kind: approvals.KindClarification}}}}
	result := approvals.Request{Kind: approvals.KindResult}
	fixed := approvals.Request{Kind: approvals.KindPermission, Details: approvals.Details{Fixed: true}}
	confirmed := approvals.Request{Kind: approvals.KindPermission, Details: approvals.Details{Confirm: "x"}}
	for _, tt := range []struct {
		request approvals.Request
		action  approvals.Action
		window  string
		field   string
	}{
		{question, approvals.ActionApprove, "", "action"},
		{question, approvals.ActionAllowAlways, "", "action"},
		{question, approvals.ActionModifyArgs, "", "action"},
		{question, approvals.ActionAnswer, "", ""},
		{question, approvals.ActionDeny, "", ""},
		{question, approvals.ActionAbortRun, "", ""},
		{result, approvals.ActionAnswer, "", "action"},
		{result, approvals.ActionDenyAlways, "", "action"},
		{result, approvals.ActionModifyArgs, "", ""},
		{fixed, approvals.ActionModifyArgs, "", "modified_args"},
		{fixed, approvals.ActionApprove, "", ""},
		{fixed, approvals.ActionApprove, "15m", "window"},
		{confirmed, approvals.ActionApprove, "", ""},
	} {
		err := tt.request.CheckPossible(&approvals.Decision{Action: tt.action, Window: tt.window})
		var invalid *approvals.InvalidError
		if errors.As(err, &invalid); (err == nil) != (tt.field == "") || (invalid != nil && invalid.Field != tt.field) {
			t.Errorf("%s of %s: %v, want the field %q", tt.action, tt.request.Kind, err, tt.field)
		}
	}
	if question.ActionsOf().Batch.Reason == "" || confirmed.ActionsOf().Batch.Reason == "" || fixed.ActionsOf().Batch.Reason != "" {
		t.Error("what one press for several approves is wrong")
	}
}
