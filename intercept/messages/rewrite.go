package messages

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// plan says how what was kept back goes out. The zero value is as it is, but for
// the numbers of the blocks.
type plan struct {
	drop  func(*block) bool
	edits map[*call]string // new arguments
	note  string           // what stands in place of the calls
	noted bool             // the note has gone out
	open  bool             // the message goes on: its end is left out
}

// recast returns a part of the stream changed by the plan and made to belong to
// the message that the agent has begun to read. It is empty when nothing is left
// of the part.
func (a *answer) recast(part []byte, about []*block, p *plan) ([]byte, error) {
	payloads, err := intercept.Payloads(part)
	if err != nil {
		return nil, err
	}
	names := intercept.EventNames(part, len(payloads))
	return intercept.RecastPart(part, payloads, func(_ int, payload []byte) (intercept.Recast, error) {
		if intercept.IsDone(payload) {
			return intercept.Recast{JSON: string(payload), Hollow: p.open, Before: a.farewell(p, true)}, nil
		}
		e, err := decode(string(payload), names)
		if err != nil {
			return intercept.Recast{}, err
		}
		before := a.farewellBefore(p, e)
		ed := edit{answer: a, plan: *p, Patch: intercept.Patch{JSON: e.raw}, about: about}
		if ed.event(e); ed.Err != nil {
			return intercept.Recast{}, fmt.Errorf("rewrite an event: %w", ed.Err)
		}
		about = ed.about
		return intercept.Recast{JSON: ed.JSON, Hollow: ed.hollow, Before: before, After: ed.more}, nil
	})
}

// edit is the work on one event, or on a whole answer.
type edit struct {
	*answer
	intercept.Patch
	plan   plan
	about  []*block // the blocks of this and the following events
	hollow bool     // nothing is left of the event
	more   []byte   // events that follow it
}

// next is the block that comes next among those that the events are about.
func (e *edit) next() *block {
	b := e.about[0]
	e.about = e.about[1:]
	return b
}

func (e *edit) event(ev *event) {
	switch ev.kind {
	case kindMessageStart:
		e.start(&ev.message)
	case kindBlockStart:
		e.opening(ev)
	case kindBlockDelta:
		b := e.next()
		_, edited := e.edited(b)
		e.hollow = e.drops(b) || edited && ev.delta.input
		e.number(b, ev.index)
	case kindBlockStop:
		b := e.next()
		e.hollow = e.drops(b)
		e.number(b, ev.index)
	case kindMessageDelta:
		if e.hollow = e.plan.open; !e.hollow {
			e.stopReason("delta.stop_reason", &ev.message)
			e.verdicts("delta.safeguard_results")
			e.usage()
		}
	case kindMessageStop:
		e.hollow = e.plan.open
	}
}

func (e *edit) drops(b *block) bool { return b != nil && e.plan.drop != nil && e.plan.drop(b) }

// edited returns the new arguments of a block's call.
func (e *edit) edited(b *block) (arguments string, ok bool) {
	if b == nil || b.call == nil {
		return "", false
	}
	arguments, ok = e.plan.edits[b.call]
	return arguments, ok
}

// start is the start of the message: the agent gets one. Blocks that stand in
// another go out by themselves.
func (e *edit) start(m *message) {
	about := e.about
	blocks := e.content(m.blocks)
	if e.hollow = e.begun; e.hollow {
		for _, b := range about[:len(m.blocks)] {
			if !e.drops(b) {
				n := e.place(b, e.plan.drop)
				e.more = appendEvent(e.more, "content_block_start", fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, n, blocks[0]))
				e.more = appendEvent(e.more, "content_block_stop", fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, n))
				blocks = blocks[1:]
			}
		}
		return
	}
	e.answer.begun = true
	if len(m.blocks) > 0 {
		e.Set("message.content", "["+strings.Join(blocks, ",")+"]")
	}
}

// content is what the agent gets of the blocks of a message.
func (e *edit) content(openings []opening) (blocks []string) {
	for i := range openings {
		b := e.next()
		if e.drops(b) {
			continue
		}
		raw := openings[i].raw
		if arguments, ok := e.edited(b); ok {
			raw = e.withInput(raw, arguments)
		}
		b.shown = true
		blocks = append(blocks, raw)
	}
	return blocks
}

func (e *edit) withInput(raw, arguments string) string {
	if err := intercept.Strict([]byte(arguments)); err != nil {
		e.Err = fmt.Errorf("put the new arguments into the call: %w", err)
		return raw
	}
	next, err := sjson.SetRaw(raw, "input", arguments)
	if err != nil {
		e.Err = err
	}
	return next
}

// opening is the start of a block. The new arguments of an edited call follow it
// in one piece.
func (e *edit) opening(ev *event) {
	b := e.next()
	if e.hollow = e.drops(b); e.hollow {
		return
	}
	b.shown = true
	e.number(b, ev.index)
	arguments, ok := e.edited(b)
	if !ok {
		return
	}
	if b.call.given != "{}" {
		e.Set("content_block.input", "{}")
	}
	e.more = appendEvent(nil, "content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":%s}}`, e.place(b, e.plan.drop), intercept.Quote(arguments)))
}

// number numbers the block as the agent counts it.
func (e *edit) number(b *block, index int) {
	if b == nil || e.hollow {
		return
	}
	if n := e.place(b, e.plan.drop); n != index {
		e.Set("index", strconv.Itoa(n))
	}
}

// stopReason rewrites the reason to stop of a message that has lost its calls.
func (e *edit) stopReason(path string, m *message) {
	if e.plan.note != "" && (m.stop == "tool_use" || m.stop == "pause_turn") {
		e.Set(path, `"end_turn"`)
	}
}

// verdicts takes out what the provider thinks of calls that the agent does not get,
// or not as they were.
func (e *edit) verdicts(path string) {
	for _, b := range e.blocks {
		if _, edited := e.edited(b); b.call == nil || b.call.id == "" || !edited && !e.drops(b) {
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
	if len(e.spent) > 0 {
		e.Set("usage", e.usageSum())
	}
}

func (a *answer) usageSum() string {
	return string(intercept.AddUsage(a.spent, []byte(a.turn.usage)))
}

// overlay is usage that a message reports at its start with what it reports at
// its end, which counts from the start.
func overlay(usage, later string) string {
	p := intercept.Patch{JSON: usage}
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
