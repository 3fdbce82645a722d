package responses

import (
	"fmt"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// inCanonicalForm reports whether the agent gets an item in canonical form: it is a call
// that was edited, or whose events are not uniform.
func inCanonicalForm(p *intercept.Plan, it *item) bool {
	if it == nil || it.call == nil || !p.Reaches(&it.Unit) {
		return false
	}
	_, edited := p.Edit(&it.Unit)
	return edited || it.canonical()
}

// Canonical implements [intercept.Codec].
func (*answer) Canonical(u *intercept.Unit) bool {
	it := itemOf(u)
	return it.canonical() && it.call.form.typ != approvalRequest
}

// canonical reports whether a call that is released goes out in canonical form.
func (it *item) canonical() bool { return it.Odd && !it.Begun() }

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
func (w *edit) canonicalEvents(it *item) (out []byte) {
	if it.call.shown {
		return nil
	}
	it.call.shown = true
	to := &w.answer.out
	to.align(w.event)
	to.index(it)
	f, input := it.call.form, agentInput(w.plan, it)
	done := it.canonicalJSON(w.plan)
	index := fmt.Sprintf(`"output_index":%d`, it.agentIndex)
	head := `"item_id":` + gjson.Get(done, "id").Raw + "," + index
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
	if f.unknown {
		return it.original()
	}
	raw, input := e.raw, "{}"
	if v := e.field(f.field); v.Type != gjson.Null {
		input = v.Raw
	}
	if edit, edited := plan.Edit(&it.Unit); edited {
		raw, input = e.withInput(f, edit), edit
	}
	p := strictjson.Patch{JSON: known(itemSchemas[f.typ], gjson.Parse(raw))}
	p.Set("type", strictjson.Quote(f.typ))
	switch {
	case f.text:
		p.Set(f.field, strictjson.Quote(agentInput(plan, it)))
	case f.typ != "computer_call": // its input is in several fields
		p.Set(f.field, input)
	}
	switch {
	case it.call.sharedID:
		p.Set("id", strictjson.Quote(fmt.Sprintf("%s%s_%d", f.idPrefix, it.callID(), it.agentIndex)))
	case e.id == "":
		p.Set("id", strictjson.Quote(f.idPrefix+it.callID()))
	}
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

// known is an object with those of its fields that fit the schema.
func known(s *strictjson.Schema, v gjson.Result) string {
	var fields []string
	v.ForEach(func(k, v gjson.Result) bool {
		if field := s.Fields[k.Str]; field != nil && field.Fits(v) {
			fields = append(fields, strictjson.Quote(k.Str)+":"+v.Raw)
		}
		return true
	})
	return "{" + strings.Join(fields, ",") + "}"
}
