package history

import (
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// Extend returns a request body with items put behind its input.
func Extend(body []byte, items []string) ([]byte, error) {
	asked, err := RequestSchema.Accept(intercept.Envelope{Body: body})
	if err != nil {
		return nil, err
	}
	r := Request{ParsedRequest: asked}
	return strictjson.SetField(body, "input", strictjson.AppendItems(r.input(), items...))
}

// Relax lets a tool choice that forces a call go, so that the model may take
// another way.
func Relax(body []byte) ([]byte, error) {
	f, err := strictjson.ReadFields(body, "tool_choice")
	if err != nil {
		return nil, err
	}
	choice := gjson.ParseBytes(f.Raw("tool_choice"))
	switch {
	case choice.Get("type").Str == "allowed_tools": // stays bound to some of the tools
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
