package gate

import (
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/grants"
	"github.com/heldcall/heldcall/approvals/toolschema"
)

// checkDecision refuses a decision that is invalid for every request.
func checkDecision(d *approvals.Decision) error {
	if d.ReviewerID == "" || approvals.Automatic(d.ReviewerID) {
		return approvals.Invalid("reviewer_id", "%q cannot decide", d.ReviewerID)
	}
	if err := grants.CheckTerms(d); err != nil {
		return err
	}
	edited := len(d.ModifiedArgs) > 0
	switch d.Action {
	case approvals.ActionApprove, approvals.ActionDeny, approvals.ActionAbortRun, approvals.ActionAllowAlways, approvals.ActionDenyAlways, approvals.ActionAnswer:
		if edited {
			return approvals.Invalid(editedField, "they need the action %q, not %q", approvals.ActionModifyArgs, d.Action)
		}
		return nil
	case approvals.ActionModifyArgs:
		if !edited {
			return approvals.Invalid(editedField, "the action modify_args needs them")
		}
		return nil
	case "":
		return approvals.Invalid("action", "it is missing")
	}
	return approvals.Invalid("action", "is not known; use approve, deny, modify_args, allow_always, deny_always, answer or abort_run")
}

// checkArguments refuses edited arguments that are not strict JSON of the right kind, or
// that break the tool's own parameter schema.
func checkArguments(r *approvals.Request, args json.RawMessage) error {
	value := jsontext.Value(args)
	switch {
	case !value.IsValid():
		return approvals.Invalid(editedField, "not strict JSON: one value in UTF-8, no duplicate names, nothing after it")
	case r.Details.FreeText && value.Kind() != '"':
		return approvals.Invalid(editedField, "it is a text: a JSON string is needed")
	case r.Details.FreeText:
		return nil
	case value.Kind() != '{':
		return approvals.Invalid(editedField, "a JSON object is needed")
	}
	if err := toolschema.Check(r.Tool.Parameters, args); err != nil {
		return approvals.Invalid(editedField, "%s", err)
	}
	return nil
}
