package history

import (
	"cmp"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/responses/wire"
	"github.com/heldcall/heldcall/intercept/toolresult"
	"github.com/tidwall/gjson"
)

// ResultContents implements [intercept.Request].
func (r *Request) ResultContents() []toolresult.Content {
	at, _ := r.At(r.Operation.history())
	found := toolresult.Collector{Offset: at.Start}
	for _, item := range r.input.list() {
		typ := item.Get("type").Str
		id := cmp.Or(item.Get("call_id").Str, item.Get("id").Str)
		switch {
		case typ == approvalResponse:
		case IsOutput(typ):
			found.Add(id, item.Get("output"))
		case wire.Forms[typ] != nil:
			found.AddCall(id, item)
		case isModels(item):
			found.Answered()
		}
	}
	return found.List()
}

// ResultCall reads a [toolresult.Content.Call].
func ResultCall(raw string) intercept.Call {
	v := gjson.Parse(raw)
	f := wire.Forms[v.Get("type").Str]
	if f == nil {
		return intercept.Call{}
	}
	c := intercept.Call{ID: cmp.Or(v.Get("call_id").Str, v.Get("id").Str), Name: cmp.Or(f.Tool, v.Get("name").Str), FreeText: f.Free}
	if within := v.Get("namespace").Str; within != "" && f.Tool == "" {
		c.Name = within + "." + c.Name
	}
	if c.Arguments = v.Get(f.Field).Raw; f.Text {
		c.Arguments = v.Get(f.Field).String()
	}
	return c
}
