package messages

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// RewriteItems implements [intercept.Codec]. Blocks are numbered as the agent counts them,
// and calls go out in canonical form.
func (a *answer) Rewrite(part []byte, units []*intercept.Unit, p *intercept.Plan) ([]byte, error) {
	payloads, err := intercept.Payloads(part)
	if err != nil {
		return nil, err
	}
	names := intercept.EventNames(part, len(payloads))
	return intercept.RewritePart(part, payloads, func(_ int, payload []byte) (intercept.Rewrite, error) {
		if intercept.IsDone(payload) {
			return intercept.Rewrite{JSON: string(payload), Drop: p.Open, Before: a.closingNotice(p, true)}, nil
		}
		e, err := decode(string(payload), names)
		if err != nil {
			return intercept.Rewrite{}, err
		}
		before := a.noticeBefore(p, e)
		ed := edit{answer: a, plan: p, Patch: strictjson.Patch{JSON: e.raw}, units: units}
		if ed.event(e); ed.Err != nil {
			return intercept.Rewrite{}, fmt.Errorf("rewrite an event: %w", ed.Err)
		}
		units = ed.units
		r := intercept.Rewrite{JSON: ed.JSON, Drop: ed.hollow, Before: before, After: ed.more}
		if len(payloads) > 1 && !r.Drop { // the name of the part is not that of each event in it
			r.After = append(appendEvent(nil, gjson.Get(ed.JSON, "type").Str, ed.JSON), ed.more...)
			r.Drop = true
		}
		return r, nil
	})
}

// edit is the work on one event, or on a whole answer.
type edit struct {
	*answer
	strictjson.Patch
	plan   *intercept.Plan
	units  []*intercept.Unit // those of this and the following events
	hollow bool              // nothing is left of the event
	more   []byte            // events that follow it
}

// next is the block that comes next among those that the events are about.
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
		e.hollow = e.drops(b) || e.renders(b)
		e.number(b, ev.index)
	case kindMessageDelta:
		if e.hollow = e.plan.Open; !e.hollow {
			e.stopReason("delta.stop_reason", &ev.message)
			e.verdicts("delta.safeguard_results")
			e.usage()
			if ev.message.stop != "" {
				e.answer.due = ""
			}
		}
	case kindMessageStop:
		e.hollow = e.plan.Open
	}
}

func (e *edit) drops(b *block) bool { return b != nil && !e.plan.Reaches(&b.Unit) }

// start is the start of the message: the agent gets one. Blocks in it go out by
// themselves, and so does its reason to stop, because what is left of the blocks may
// be another reason.
func (e *edit) start(m *message) {
	for i := range m.blocks {
		b := e.next()
		if e.drops(b) {
			continue
		}
		b.shown = true
		if e.renders(b) {
			e.more = append(e.more, e.call(b)...)
			continue
		}
		n := e.place(b, e.plan)
		e.more = appendBlockStop(appendBlockStart(e.more, n, m.blocks[i].raw), n)
	}
	if !e.plan.Open {
		e.answer.due = m.stop
	}
	if e.hollow = e.begun; e.hollow {
		return
	}
	e.answer.begun = true
	if len(m.blocks) > 0 {
		e.Set("message.content", "[]")
	}
	if m.stop != "" {
		e.Set("message.stop_reason", "null")
	}
}

// content returns what the agent gets of the blocks of a whole answer.
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

// opening is the start of a block. A call goes out as a whole in its place.
func (e *edit) opening(ev *event) {
	b := e.next()
	if e.hollow = e.drops(b); e.hollow {
		return
	}
	b.shown = true
	if e.hollow = e.renders(b); e.hollow {
		e.more = e.call(b)
		return
	}
	e.number(b, ev.index)
}

// number numbers the block as the agent counts it.
func (e *edit) number(b *block, index int) {
	if b == nil || e.hollow {
		return
	}
	if n := e.place(b, e.plan); n != index {
		e.Set("index", strconv.Itoa(n))
	}
}

// stopReason rewrites the reason to stop of a message that has lost its calls.
func (e *edit) stopReason(path string, m *message) {
	if lostCalls(e.plan, m.stop) {
		e.Set(path, `"end_turn"`)
	}
}

// lostCalls reports whether a message no longer stops for the given reason.
func lostCalls(p *intercept.Plan, stop string) bool {
	return p.Notice != "" && (stop == "tool_use" || stop == "pause_turn")
}

// verdicts takes out what the provider thinks of calls that the agent does not get,
// or not as they were.
func (e *edit) verdicts(path string) {
	for _, b := range e.blocks {
		if _, edited := e.plan.Edit(&b.Unit); b.call == nil || b.call.id == "" || (!edited && !e.drops(b)) {
			continue
		}
		for i := range gjson.Get(e.JSON, path).Array() {
			e.Delete(fmt.Sprintf("%s.%d.status.tool_uses.%s", path, i, gjson.Escape(b.call.id)))
		}
		if strings.Contains(gjson.Get(e.JSON, path).Raw, b.call.id) {
			e.Delete(path)
		}
	}
}

// usage adds what earlier turns of the answer have used.
func (e *edit) usage() {
	if len(e.priorUsage) > 0 {
		e.Set("usage", e.usageSum())
	}
}

func (a *answer) usageSum() string {
	return string(strictjson.AddUsage(a.priorUsage, []byte(a.bodyState.usage)))
}

// overlay is usage that a message reports at its start with what it reports at
// its end, which counts from the start.
func overlay(usage, later string) string {
	p := strictjson.Patch{JSON: usage}
	if usage == "" {
		return strings.Clone(later)
	}
	gjson.Parse(later).ForEach(func(k, v gjson.Result) bool {
		if v.Type != gjson.Null {
			p.Set(gjson.Escape(k.Str), v.Raw)
		}
		return true
	})
	return p.JSON
}
