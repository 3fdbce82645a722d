package chat

import (
	"slices"
	"strconv"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// takeApart renders an event with calls as several: one with the text and the other fields of the
// message, one for each call in canonical form, and one with the rest. Of an event of a call that
// does not reach the agent as the model made it, only known fields go out.
func (w *rewriter) takeApart(c *chunk) ([]intercept.Event, error) {
	known := slices.ContainsFunc(c.choices, func(d choiceDelta) bool { return w.body.known(d.index).changes(w.plan) })
	out, err := w.appendEvent(nil, w.messageEvent(c, known))
	if err != nil {
		return nil, err
	}
	for i := range c.choices {
		if d := &c.choices[i]; len(d.calls) > 0 {
			out = append(out, w.callEvents(w.body.known(d.index))...)
		}
	}
	return w.appendEvent(out, c.rest(&w.out.head, known))
}

// appendEvent appends an event without calls as the agent gets it; "" for none.
func (w *rewriter) appendEvent(out []intercept.Event, payload string) ([]intercept.Event, error) {
	if payload == "" {
		return out, nil
	}
	c, err := decodeChunk(payload)
	if err != nil {
		return nil, err
	}
	return w.revise(out, "", c)
}

// messageEvent renders the text and the other fields of the messages of an event, or only the known
// ones; "" for none.
func (w *rewriter) messageEvent(c *chunk, known bool) string {
	var choices []string
	for i := range c.choices {
		d := &c.choices[i]
		choice := w.body.known(d.index)
		var list []string
		if d.role && !choice.output.sent.role {
			list = append(list, `"role":"assistant"`)
		}
		for _, t := range d.texts {
			if t.place == choice.textPlace(d) && t.kept(known) {
				list = append(list, strictjson.Quote(t.field)+":"+t.value.Raw)
			}
		}
		if list != nil {
			choices = append(choices, choiceJSON(d.index, strings.Join(list, ","), "null"))
		}
	}
	if choices == nil {
		return ""
	}
	return w.out.head.chunk(choices...)
}

// rest renders an event without the messages of its choices: the finish reasons, the usage and, unless
// only known fields are asked for, what else lies beside the messages. It is "" if there is nothing of it.
func (c *chunk) rest(head *chunkHead, known bool) string {
	beside := ""
	if !known {
		beside = otherFields(c.raw, "id", "object", "created", "model", "system_fingerprint", "choices", "usage", "obfuscation", "p", "service_tier", "provider")
	}
	more := beside != "" || c.usage != ""
	var choices []string
	for i := range c.choices {
		d := &c.choices[i]
		finish, own := "null", ""
		if d.finish != "" {
			finish = strictjson.Quote(d.finish)
		}
		if !known {
			own = d.beside()
		}
		more = more || d.finish != "" || own != ""
		choice := choiceJSON(d.index, "", finish)
		choices = append(choices, choice[:len(choice)-1]+own+"}")
	}
	if !more {
		return ""
	}
	for _, name := range []string{"service_tier", "provider"} { // in every event of some providers
		if v := gjson.Get(c.raw, name); v.Type == gjson.String {
			beside += `,"` + name + `":` + v.Raw
		}
	}
	if c.usage != "" {
		beside += `,"usage":` + c.usage
	}
	event := head.chunk(choices...)
	return event[:len(event)-1] + beside + "}"
}

// beside are the fields of a choice beside its message and the finish reason, after a comma.
func (d *choiceDelta) beside() string {
	fields := otherFields(d.raw, "index", "delta", "message", "finish_reason", "logprobs")
	if d.logprobs.IsObject() {
		fields += `,"logprobs":` + d.logprobs.Raw
	}
	return fields
}

// otherFields renders the fields of an object that have contents and none of the names, after a
// comma each.
func otherFields(object string, names ...string) string {
	var b strings.Builder
	gjson.Parse(object).ForEach(func(k, v gjson.Result) bool {
		if !slices.Contains(names, k.Str) && passes(k.Str, v) {
			b.WriteString("," + strictjson.Quote(k.Str) + ":" + v.Raw)
		}
		return true
	})
	return b.String()
}

// callEvents are the calls of a choice that reach the agent in canonical form, one event each:
// all of them that have a ruling, with the first fragment of the choice that leaves then.
func (w *rewriter) callEvents(c *choice) (out []intercept.Event) {
	number := 0
	for _, call := range c.calls() {
		if !w.plan.Reaches(&call.Unit) {
			continue
		}
		if !call.sent {
			call.sent = true
			out = append(out, w.callEvent(call, call.canonical(strconv.Itoa(number))))
		}
		if !call.isLegacy() {
			number++
		}
	}
	return out
}

// callEvent is an event with an entry of tool_calls, or with a function_call.
func (w *rewriter) callEvent(call *call, entry string) intercept.Event {
	field := `"tool_calls":[` + entry + "]"
	if call.isLegacy() {
		field = `"function_call":` + entry
	}
	return w.out.head.event(choiceJSON(call.choice.output.index, field, "null"))
}

// arguments are those of the canonical form. A call without any gets an empty object.
func (c *call) arguments() string {
	r := c.ruling()
	replaced, replaces := r.ForAgent()
	switch {
	case replaces:
		return replaced
	case c.args.Len() == 0 && c.kind != kindCustom:
		return "{}"
	}
	return c.args.String()
}

// canonical renders the call from known values only: as function_call, or as an
// entry of tool_calls, with a number where it is streamed.
func (c *call) canonical(number string) string {
	lead := ""
	if number != "" {
		lead = `"index":` + number + ","
	}
	if c.hasID {
		lead += `"id":` + strictjson.Quote(c.id) + ","
	}
	return c.render(lead, strictjson.Quote(c.arguments()), knownExtras(c.own), knownExtras(c.inner))
}

// knownExtras returns the fields of a call that clients know.
func knownExtras(list []string) (known []string) {
	for _, field := range list {
		gjson.Parse("{" + field + "}").ForEach(func(k, v gjson.Result) bool {
			if s := callExtras[k.Str]; s != nil && s.Fits(v) {
				known = append(known, field)
			}
			return true
		})
	}
	return known
}

// wholeCalls puts the calls of a choice of a whole answer that reach the agent into its
// message, in canonical form.
func (e *edit) wholeCalls(path string, c *choice) {
	var entries []string
	legacy := ""
	for _, call := range c.calls() {
		switch {
		case !e.w.plan.Reaches(&call.Unit):
		case call.isLegacy():
			legacy = call.canonical("")
		default:
			entries = append(entries, call.canonical(""))
		}
	}
	list := ""
	if entries != nil {
		list = "[" + strings.Join(entries, ",") + "]"
	}
	if list != "" || legacy != "" {
		e.Set(path+"message.role", `"assistant"`)
	}
	e.put(path+"message.tool_calls", list)
	e.put(path+"message.function_call", legacy)
	if c.assemblers[inDelta].calls != nil {
		e.Delete(path + "delta")
	}
}

// put sets the value at a path; "" removes it.
func (e *edit) put(path, raw string) {
	switch {
	case raw != "":
		e.Set(path, raw)
	case gjson.Get(e.JSON, path).Type != gjson.Null:
		e.Delete(path)
	}
}
