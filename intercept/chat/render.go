package chat

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/sse"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// rendersCalls reports whether the calls of an event go out in canonical form. In a
// continuation all do, because their head is that of another answer.
func (w *rewriter) rendersCalls(c *chunk) bool {
	return w.out.continuing != nil || slices.ContainsFunc(c.choices, func(d choiceDelta) bool {
		return w.body.canonical(w.body.known(d.index), w.plan)
	})
}

// takeApart renders an event with calls as several: one with the text and the other
// fields of the message, one for each call in canonical form, and one with the finish
// reasons and the usage.
func (w *rewriter) takeApart(c *chunk, units []*intercept.Unit) ([]byte, error) {
	out, err := w.appendEvent(nil, w.messageEvent(c))
	if err != nil {
		return nil, err
	}
	for i := range c.choices {
		d := &c.choices[i]
		if len(d.calls) > 0 {
			out = append(out, w.callEvents(d, units[:len(d.calls)])...)
			units = units[len(d.calls):]
		}
	}
	return w.appendEvent(out, w.endEvent(c))
}

// appendEvent appends an event without calls as the agent gets it; "" for none.
func (w *rewriter) appendEvent(out []byte, payload string) ([]byte, error) {
	if payload == "" {
		return out, nil
	}
	c, err := decodeChunk(payload)
	if err != nil {
		return nil, err
	}
	r, err := w.revise(c)
	if out = append(out, r.Before...); err == nil && !r.Drop {
		out = sse.AppendData(out, "", []byte(r.JSON))
	}
	return out, err
}

// messageEvent renders the text and the other known fields of the messages of an event,
// "" for none.
func (w *rewriter) messageEvent(c *chunk) string {
	var choices []string
	for i := range c.choices {
		d := &c.choices[i]
		choice := w.body.known(d.index)
		var list []string
		if d.role && !choice.output.sent.role {
			list = append(list, `"role":"assistant"`)
		}
		for _, t := range d.texts {
			if t.place == choice.textPlace(d) && t.kept() {
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

// endEvent renders the finish reasons and the usage of an event, "" for none.
func (w *rewriter) endEvent(c *chunk) string {
	var choices []string
	for i := range c.choices {
		if d := &c.choices[i]; d.finish != "" {
			choices = append(choices, choiceJSON(d.index, "", strictjson.Quote(d.finish)))
		}
	}
	if choices == nil && c.usage == "" {
		return ""
	}
	end := w.out.head.chunk(choices...)
	if c.usage != "" {
		end = end[:len(end)-1] + `,"usage":` + c.usage + "}"
	}
	return end
}

// callEvents renders the calls of a choice in canonical form. With the first fragment of
// the choice go all calls that reach the agent, one event each; a call whose beginning has
// passed continues with each of its fragments.
func (w *rewriter) callEvents(d *choiceDelta, units []*intercept.Unit) (out []byte) {
	c := w.body.known(d.index)
	for i, u := range units {
		call := callOf(u)
		if !call.Begun() {
			continue
		}
		if added := call.next(d.calls[i].args); added != "" {
			out = append(out, w.callEvent(call, fmt.Sprintf(`{"index":%d,"function":{"arguments":%s}}`, call.index, strictjson.Quote(added)))...)
		}
	}
	if c.callsSent {
		return out
	}
	number := 0
	for _, call := range c.calls() {
		if !w.plan.Reaches(&call.Unit) {
			continue
		}
		if !call.Begun() {
			out = append(out, w.callEvent(call, call.canonical(strconv.Itoa(number)))...)
			c.callsSent = true
		}
		if call.kind != kindLegacy {
			number++
		}
	}
	return out
}

// callEvent renders an event with an entry of tool_calls, or with a function_call.
func (w *rewriter) callEvent(call *call, entry string) []byte {
	field := `"tool_calls":[` + entry + "]"
	if call.kind == kindLegacy {
		field = `"function_call":` + entry
	}
	return w.out.head.event(choiceJSON(call.choice.output.index, field, "null"))
}

// next returns the text that a fragment adds to the rendered arguments. Half a surrogate
// pair waits for the next fragment.
func (c *call) next(fragment string) (added string) {
	added, c.half = strictjson.CutHalf(c.half + fragment)
	return added
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
		case call.kind == kindLegacy:
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
	case gjson.Get(e.JSON, path).Exists():
		e.Delete(path)
	}
}
