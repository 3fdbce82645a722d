package wire

import (
	"strings"

	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// Input is the input of a call as its reviewer and policy see it, and whether it has the
// form that all clients expect.
func (e *Entry) Input(f *Form) (text string, plain bool) {
	if e.input.form != f {
		text, plain := e.readInput(f)
		e.input = input{f, text, plain}
	}
	return e.input.text, e.input.plain
}

func (e *Entry) readInput(f *Form) (text string, plain bool) {
	if f.Field == "" {
		return e.Raw, true
	}
	v := e.Field(f.Field)
	switch {
	case f.Type == "computer_call":
		return e.actions(v)
	case v.Type == gjson.Null:
		return "", true
	case v.Type == gjson.String:
		return v.Str, f.Text
	case v.IsObject() || v.IsArray():
		return v.Raw, !f.Text
	}
	return v.Raw, false
}

// actions is the input of a computer call: one action or a list of them, with the pending
// safety checks. Where they have another form, it is the whole item.
func (e *Entry) actions(one gjson.Result) (input string, plain bool) {
	list := e.Field("actions")
	if (filled(one) && !one.IsObject()) || (filled(list) && !list.IsArray()) {
		return e.Raw, false
	}
	p := strictjson.Patch{JSON: "{}"}
	if one.IsObject() {
		p.JSON = one.Raw
	}
	if list.IsArray() {
		p.Set("actions", list.Raw)
	}
	if checks := e.Field(SafetyChecks); checks.IsArray() && len(checks.Array()) > 0 {
		p.Set(SafetyChecks, checks.Raw)
	}
	return p.JSON, true
}

// SafetyChecks is the field of a computer call with the provider's safety checks.
const SafetyChecks = "pending_safety_checks"

// WithInput is the entry with another input, see [Form.Takes].
func (e *Entry) WithInput(f *Form, input string) string {
	p := strictjson.Patch{JSON: e.withoutBeside()}
	switch strict := strictjson.Strict([]byte(input)) == nil; {
	case f.Text && (e.Field(f.Field).Type != gjson.JSON || !strict):
		p.Set(f.Field, strictjson.Quote(input))
	case !strict: // it is incomplete
	case f.Type == "computer_call":
		e.setActions(&p, gjson.Parse(input))
	default:
		p.Set(f.Field, input)
	}
	if p.Err != nil {
		return e.Raw
	}
	return p.JSON
}

// withoutBeside is the entry without the fields in which some client could look for an input.
func (e *Entry) withoutBeside() string {
	if len(e.Beside) == 0 {
		return e.Raw
	}
	beside := make(map[string]bool, len(e.Beside))
	for _, key := range e.Beside {
		beside[key] = true
	}
	var fields []string
	gjson.Parse(e.Raw).ForEach(func(k, v gjson.Result) bool {
		if !beside[k.Str] {
			fields = append(fields, k.Raw+":"+v.Raw)
		}
		return true
	})
	return "{" + strings.Join(fields, ",") + "}"
}

func (e *Entry) setActions(p *strictjson.Patch, input gjson.Result) {
	if _, plain := e.actions(e.Field("action")); !plain {
		p.Delete("action")
		p.Delete("actions")
	}
	if list := input.Get("actions"); list.Exists() {
		p.Set("actions", list.Raw)
		return
	}
	one := strictjson.Patch{JSON: input.Raw}
	one.Delete(SafetyChecks)
	p.Set("action", one.JSON)
}

// maxGrowing bounds how deep [grows] looks: each level reads all below it again.
const maxGrowing = 32

// Grows reports whether a value is the beginning of another one: the texts, lists and
// objects in it are the beginnings of those in the other.
func Grows(from, to gjson.Result, depth int) bool {
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
			if !Grows(list[i], longer[i], depth+1) {
				return false
			}
		}
		return true
	case from.IsObject():
		members := to.Map()
		ok := to.IsObject()
		from.ForEach(func(k, v gjson.Result) bool {
			ok = ok && Grows(v, members[k.Str], depth+1)
			return ok
		})
		return ok
	}
	return false
}

// SameInput reports whether another entry shows a call with the same input.
func (e *Entry) SameInput(o *Entry, f *Form) bool {
	own, _ := e.Input(f)
	other, _ := o.Input(f)
	return own == other
}
