package chat

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/chat/wire"
	"github.com/heldcall/heldcall/intercept/sse"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// uneven reports whether a call of the choice is not uniform. A message beside the
// deltas replaces, in some clients, the calls that these have built. Some read all
// choices as one, and add a fragment of a call to the call with the same number in
// another choice.
func (a *answer) uneven(c *choice) bool {
	if c.closed {
		return c.odd
	}
	calling := 0
	for _, other := range a.choices {
		if len(other.calls()) > 0 {
			calling++
		}
	}
	for _, call := range c.calls() {
		if c.repeated || call.Odd || (calling > 1 && !a.whole) {
			return true
		}
	}
	return false
}

// changed reports whether the agent gets the calls of the choice in canonical form,
// because one of them is not uniform, is edited, or does not reach the agent.
func (a *answer) changed(c *choice, p *intercept.Plan) bool {
	if a.uneven(c) {
		return true
	}
	for _, call := range c.calls() {
		ruling, judged := call.Ruling()
		if judged && (p.Aborted != nil || ruling.Action != intercept.Release) {
			return true
		}
	}
	return false
}

// rendersCalls reports whether the calls of an event go out in canonical form. In a
// continuation all do, because their head is that of another answer.
func (e *edit) rendersCalls(c *wire.Chunk) bool {
	if e.continuing != nil {
		return true
	}
	for i := range c.Choices {
		if known := e.known(c.Choices[i].Index); known == nil || e.changed(known, e.plan) {
			return true
		}
	}
	return false
}

// takeApart renders an event with calls as several: one with the text and the other
// fields of the message, one for each call in canonical form, and one with the finish
// reasons and the usage.
func (e *edit) takeApart(c *wire.Chunk, units []*intercept.Unit) ([]byte, error) {
	out, err := e.revised(nil, e.saidIn(c))
	if err != nil {
		return nil, err
	}
	for i := range c.Choices {
		d := &c.Choices[i]
		if len(d.Calls) > 0 {
			out = append(out, e.callEvents(d, units[:len(d.Calls)])...)
			units = units[len(d.Calls):]
		}
	}
	return e.revised(out, e.endIn(c))
}

// revised appends an event without calls as the agent gets it; "" for none.
func (e *edit) revised(out []byte, payload string) ([]byte, error) {
	if payload == "" {
		return out, nil
	}
	c, err := wire.Decode(payload)
	if err != nil {
		return nil, err
	}
	r, err := e.answer.revise(c, e.plan)
	if out = append(out, r.Before...); err == nil && !r.Drop {
		out = sse.AppendData(out, "", []byte(r.JSON))
	}
	return out, err
}

// saidIn renders the text and the other known fields of the messages of an event, ""
// for none.
func (a *answer) saidIn(c *wire.Chunk) string {
	var choices []string
	for i := range c.Choices {
		d := &c.Choices[i]
		var list []string
		if d.Role && !a.output(d.Index).role {
			list = append(list, `"role":"assistant"`)
		}
		at := a.speaksIn(d)
		for _, t := range d.Texts {
			s := wire.KeptFields[t.Field]
			if t.Place == at && s != nil && ((t.Value.Type == gjson.String && s.Types&strictjson.String != 0) || s.Fits(t.Value)) {
				list = append(list, strictjson.Quote(t.Field)+":"+t.Value.Raw)
			}
		}
		if list != nil {
			choices = append(choices, fmt.Sprintf(`{"index":%d,"delta":{%s},"finish_reason":null}`, d.Index, strings.Join(list, ",")))
		}
	}
	if choices == nil {
		return ""
	}
	return a.head.Chunk("[" + strings.Join(choices, ",") + "]")
}

// speaksIn returns the place of a choice whose text counts. A message beside deltas
// repeats them.
func (a *answer) speaksIn(d *wire.ChoiceDelta) wire.Place {
	known := a.known(d.Index)
	if known == nil || known.says[wire.InDelta].any() {
		return wire.InDelta
	}
	for _, t := range d.Texts {
		if t.Place == wire.InDelta {
			return wire.InDelta
		}
	}
	return wire.InMessage
}

// endIn renders the finish reasons and the usage of an event, "" for none.
func (a *answer) endIn(c *wire.Chunk) string {
	var choices []string
	for i := range c.Choices {
		if d := &c.Choices[i]; d.Finish != "" {
			choices = append(choices, fmt.Sprintf(`{"index":%d,"delta":{},"finish_reason":%s}`, d.Index, strictjson.Quote(d.Finish)))
		}
	}
	if choices == nil && c.Usage == "" {
		return ""
	}
	end := a.head.Chunk("[" + strings.Join(choices, ",") + "]")
	if c.Usage != "" {
		end = end[:len(end)-1] + `,"usage":` + c.Usage + "}"
	}
	return end
}

// callEvents renders the calls of a choice in canonical form: with its first fragment
// all that reach the agent, one event each, and of a call whose beginning has passed
// what each fragment adds.
func (e *edit) callEvents(d *wire.ChoiceDelta, units []*intercept.Unit) (out []byte) {
	c := e.known(d.Index)
	if c == nil {
		return nil
	}
	for i, u := range units {
		call := callOf(u)
		if !call.Begun() {
			continue
		}
		var added string
		if added, call.half = strictjson.CutHalf(call.half + d.Calls[i].Args); added != "" {
			out = append(out, e.callEvent(c, call, fmt.Sprintf(`{"index":%d,"function":{"arguments":%s}}`, call.index, strictjson.Quote(added)))...)
		}
	}
	number, rendered := 0, c.rendered
	for _, call := range c.calls() {
		switch {
		case !e.plan.Reaches(&call.Unit):
			continue
		case !c.rendered && !call.Begun():
			out = append(out, e.callEvent(c, call, call.canonical(strconv.Itoa(number), call.arguments()))...)
			rendered = true
		}
		if call.kind != wire.KindLegacy {
			number++
		}
	}
	c.rendered = rendered
	return out
}

// callEvent renders an event with an entry of tool_calls, or with a function_call.
func (a *answer) callEvent(c *choice, call *call, entry string) []byte {
	field := `"tool_calls":[` + entry + "]"
	if call.kind == wire.KindLegacy {
		field = `"function_call":` + entry
	}
	return sse.AppendData(nil, "", []byte(a.head.Chunk(fmt.Sprintf(`[{"index":%d,"delta":{%s},"finish_reason":null}]`, c.output.index, field))))
}

// arguments are those that the agent gets in canonical form, where none at all are an
// empty object.
func (c *call) arguments() string {
	switch r := c.ruling(); {
	case r.Action == intercept.Edit:
		return r.Arguments
	case c.args.Len() == 0 && c.kind != wire.KindCustom:
		return "{}"
	}
	return c.args.String()
}

// canonical renders the call from known values only: as function_call, or as an
// entry of tool_calls, with a number where it is streamed.
func (c *call) canonical(number, arguments string) string {
	lead := ""
	if number != "" {
		lead = `"index":` + number + ","
	}
	if c.hasID {
		lead += `"id":` + strictjson.Quote(c.id) + ","
	}
	return c.render(lead, strictjson.Quote(arguments), knownExtras(c.own), knownExtras(c.inner))
}

// knownExtras are those of a call's fields that clients know.
func knownExtras(list []string) (known []string) {
	for _, field := range list {
		gjson.Parse("{" + field + "}").ForEach(func(k, v gjson.Result) bool {
			if s := wire.CallExtras[k.Str]; s != nil && s.Fits(v) {
				known = append(known, field)
			}
			return true
		})
	}
	return known
}

// wholeCalls puts the calls that the agent gets of a whole answer's choice in
// canonical form into its message.
func (e *edit) wholeCalls(path string, c *choice) {
	var entries []string
	legacy := ""
	for _, call := range c.calls() {
		switch {
		case !e.plan.Reaches(&call.Unit):
		case call.kind == wire.KindLegacy:
			legacy = call.canonical("", call.arguments())
		default:
			entries = append(entries, call.canonical("", call.arguments()))
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
	if c.assemblers[wire.InDelta].calls != nil {
		e.Delete(path + "delta")
	}
}

// put sets the value at a path, or takes out what is there where it is "".
func (e *edit) put(path, raw string) {
	switch {
	case raw != "":
		e.Set(path, raw)
	case gjson.Get(e.JSON, path).Exists():
		e.Delete(path)
	}
}
