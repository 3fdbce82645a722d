package responses

import (
	"fmt"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/responses/wire"
	"github.com/heldcall/heldcall/intercept/strictjson"
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
	return it.canonical() && it.call.form.Type != wire.ApprovalRequest
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
	out = w.render(out, "response.output_item.added", at+`,"item":`+f.Opening(done))
	for i, t := range f.Texts(input) {
		if f.Type == "shell_call" {
			of = fmt.Sprintf(`%s,"command_index":%d`, at, i)
			out = w.render(out, f.Events+".added", of+`,"command":""`)
		}
		if t.Text != "" {
			out = w.render(out, f.Events+".delta", of+`,"delta":`+strictjson.Quote(t.Text))
		}
		out = w.render(out, f.Events+".done", of+`,"`+wire.InputEvents[f.Events+".done"].Field+`":`+strictjson.Quote(t.Text))
	}
	return w.render(out, "response.output_item.done", at+`,"item":`+done)
}

// rendered is the item of a call as the agent gets it: known fields only, with the
// identity and the input that were judged. An item of a type that nobody knows was
// judged as it is.
func (it *item) rendered(plan *intercept.Plan) string {
	e, f := it.entry, it.call.form
	if f.Unknown {
		return it.made()
	}
	raw, input := e.Raw, "{}"
	if v := e.Field(f.Field); v.Type != gjson.Null {
		input = v.Raw
	}
	if edit, edited := plan.Edit(&it.Unit); edited {
		raw, input = e.WithInput(f, edit), edit
	}
	p := strictjson.Patch{JSON: known(wire.ItemSchemas[f.Type], gjson.Parse(raw))}
	p.Set("type", strictjson.Quote(f.Type))
	switch {
	case f.Text:
		p.Set(f.Field, strictjson.Quote(it.inputFor(plan)))
	case f.Type != "computer_call": // its input is in several fields
		p.Set(f.Field, input)
	}
	switch {
	case it.call.repeats:
		p.Set("id", strictjson.Quote(fmt.Sprintf("%s%s_%d", f.IDPrefix, it.callID(), it.seat)))
	case e.ID == "":
		p.Set("id", strictjson.Quote(f.IDPrefix+it.callID()))
	}
	p.Set("call_id", strictjson.Quote(it.callID()))
	if f.Tool == "" {
		p.Set("name", strictjson.Quote(e.Name))
	}
	if f.Type == "tool_search_call" { // it was judged as one of the agent's
		p.Set("execution", `"client"`)
	}
	status := "completed"
	if e.Status == "incomplete" {
		status = e.Status
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
