package responses

import (
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

// relaxRequest returns a request body without a tool choice that forces a call, so that the model
// may do something else. Without free, a choice that forces any call stays: the model has
// not made it yet.
func relaxRequest(body []byte, free bool) ([]byte, error) {
	f, err := strictjson.ReadFields(body, "tool_choice")
	if err != nil {
		return nil, err
	}
	choice := gjson.ParseBytes(f.Raw("tool_choice"))
	switch {
	case !free && (!choice.IsObject() || choice.Get("mode").Exists()):
	case choice.Get("type").Str == "allowed_tools": // the model keeps the choice of these
		p := strictjson.Patch{JSON: choice.Raw}
		if p.Set("mode", `"auto"`); p.Err != nil {
			return nil, p.Err
		}
		return strictjson.SetField(body, "tool_choice", []byte(p.JSON))
	case choice.IsObject() || choice.Str == "required" || choice.Str == "any":
		return strictjson.SetField(body, "tool_choice", []byte(`"auto"`))
	}
	return body, nil
}
