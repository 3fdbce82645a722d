package responses

import (
	"fmt"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// renders reports whether an item is a call that reaches the agent, which goes out in canonical form.
func renders(p *intercept.Plan, it *item) bool {
	return it != nil && it.call != nil && p.Reaches(&it.Unit)
}

// agentInput is the input of a call as the agent gets it.
func agentInput(p *intercept.Plan, it *item) string {
	if input, edited := p.Edit(&it.Unit); edited {
		return input
	}
	return it.input()
}

// modelInput is the input of a call as the model reads it, with handles of secrets.
func modelInput(p *intercept.Plan, it *item) string {
	if input, edited := p.Edited(&it.Unit); edited {
		return input
	}
	return it.input()
}

// canonicalEvents returns the events of a call in canonical form, in place of the first
// of upstream's. No other event is between them, so that all clients read them alike.
func (w *edit) canonicalEvents(it *item) (out []intercept.Event) {
	if it.call.shown {
		return nil
	}
	it.call.shown = true
	to := &w.answer.out
	to.align(w.event)
	to.leaveOut(true, false)
	to.index(it)
	f, input := it.call.form, agentInput(w.plan, it)
	done := it.canonicalJSON(w.plan)
	it.call.rendered = done
	index := fmt.Sprintf(`"output_index":%d`, it.agentIndex)
	head := index
	if id := gjson.Get(done, "id"); id.Exists() {
		head = `"item_id":` + id.Raw + "," + index
	}
	out = to.appendEvent(out, "response.output_item.added", index+`,"item":`+f.opening(done))
	for i, t := range f.texts(input) {
		if f.typ == "shell_call" {
			head = fmt.Sprintf(`%s,"command_index":%d`, index, i)
			out = to.appendEvent(out, f.events+".added", head+`,"command":""`)
		}
		if t.text != "" {
			out = to.appendEvent(out, f.events+".delta", head+`,"delta":`+strictjson.Quote(t.text))
		}
		out = to.appendEvent(out, f.events+".done", head+`,"`+inputEvents[f.events+".done"].field+`":`+strictjson.Quote(t.text))
	}
	return to.appendEvent(out, "response.output_item.done", index+`,"item":`+done)
}

// canonicalJSON is the item of a call as the agent gets it: known fields only, with the
// identity and the input that were judged. An item of an unknown type was judged as it
// is.
func (it *item) canonicalJSON(plan *intercept.Plan) string {
	e, f := it.entry, it.call.form
	switch {
	case it.call.rendered != "":
		return it.call.rendered
	case f.unknown:
		return it.original()
	}
	raw, input := e.raw, "{}"
	if v := e.field(f.field); v.Type != gjson.Null {
		input = v.Raw
	}
	if edit, edited := plan.Edit(&it.Unit); edited {
		raw, input = e.withInput(f, edit), edit
	}
	p := strictjson.Patch{JSON: known(itemFields[f.typ], gjson.Parse(raw))}
	p.Set("type", strictjson.Quote(f.typ))
	switch {
	case f.text:
		p.Set(f.field, strictjson.Quote(agentInput(plan, it)))
	case f.typ != "computer_call": // its input is in several fields
		p.Set(f.field, input)
	}
	it.setID(&p)
	p.Set("call_id", strictjson.Quote(it.callID()))
	if f.tool == "" {
		p.Set("name", strictjson.Quote(e.name))
	}
	if f.typ == "tool_search_call" { // it was judged as one of the agent's
		p.Set("execution", `"client"`)
	}
	status := "completed"
	if e.status == "incomplete" {
		status = e.status
	}
	p.Set("status", strictjson.Quote(status))
	if p.Err != nil {
		return "{}" // strict JSON can be patched
	}
	return p.JSON
}

// setID gives the item of a call the id by which the agent knows it: that of upstream, if it has one.
func (it *item) setID(p *strictjson.Patch) {
	switch e := it.entry; {
	case it.call.sharedID:
		p.Set("id", strictjson.Quote(fmt.Sprintf("%s%s_%d", it.call.form.idPrefix, it.callID(), it.agentIndex)))
	case e.id == "" && it.call.began != nil && it.call.began.id != "":
		p.Set("id", strictjson.Quote(it.call.began.id))
	case e.id == "":
		p.Delete("id")
	}
}

// known is an object with those of its fields that have the known types.
func known(s fields, v gjson.Result) string {
	var list []string
	v.ForEach(func(k, v gjson.Result) bool {
		if field := s[k.Str]; field != nil && field.Fits(v) {
			list = append(list, strictjson.Quote(k.Str)+":"+v.Raw)
		}
		return true
	})
	return "{" + strings.Join(list, ",") + "}"
}
