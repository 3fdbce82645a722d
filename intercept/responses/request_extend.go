package responses

import (
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// extendRequest returns a request body with items after its input.
func extendRequest(body []byte, items []string) ([]byte, error) {
	f, err := strictjson.ReadFields(body, "input")
	if err != nil {
		return nil, err
	}
	return strictjson.SetField(body, "input", strictjson.AppendItems(inputOf(f.Raw("input")).raw, items...))
}

// relaxRequest returns a request body with a tool choice that leaves the model another way: see
// [intercept.RelaxedChoice].
func relaxRequest(body []byte, free bool) ([]byte, error) {
	f, err := strictjson.ReadFields(body, "tool_choice")
	if err != nil {
		return nil, err
	}
	if choice, relaxed := intercept.RelaxedChoice(gjson.ParseBytes(f.Raw("tool_choice")), "mode", free); relaxed {
		return strictjson.SetField(body, "tool_choice", []byte(choice))
	}
	return body, nil
}
