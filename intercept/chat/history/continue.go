package history

import (
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// Extend returns the request with messages appended, for one choice. A tool choice that
// forces a call becomes "auto", so that the model may take another way. All other bytes
// stay.
func (r *Request) Extend(messages []string) (intercept.Envelope, error) {
	at, _ := r.At("messages")
	p := strictjson.Patch{JSON: string(strictjson.Replace(r.Envelope().Body, at, strictjson.AppendItems(r.Field("messages"), messages...)))}
	if gjson.ParseBytes(r.Field("n")).Type == gjson.Number {
		p.Set("n", "1")
	}
	for _, field := range []string{"tool_choice", "function_call"} {
		choice := gjson.ParseBytes(r.Field(field))
		if mode := choice.Get("allowed_tools.mode"); mode.Exists() { // the choice of tools stays
			field, choice = field+".allowed_tools.mode", mode
		}
		if choice.IsObject() || choice.Str == "required" || choice.Str == "any" {
			p.Set(field, `"auto"`)
		}
	}
	return r.With([]byte(p.JSON)), p.Err
}
