package chat

import (
	"cmp"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept"

	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// Some providers name a call in other fields: in its tokens, their log probabilities, and
// in the id of a reasoning detail that signs it. Events with these are held like those of
// the call. If the call does not reach the agent, the fields are removed.

const detailsField = "reasoning_details"

// withhold removes from a choice the fields that name its calls outside of them.
func (e *edit) withhold(path string, d *choiceDelta, c *choice) {
	if d.logprobs.IsObject() {
		e.Set(path+"logprobs", "null")
	}
	e.put(path+"token_ids", "")
	for _, t := range d.texts {
		if t.field == detailsField {
			removeDenied(&e.Patch, path+placeField[t.place]+detailsField, t.value, c, e.w.plan)
		}
	}
}

// removeDenied removes the ids of the reasoning details at a path that name calls which
// the agent does not get. Their data stays: the provider wants it back.
// Details in another form than a list, which no known provider sends, are removed whole.
func removeDenied(patch *strictjson.Patch, path string, details gjson.Result, c *choice, p *intercept.Plan) {
	if !details.IsArray() {
		if c.namesDenied(details.Raw, p) {
			patch.Delete(path)
		}
		return
	}
	var list []string
	changed := false
	details.ForEach(func(_, detail gjson.Result) bool {
		edited := strictjson.Patch{JSON: detail.Raw}
		if c.namesDenied(detail.Get("id").String(), p) {
			edited.Delete("id")
			changed, patch.Err = true, cmp.Or(patch.Err, edited.Err)
		}
		list = append(list, edited.JSON)
		return true
	})
	if changed {
		patch.Set(path, "["+strings.Join(list, ",")+"]")
	}
}

// namesDenied reports whether a text names a call that the agent does not get.
func (c *choice) namesDenied(text string, p *intercept.Plan) bool {
	return text != "" && slices.ContainsFunc(c.calls(), func(call *call) bool {
		_, judged := call.Ruling()
		named := text == call.id || strings.Contains(text, `"`+call.id+`"`) || (call.name != "" && strings.Contains(text, call.name))
		return judged && named && !p.Reaches(&call.Unit)
	})
}

// keepReasoning keeps the reasoning of a turn of a whole answer, which goes into the
// message of the last turn.
func (l *outputChoice) keepReasoning(p *intercept.Plan) {
	message := l.now.message()
	for _, name := range message.order {
		value := gjson.Parse(message.extras[name].value())
		if !joins(name, value) {
			continue
		}
		patch := strictjson.Patch{JSON: `{"v":` + value.Raw + "}"}
		if name == detailsField {
			removeDenied(&patch, "v", value, l.now, p)
		}
		if patch.Err == nil {
			l.prior.reasoning = append(l.prior.reasoning, rawField{Name: name, Raw: gjson.Get(patch.JSON, "v").Raw})
		}
	}
}

// joins reports whether a field is reasoning that the agent reads as one text, or
// list, over several turns.
func joins(name string, value gjson.Result) bool {
	switch name {
	case "reasoning", "reasoning_content", "reasoning_text":
		return value.Type == gjson.String && value.Str != ""
	case detailsField, "thinking_blocks":
		return value.IsArray()
	}
	return false
}

// wholeReasoning puts the reasoning of earlier turns before that of the message.
func (e *edit) wholeReasoning(path string, l *outputChoice) {
	for _, field := range slices.Backward(l.prior.reasoning) {
		earlier := gjson.Parse(field.Raw)
		current := gjson.Get(e.JSON, path+field.Name)
		switch {
		case earlier.Type == gjson.String && current.Type == gjson.String:
			e.Set(path+field.Name, strictjson.Quote(earlier.Str+strictjson.Paragraph(earlier.Str, current.Str)))
		case earlier.IsArray() && current.IsArray():
			e.Set(path+field.Name, joinLists(earlier.Raw, current))
		case current.Type == gjson.Null:
			e.Set(path+field.Name, earlier.Raw)
		}
	}
}

// joinLists returns the items of two JSON arrays in one.
func joinLists(first string, second gjson.Result) string {
	var items []string
	for _, item := range second.Array() {
		items = append(items, item.Raw)
	}
	return string(strictjson.AppendItems([]byte(first), items...))
}
