package gate

import (
	"encoding/json"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/toolschema"
)

// editedField is the field of a decision that has the edited arguments.
const editedField = "modified_args"

// checkDecision refuses a decision that is invalid for every request.
func checkDecision(d *approvals.Decision) error {
	if d.ReviewerID == "" || d.ReviewerID == approvals.ReviewerTimeout {
		return &approvals.InvalidError{Field: "reviewer_id", Reason: fmt.Sprintf("%q cannot decide", d.ReviewerID)}
	}
	if err := checkRemember(d); err != nil {
		return err
	}
	switch d.Action {
	case approvals.ActionApprove, approvals.ActionDeny, approvals.ActionAbortRun, approvals.ActionAllowAlways, approvals.ActionDenyAlways:
		if len(d.ModifiedArgs) > 0 {
			return &approvals.InvalidError{Field: editedField, Reason: fmt.Sprintf("they need the action %q, not %q", approvals.ActionModifyArgs, d.Action)}
		}
		return nil
	case approvals.ActionModifyArgs:
		if len(d.ModifiedArgs) == 0 {
			return &approvals.InvalidError{Field: editedField, Reason: "the action modify_args needs them"}
		}
		return nil
	case approvals.ActionAnswer:
		return &approvals.InvalidError{Field: "action", Reason: "this version cannot ask questions yet: \"answer\" is not taken; use approve or deny"}
	case "":
		return &approvals.InvalidError{Field: "action", Reason: "it is missing"}
	default:
		return &approvals.InvalidError{Field: "action", Reason: fmt.Sprintf("%q is not known; use approve, deny, modify_args, allow_always, deny_always or abort_run", d.Action)}
	}
}

// checkRemember refuses terms of a grant in a decision that makes none.
func checkRemember(d *approvals.Decision) error {
	if d.Action == approvals.ActionAllowAlways || d.Action == approvals.ActionDenyAlways {
		return nil
	}
	for _, one := range []struct {
		field string
		given bool
	}{
		{"patterns", len(d.Patterns) > 0},
		{"grant_expires_at", d.GrantExpiresAt != nil},
		{"scope", d.Scope != ""},
		{"template", d.Template != ""},
	} {
		if one.given {
			return &approvals.InvalidError{Field: one.field, Reason: fmt.Sprintf("only allow_always and deny_always take it, not %q", d.Action)}
		}
	}
	return nil
}

// checkArguments refuses edited arguments that are not strict JSON of the right kind, or
// that the tool's own parameter schema refuses.
func checkArguments(r *approvals.Request, args json.RawMessage) error {
	invalid := func(reason string) error {
		return &approvals.InvalidError{Field: editedField, Reason: reason}
	}
	value := jsontext.Value(args)
	switch {
	case r.Details.Fixed:
		return invalid("the arguments of this call cannot be changed: approve or deny it as it is")
	case !value.IsValid():
		return invalid("not strict JSON: one value in UTF-8, no duplicate names, nothing after it")
	case r.Details.FreeText && value.Kind() != '"':
		return invalid("the tool takes free text: a JSON string is needed")
	case r.Details.FreeText:
		return nil
	case value.Kind() != '{':
		return invalid("a JSON object is needed")
	}
	if err := toolschema.Check(r.Tool.Parameters, args); err != nil {
		return invalid(err.Error())
	}
	return nil
}
