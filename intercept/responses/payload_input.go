package responses

import (
	"strings"

	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// input is the input of a call as its reviewer and policy see it, and whether it has the
// form that all clients expect.
func (e *entry) input(f *callForm) (text string, plain bool) {
	if e.lastInput.form != f {
		text, plain := e.readInput(f)
		e.lastInput = entryInput{f, text, plain}
	}
	return e.lastInput.text, e.lastInput.plain
}

func (e *entry) readInput(f *callForm) (text string, plain bool) {
	if f.field == "" {
		return e.raw, true
	}
	v := e.field(f.field)
	switch {
	case f.typ == "computer_call":
		return e.actions(v)
	case v.Type == gjson.Null:
		return "", true
	case v.Type == gjson.String:
		return v.Str, f.text
	case v.IsObject() || v.IsArray():
		return v.Raw, !f.text
	}
	return v.Raw, false
}

// actions is the input of a computer call: one action or a list of them, with the pending
// safety checks. Where they have another form, it is the whole item.
func (e *entry) actions(one gjson.Result) (input string, plain bool) {
	list := e.field("actions")
	if (filled(one) && !one.IsObject()) || (filled(list) && !list.IsArray()) {
		return e.raw, false
	}
	p := strictjson.Patch{JSON: "{}"}
	if one.IsObject() {
		p.JSON = one.Raw
	}
	if list.IsArray() {
		p.Set("actions", list.Raw)
	}
	if checks := e.field(safetyChecks); checks.IsArray() && len(checks.Array()) > 0 {
		p.Set(safetyChecks, checks.Raw)
	}
	return p.JSON, true
}

// safetyChecks is the field of a computer call with the provider's safety checks.
const safetyChecks = "pending_safety_checks"

// withInput is the entry with another input, see [callForm.takes].
func (e *entry) withInput(f *callForm, input string) string {
	p := strictjson.Patch{JSON: e.withoutBeside()}
	switch strict := strictjson.Strict([]byte(input)) == nil; {
	case f.text && (e.field(f.field).Type != gjson.JSON || !strict):
		p.Set(f.field, strictjson.Quote(input))
	case !strict: // it is incomplete
	case f.typ == "computer_call":
		e.setActions(&p, gjson.Parse(input))
	default:
		p.Set(f.field, input)
	}
	if p.Err != nil {
		return e.raw
	}
	return p.JSON
}

// withoutBeside is the entry without the fields in which some client could look for an input.
func (e *entry) withoutBeside() string {
	if len(e.beside) == 0 {
		return e.raw
	}
	beside := make(map[string]bool, len(e.beside))
	for _, key := range e.beside {
		beside[key] = true
	}
	var fields []string
	gjson.Parse(e.raw).ForEach(func(k, v gjson.Result) bool {
		if !beside[k.Str] {
			fields = append(fields, k.Raw+":"+v.Raw)
		}
		return true
	})
	return "{" + strings.Join(fields, ",") + "}"
}

func (e *entry) setActions(p *strictjson.Patch, input gjson.Result) {
	if _, plain := e.actions(e.field("action")); !plain {
		p.Delete("action")
		p.Delete("actions")
	}
	if list := input.Get("actions"); list.Exists() {
		p.Set("actions", list.Raw)
		return
	}
	action := strictjson.Patch{JSON: input.Raw}
	action.Delete(safetyChecks)
	p.Set("action", action.JSON)
}

// maxGrowing bounds how deep [grows] looks: each level reads all below it again.
const maxGrowing = 32

// grows reports whether a value is the beginning of another one: the texts, lists and
// objects in it are the beginnings of those in the other.
func grows(from, to gjson.Result, depth int) bool {
	switch {
	case depth > maxGrowing:
		return false
	case from.Type == gjson.Null || from.Raw == to.Raw:
		return true
	case from.Type == gjson.String:
		return to.Type == gjson.String && strings.HasPrefix(to.Str, from.Str)
	case from.IsArray():
		list, longer := from.Array(), to.Array()
		if !to.IsArray() || len(list) > len(longer) {
			return false
		}
		for i := range list {
			if !grows(list[i], longer[i], depth+1) {
				return false
			}
		}
		return true
	case from.IsObject():
		members := to.Map()
		ok := to.IsObject()
		from.ForEach(func(k, v gjson.Result) bool {
			ok = ok && grows(v, members[k.Str], depth+1)
			return ok
		})
		return ok
	}
	return false
}
