package messages

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// Rewrite implements [intercept.Codec]. Blocks get the numbers that they have in the
// agent's message, and calls are rendered in canonical form.
func (a *answer) Rewrite(part *intercept.Part, plan *intercept.Plan) ([]intercept.Event, error) {
	if part.Whole {
		return a.rewriteWhole(part.Payloads[0], plan)
	}
	units := part.Units()
	return part.Map(func(_ int, event intercept.Event) ([]intercept.Event, error) {
		if intercept.IsDone([]byte(event.Data)) {
			closing := a.closingNotice(plan, true)
			if plan.Open {
				return closing, nil
			}
			return append(closing, event), nil
		}
		ev, err := decode(event.Data, part.Names)
		if err != nil {
			return nil, err
		}
		var list []intercept.Event
		if ev.kind == kindMessageDelta || ev.kind == kindMessageStop {
			list = a.closingNotice(plan, ev.kind == kindMessageStop)
		}
		e := edit{answer: a, plan: plan, Patch: strictjson.Patch{JSON: ev.raw}, units: units}
		if e.event(ev); e.Err != nil {
			return nil, fmt.Errorf("rewrite an event: %w", e.Err)
		}
		units = e.units
		if !e.drop {
			if event.Data = e.JSON; len(part.Payloads) > 1 { // the name of the part is not that of each event in it
				event.Name = gjson.Get(e.JSON, "type").Str
			}
			list = append(list, event)
		}
		return append(list, e.after...), nil
	})
}

// rewriteWhole returns an answer that is one JSON value as the agent gets it.
func (a *answer) rewriteWhole(value []byte, plan *intercept.Plan) ([]intercept.Event, error) {
	m, err := decodeWhole(string(value))
	if err != nil {
		return nil, err
	}
	if m.failed || !m.object {
		return []intercept.Event{{Data: string(value)}}, nil
	}
	e := edit{answer: a, plan: plan, Patch: strictjson.Patch{JSON: string(value)}}
	for _, b := range a.body.blocks.list {
		e.units = append(e.units, &b.Unit)
	}
	blocks := append(slices.Clone(a.earlier.rendered), e.content(m.blocks)...)
	if plan.Notice != "" {
		blocks = append(blocks, textBlock(strictjson.Paragraph(a.text(), plan.Notice)))
	}
	e.Set("content", strictjson.ReplaceItems(gjson.Get(e.JSON, "content").Raw, blocks))
	e.stopReason("stop_reason", m)
	e.verdicts("safeguard_results")
	e.usage()
	for _, f := range []struct{ name, first, own string }{{"id", a.earlier.id, m.id}, {"model", a.earlier.model, m.model}} {
		if f.first != "" && f.first != f.own {
			e.Set(f.name, f.first)
		}
	}
	return []intercept.Event{{Data: e.JSON}}, e.Err
}

// edit rewrites one event, or a whole answer.
type edit struct {
	strictjson.Patch
	answer *answer
	plan   *intercept.Plan
	units  []*intercept.Unit // of this event and those after it
	drop   bool              // the event does not go out
	after  []intercept.Event // that go out after it
}

// next returns the next block that the events are about.
func (e *edit) next() *block {
	b := blockOf(e.units[0])
	e.units = e.units[1:]
	return b
}

func (e *edit) event(ev *event) {
	switch ev.kind {
	case kindMessageStart:
		e.start(&ev.message)
	case kindBlockStart:
		e.opening(ev)
	case kindBlockDelta, kindBlockStop:
		b := e.next()
		e.drop = e.drops(b) || e.renders(b)
		e.number(b, ev.index)
	case kindMessageDelta:
		if e.drop = e.plan.Open; !e.drop {
			e.stopReason("delta.stop_reason", &ev.message)
			e.verdicts("delta.safeguard_results")
			e.usage()
			if ev.message.stop != "" {
				e.answer.output.stop = ""
			}
		}
	case kindMessageStop:
		e.drop = e.plan.Open
	}
}

// drops reports whether a block does not reach the agent.
func (e *edit) drops(b *block) bool { return b != nil && !e.plan.Reaches(&b.Unit) }

// renders reports whether a block is a call, which goes out in canonical form.
func (e *edit) renders(b *block) bool { return b != nil && b.call != nil }

// start rewrites the start of the message; the agent gets only one. Its blocks go
// out as separate events. Its stop reason goes out at the end, because the lost
// calls may change it.
func (e *edit) start(m *message) {
	for i := range m.blocks {
		b := e.next()
		if e.drops(b) {
			continue
		}
		b.shown = true
		if e.renders(b) {
			e.after = append(e.after, e.call(b)...)
			continue
		}
		n := e.answer.body.blocks.place(b, e.plan)
		e.after = appendBlockStop(appendBlockStart(e.after, n, m.blocks[i].raw), n)
	}
	output := &e.answer.output
	if !e.plan.Open {
		output.stop = m.stop
	}
	if e.drop = output.begun; e.drop {
		return
	}
	output.begun, output.id = true, strings.Clone(m.id)
	if len(m.blocks) > 0 {
		e.Set("message.content", "[]")
	}
	if m.stop != "" {
		e.Set("message.stop_reason", "null")
	}
}

// content returns the blocks of a whole answer that the agent gets.
func (e *edit) content(openings []opening) (blocks []string) {
	for i := range openings {
		b := e.next()
		if e.drops(b) {
			continue
		}
		b.shown = true
		if e.renders(b) {
			blocks = append(blocks, e.wholeCall(b))
			continue
		}
		blocks = append(blocks, openings[i].raw)
	}
	return blocks
}

// opening rewrites the start of a block. It is replaced by all events of a call.
func (e *edit) opening(ev *event) {
	b := e.next()
	if e.drop = e.drops(b); e.drop {
		return
	}
	b.shown = true
	if e.drop = e.renders(b); e.drop {
		e.after = e.call(b)
		return
	}
	e.number(b, ev.index)
}

// number sets the number of the block in the agent's message.
func (e *edit) number(b *block, index int) {
	if b == nil || e.drop {
		return
	}
	if n := e.answer.body.blocks.place(b, e.plan); n != index {
		e.Set("index", strconv.Itoa(n))
	}
}

// stopReason replaces the stop reason of a message that has lost its calls.
func (e *edit) stopReason(path string, m *message) {
	if e.answer.lostCalls(e.plan, m.stop) {
		e.Set(path, `"end_turn"`)
	}
}

// lostCalls reports whether a stop reason no longer applies to a message.
func (a *answer) lostCalls(plan *intercept.Plan, stop string) bool {
	return plan.Notice != "" && !a.body.blocks.left() && (stop == "tool_use" || stop == "pause_turn")
}

// verdicts removes the provider's verdicts on calls that do not reach the agent, or not
// unchanged.
func (e *edit) verdicts(path string) {
	results := gjson.Get(e.JSON, path)
	changed := make(map[string]bool) // ids of such calls
	for _, b := range e.answer.body.blocks.list {
		if _, edited := e.plan.Edit(&b.Unit); b.call != nil && b.call.id != "" && (edited || e.drops(b)) {
			changed[b.call.id] = true
		}
	}
	if len(changed) == 0 || !results.Exists() {
		return
	}
	raw := results.Raw
	if results.IsArray() {
		raw = e.withoutVerdicts(results, changed)
	}
	for id := range changed {
		if strings.Contains(raw, id) {
			e.Delete(path)
			return
		}
	}
	if raw != results.Raw {
		e.Set(path, raw)
	}
}

// withoutVerdicts is a list of the provider's results without the verdicts on some calls.
func (e *edit) withoutVerdicts(results gjson.Result, on map[string]bool) string {
	var list []string
	removed := false
	results.ForEach(func(_, result gjson.Result) bool {
		p := strictjson.Patch{JSON: result.Raw}
		result.Get("status.tool_uses").ForEach(func(id, _ gjson.Result) bool {
			if on[id.Str] {
				p.Delete("status.tool_uses." + gjson.Escape(id.Str))
				removed = true
			}
			return true
		})
		e.Err = cmp.Or(e.Err, p.Err)
		list = append(list, p.JSON)
		return true
	})
	if !removed {
		return results.Raw
	}
	return "[" + strings.Join(list, ",") + "]"
}

// usage adds the usage of the bodies before.
func (e *edit) usage() {
	if len(e.answer.earlier.usage) > 0 {
		e.Set("usage", e.answer.usage())
	}
}
