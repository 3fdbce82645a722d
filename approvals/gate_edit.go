package approvals

import (
	"encoding/json"
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/heldcall/heldcall/approvals/toolschema"
)

// checkModified judges edited arguments: strict JSON of the right shape, the
// tool's own parameter schema, then policy. It returns what rules want of the edited call.
func (g *Gate) checkModified(r *Request, args json.RawMessage) ([]Demand, error) {
	const field = "modified_args"
	if r.Details.Fixed {
		return nil, &InvalidError{field, "the arguments of this call cannot be changed: approve or deny it as it is"}
	}
	value := jsontext.Value(args)
	if !value.IsValid() {
		return nil, &InvalidError{field, "not strict JSON: one value in UTF-8, no duplicate names, nothing after it"}
	}
	switch kind := value.Kind(); {
	case r.Details.FreeText && kind != '"':
		return nil, &InvalidError{field, "the tool takes free text: a JSON string is needed"}
	case !r.Details.FreeText && kind != '{':
		return nil, &InvalidError{field, "a JSON object is needed"}
	}
	if !r.Details.FreeText {
		if err := toolschema.Check(r.Tool.Parameters, args); err != nil {
			return nil, &InvalidError{field, err.Error()}
		}
	}
	if g.checkEdit == nil {
		return nil, nil
	}
	wants, err := g.checkEdit(*r, args)
	if err == nil || errors.As(err, new(*InvalidError)) {
		return wants, err
	}
	return nil, &InvalidError{field, err.Error()}
}
