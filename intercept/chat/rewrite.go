package chat

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/sse"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// plan says how what was kept back goes out.
type plan struct {
	drop  func(*call) bool
	edits map[*call]string // new arguments
	notes map[int]string   // by choice index: what stands in place of its calls
	noted map[int]bool     // which notes have gone out
	open  bool             // the answer goes on: its end is left out
}

// recast returns a part of the stream changed by the plan and, in a
// continuation, made to belong to the answer that the agent has begun to read.
// It is empty when nothing is left of the part.
func (a *answer) recast(part []byte, refs []ref, p plan) ([]byte, error) {
	payloads, err := intercept.Payloads(part)
	if err != nil || len(payloads) == 0 {
		return part, err
	}
	name := string(sse.Parse(part).Name)
	var out []byte
	changed := false
	for _, payload := range payloads {
		if intercept.IsBlank(payload) {
			out = sse.AppendData(out, name, payload)
			continue
		}
		if intercept.IsDone(payload) {
			last := a.farewells(p)
			changed = changed || p.open || len(last) > 0
			if out = append(out, last...); !p.open {
				out = sse.AppendData(out, name, payload)
			}
			continue
		}
		c, err := decode(string(payload))
		if err != nil {
			return nil, err
		}
		before := a.farewellsBefore(p, c)
		e := edit{answer: a, plan: p, Patch: intercept.Patch{JSON: c.raw}, chunk: c, refs: refs}
		if err := e.run(); err != nil {
			return nil, fmt.Errorf("rewrite an event: %w", err)
		}
		refs = e.refs
		changed = changed || e.hollow || len(before) > 0 || e.JSON != c.raw
		if out = append(out, before...); !e.hollow {
			out = sse.AppendData(out, name, []byte(e.JSON))
			a.note([]*chunk{c})
		}
	}
	if !changed {
		return append(part[:len(part):len(part)], intercept.Unended(part)...), nil
	}
	return out, nil
}

// edit is the work on one chunk.
type edit struct {
	*answer
	intercept.Patch
	plan   plan
	chunk  *chunk
	refs   []ref
	hollow bool // nothing is left that the agent would read
}

func (e *edit) run() error {
	if len(e.chunk.choices) > 0 {
		e.hollow = true
	}
	for position := range e.chunk.choices {
		e.choice(position, &e.chunk.choices[position])
	}
	e.usageSum()
	if e.continuations > 0 {
		e.rehead()
	}
	return e.Err
}

func (e *edit) choice(position int, d *choiceDelta) {
	path := fmt.Sprintf("choices.%d.", position)
	left := e.calls(path, d) || d.carries
	if e.finishReason(path, d) {
		left = true
	}
	_, noted := e.plan.notes[d.index]
	if d.role && e.sent[d.index].role && (e.continuations > 0 || noted) {
		e.Delete(path + "delta.role")
	} else if d.role && !e.plan.open && len(d.calls) == 0 {
		left = true
	}
	if e.continuations > 0 {
		e.separate(path, d)
	}
	if left || len(d.calls) == 0 && !e.plan.open && e.continuations == 0 {
		e.hollow = false
	}
}

// calls rewrites the calls of a choice and reports whether one is left.
func (e *edit) calls(path string, d *choiceDelta) (left bool) {
	refs := e.refs[:len(d.calls)]
	e.refs = e.refs[len(d.calls):]
	for _, field := range [...]string{"delta.tool_calls", "delta.function_call", "message.tool_calls", "message.function_call"} {
		left = e.entries(path, field, d, refs) || left
	}
	return left
}

// entries rewrites the calls of one field of a choice.
func (e *edit) entries(path, field string, d *choiceDelta, refs []ref) (left bool) {
	var entries []string
	touched := false
	for i := range d.calls {
		if f := &d.calls[i]; f.field() == field {
			entry := e.entry(f, refs[i])
			touched = touched || entry != f.raw
			if entry != "" {
				entries = append(entries, entry)
			}
		}
	}
	switch {
	case !touched:
	case len(entries) == 0:
		e.Delete(path + field)
	case strings.HasSuffix(field, "function_call"):
		e.Set(path+field, entries[0])
	default:
		e.Set(path+field, "["+strings.Join(entries, ",")+"]")
	}
	return len(entries) > 0
}

// entry returns a fragment as the agent gets it, "" where it gets none.
func (e *edit) entry(f *fragment, r ref) string {
	c := e.owner(r.call)
	if e.plan.drop != nil && e.plan.drop(c) {
		return ""
	}
	raw := f.raw
	if arguments, ok := e.plan.edits[c]; ok {
		if !r.opened {
			return ""
		}
		raw = e.edited(f, c, arguments)
	}
	if number := e.number(c); f.hasIndex && number >= 0 && number != f.index {
		raw = e.setIn(raw, "index", strconv.Itoa(number))
	}
	return raw
}

func (e *edit) setIn(raw, path, value string) string {
	next, err := sjson.SetRaw(raw, path, value)
	if err != nil {
		e.Err = err
		return raw
	}
	return next
}

// edited returns the fragment that opens a call with other arguments, and with
// what later fragments, which go, have added to the call.
func (e *edit) edited(f *fragment, c *call, arguments string) string {
	body, input := "function.", "arguments"
	switch c.kind {
	case kindCustom:
		body, input = "custom.", "input"
	case kindLegacy:
		body = ""
	}
	raw := f.raw
	if f.id == "" && c.id != "" {
		raw = e.setIn(raw, "id", intercept.Quote(c.id))
	}
	if f.name == "" && c.name != "" {
		raw = e.setIn(raw, body+"name", intercept.Quote(c.name))
	}
	for _, field := range c.own[min(len(f.own), len(c.own)):] {
		raw = raw[:strings.LastIndexByte(raw, '}')] + "," + field + "}"
	}
	value := intercept.Quote(arguments)
	if c.object && intercept.Strict([]byte(arguments)) == nil {
		value = arguments
	}
	return e.setIn(raw, body+input, value)
}

// owner maps a call to the one whose ruling counts.
func (e *edit) owner(c *call) *call {
	for _, choice := range e.choices {
		if twin := choice.twin(c); twin != c {
			return twin
		}
	}
	return c
}

// number is the place of a call among those that the agent gets: they are
// numbered anew where one was taken out, so that there is no gap, and where two
// have the same number. -1 leaves upstream's numbers.
func (e *edit) number(c *call) int {
	for _, choice := range e.choices {
		n, found, anew := 0, -1, false
		taken := make(map[int]bool)
		for _, other := range choice.calls() {
			if e.plan.drop != nil && e.plan.drop(other) {
				anew = true
				continue
			}
			if other == c {
				found = n
			}
			anew = anew || taken[other.index]
			taken[other.index] = true
			n++
		}
		if found >= 0 && anew {
			return found
		}
	}
	return -1
}

// finishReason rewrites the finish reason of a choice without calls, and
// reports whether the agent reads one.
func (e *edit) finishReason(path string, d *choiceDelta) bool {
	if d.finish == "" {
		return false
	}
	if e.plan.open {
		e.Set(path+"finish_reason", "null")
		return false
	}
	_, noted := e.plan.notes[d.index]
	if noted && d.finish != "length" && d.finish != "content_filter" {
		e.Set(path+"finish_reason", `"stop"`)
	}
	return true
}

// separate puts an empty line between what the model said before a denial and
// after it.
func (e *edit) separate(path string, d *choiceDelta) {
	if d.index != e.goesOn {
		return
	}
	for _, t := range d.texts {
		if t.field != "content" || t.value.Type != gjson.String {
			continue
		}
		place := [...]string{"delta.", "message."}[t.place]
		if lead := intercept.Paragraph(e.text, t.value.Str); lead != t.value.Str && !e.separated {
			e.Set(path+place+"content", intercept.Quote(lead))
		}
		e.separated = true
	}
}

// usageSum adds what earlier turns of the answer have used.
func (e *edit) usageSum() {
	if e.chunk.usage == "" {
		return
	}
	if e.plan.open {
		e.Delete("usage")
		e.hollow = e.hollow || len(e.chunk.choices) == 0
		return
	}
	e.hollow = false
	if len(e.spent) > 0 {
		e.Set("usage", string(intercept.AddUsage(e.spent, []byte(e.chunk.usage))))
	}
}

// rehead gives the chunk the id of the answer that the agent has begun to read.
func (e *edit) rehead() {
	for _, f := range []struct{ name, first, own string }{
		{"id", e.head.id, e.chunk.head.id},
		{"created", e.head.created, e.chunk.head.created},
		{"model", e.head.model, e.chunk.head.model},
		{"system_fingerprint", e.head.fingerprint, e.chunk.head.fingerprint},
	} {
		if f.first != "" && f.own != "" && f.first != f.own {
			e.Set(f.name, f.first)
		}
	}
}
