package responses

import (
	"fmt"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/tidwall/gjson"
)

// renders reports whether the agent gets a call in canonical form: it was edited, or
// its events are not uniform.
func renders(p *intercept.Plan, it *item) bool {
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

// inputFor is the input of a call as the agent gets it.
func (it *item) inputFor(p *intercept.Plan) string {
	if input, edited := p.Edit(&it.Unit); edited {
		return input
	}
	return it.input()
}

// rendered returns the events of a call in canonical form, in place of the first of
// upstream's. All stand together, so that nothing between them can change how a
// client puts them together.
func (w *edit) rendered(it *item) (out []byte) {
	if it.call.shown {
		return nil
	}
	it.call.shown = true
	w.align()
	w.takeSeat(it)
	f, input := it.call.form, it.inputFor(w.plan)
	done := it.rendered(w.plan)
	at := fmt.Sprintf(`"output_index":%d`, it.seat)
	of := `"item_id":` + gjson.Get(done, "id").Raw + "," + at
	out = w.render(out, "response.output_item.added", at+`,"item":`+f.opening(done))
	for i, t := range f.texts(input) {
		if f.typ == "shell_call" {
			of = fmt.Sprintf(`%s,"command_index":%d`, at, i)
			out = w.render(out, f.events+".added", of+`,"command":""`)
		}
		if t.text != "" {
			out = w.render(out, f.events+".delta", of+`,"delta":`+intercept.Quote(t.text))
		}
		out = w.render(out, f.events+".done", of+`,"`+inputEvents[f.events+".done"].field+`":`+intercept.Quote(t.text))
	}
	return w.render(out, "response.output_item.done", at+`,"item":`+done)
}

// rendered is the item of a call as the agent gets it: known fields only, with the
// identity and the input that were judged. An item of a type that nobody knows was
// judged as it is.
func (it *item) rendered(plan *intercept.Plan) string {
	e, f := it.entry, it.call.form
	if f.unknown {
		return it.made()
	}
	raw, input := e.raw, "{}"
	if v := e.field(f.field); v.Type != gjson.Null {
		input = v.Raw
	}
	if edit, edited := plan.Edit(&it.Unit); edited {
		raw, input = e.withInput(f, edit), edit
	}
	p := intercept.Patch{JSON: known(itemSchemas[f.typ], gjson.Parse(raw))}
	p.Set("type", intercept.Quote(f.typ))
	switch {
	case f.text:
		p.Set(f.field, intercept.Quote(it.inputFor(plan)))
	case f.typ != "computer_call": // its input stands in several fields
		p.Set(f.field, input)
	}
	switch {
	case it.call.repeats:
		p.Set("id", intercept.Quote(fmt.Sprintf("%s%s_%d", f.ids, it.callID(), it.seat)))
	case e.id == "":
		p.Set("id", intercept.Quote(f.ids+it.callID()))
	}
	p.Set("call_id", intercept.Quote(it.callID()))
	if f.tool == "" {
		p.Set("name", intercept.Quote(e.name))
	}
	if f.typ == "tool_search_call" { // it was judged as one of the agent's
		p.Set("execution", `"client"`)
	}
	status := "completed"
	if e.status == "incomplete" {
		status = e.status
	}
	p.Set("status", intercept.Quote(status))
	if p.Err != nil {
		return "{}" // strict JSON can be patched
	}
	return p.JSON
}

// known is an object with those of its fields that fit the schema.
func known(s *intercept.Schema, v gjson.Result) string {
	var fields []string
	v.ForEach(func(k, v gjson.Result) bool {
		if field := s.Fields[k.Str]; field != nil && field.Fits(v) {
			fields = append(fields, intercept.Quote(k.Str)+":"+v.Raw)
		}
		return true
	})
	return "{" + strings.Join(fields, ",") + "}"
}

// opening is the item of a call as it begins: what comes in fragments is empty.
func (f *form) opening(done string) string {
	p := intercept.Patch{JSON: done}
	if !f.unknown {
		p.Set("status", `"in_progress"`)
	}
	switch {
	case f.text:
		p.Set(f.field, `""`)
	case f.typ == "apply_patch_call" && gjson.Get(done, "operation.diff").Exists():
		p.Set("operation.diff", `""`)
	case f.typ == "shell_call" && gjson.Get(done, "action.commands").Exists():
		p.Set("action.commands", "[]")
	}
	if p.Err != nil {
		return done
	}
	return p.JSON
}
