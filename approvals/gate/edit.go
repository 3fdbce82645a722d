package gate

import (
	"encoding/json"
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/toolschema"
)

// checkModified judges edited arguments: strict JSON of the right shape, the
// tool's own parameter schema, then policy. It returns what rules want of the edited call.
func (g *Gate) checkModified(r *approvals.Request, args json.RawMessage) ([]approvals.Demand, error) {
	const field = "modified_args"
	if r.Details.Fixed {
		return nil, &approvals.InvalidError{Field: field, Reason: "the arguments of this call cannot be changed: approve or deny it as it is"}
	}
	value := jsontext.Value(args)
	if !value.IsValid() {
		return nil, &approvals.InvalidError{Field: field, Reason: "not strict JSON: one value in UTF-8, no duplicate names, nothing after it"}
	}
	switch kind := value.Kind(); {
	case r.Details.FreeText && kind != '"':
		return nil, &approvals.InvalidError{Field: field, Reason: "the tool takes free text: a JSON string is needed"}
	case !r.Details.FreeText && kind != '{':
		return nil, &approvals.InvalidError{Field: field, Reason: "a JSON object is needed"}
	}
	if !r.Details.FreeText {
		if err := toolschema.Check(r.Tool.Parameters, args); err != nil {
			return nil, &approvals.InvalidError{Field: field, Reason: err.Error()}
		}
	}
	if g.checkEdit == nil {
		return nil, nil
	}
	wants, err := g.checkEdit(*r, args)
	if err == nil || errors.As(err, new(*approvals.InvalidError)) {
		return wants, err
	}
	return nil, &approvals.InvalidError{Field: field, Reason: err.Error()}
}
