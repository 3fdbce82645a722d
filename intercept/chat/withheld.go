package chat

import (
	"fmt"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/chat/history"
	"github.com/heldcall/heldcall/intercept/chat/wire"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// Some providers name a call in other fields: in the log probabilities of its tokens,
// and in the id of a reasoning detail that signs it. Events with these are held like
// those of the call, and lose them if the call does not reach the agent.

// namesCall reports whether an event may name a call outside of it.
func (p *eventBatch) namesCall() bool {
	for _, c := range p.chunks {
		for i := range c.Choices {
			if d := &c.Choices[i]; d.Unspoken() || p.signsCall(d) {
				return true
			}
		}
	}
	return false
}

const detailsField = "reasoning_details"

// signsCall reports whether a reasoning detail of an event has an id that names a
// tool of the request. OpenRouter gives it the id of the call that will come, which
// Gemini's calls have their name in.
func (p *eventBatch) signsCall(d *wire.ChoiceDelta) (signs bool) {
	for _, t := range d.Texts {
		if t.Field != detailsField || !t.Value.IsArray() {
			continue
		}
		t.Value.ForEach(func(_, detail gjson.Result) bool {
			id := detail.Get("id").String()
			signs = id != "" && (strings.HasPrefix(id, "tool_") || p.req.Names(id))
			return !signs
		})
	}
	return signs
}

// withhold takes out of a choice what names its calls outside of them.
func (e *edit) withhold(path string, d *wire.ChoiceDelta, c *choice) {
	if d.Logprobs.IsObject() {
		e.Set(path+"logprobs", "null")
	}
	for _, t := range d.Texts {
		if t.Field == detailsField {
			e.unname([...]string{wire.InDelta: path + "delta.", wire.InMessage: path + "message."}[t.Place]+detailsField, t.Value, c)
		}
	}
}

// unname takes the ids out of those reasoning details at a path that name calls which
// the agent does not get. Their data stays: the provider wants it back.
func (e *edit) unname(path string, details gjson.Result, c *choice) {
	at := -1
	details.ForEach(func(_, detail gjson.Result) bool {
		at++
		if namesDenied(e.plan, detail.Get("id").String(), c) {
			e.Delete(fmt.Sprintf("%s.%d.id", path, at))
		}
		return true
	})
}

// namesDenied reports whether an id names a call that the agent does not get.
func namesDenied(p *intercept.Plan, id string, c *choice) bool {
	for _, call := range c.calls() {
		if _, judged := call.Ruling(); judged && !p.Reaches(&call.Unit) && id != "" &&
			(id == call.id || (call.name != "" && strings.Contains(id, call.name))) {
			return true
		}
	}
	return false
}

// think keeps the reasoning of a turn of a whole answer for the agent, who reads the
// last turn's message.
func (a *answer) think(c *choice, p *intercept.Plan) {
	u := c.said()
	for _, name := range u.order {
		value := gjson.Parse(u.extras[name].value())
		if !joins(name, value) {
			continue
		}
		e := edit{answer: a, plan: p, Patch: strictjson.Patch{JSON: `{"v":` + value.Raw + "}"}}
		if name == detailsField {
			e.unname("v", value, c)
		}
		if e.Err == nil {
			c.output.thought = append(c.output.thought, history.Field{Name: name, Raw: gjson.Get(e.JSON, "v").Raw})
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

// wholeThought puts the reasoning of the turns before in front of the message's own.
func (e *edit) wholeThought(path string, l *outputChoice) {
	for i := len(l.thought) - 1; i >= 0; i-- {
		before := gjson.Parse(l.thought[i].Raw)
		own := gjson.Get(e.JSON, path+l.thought[i].Name)
		switch {
		case before.Type == gjson.String && own.Type == gjson.String:
			e.Set(path+l.thought[i].Name, strictjson.Quote(before.Str+strictjson.Paragraph(before.Str, own.Str)))
		case before.IsArray() && own.IsArray():
			e.Set(path+l.thought[i].Name, joinLists(before.Raw, own.Raw))
		case own.Type == gjson.Null:
			e.Set(path+l.thought[i].Name, before.Raw)
		}
	}
}

// joinLists returns the items of two JSON arrays in one.
func joinLists(first, second string) string {
	var items []string
	gjson.Parse(second).ForEach(func(_, item gjson.Result) bool {
		items = append(items, item.Raw)
		return true
	})
	return string(strictjson.AppendItems([]byte(first), items...))
}
