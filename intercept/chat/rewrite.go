package chat

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// recast returns a part of the stream changed by the rulings and, in a
// continuation, made to belong to the answer that the agent has begun to read.
// It is empty when nothing is left of the part.
func (a *answer) recast(part []byte, refs []ref) ([]byte, error) {
	payloads, err := intercept.Payloads(part)
	if err != nil {
		return nil, err
	}
	return intercept.RecastPart(part, payloads, func(_ int, payload []byte) (intercept.Recast, error) {
		if intercept.IsDone(payload) {
			return intercept.Recast{JSON: string(payload), Hollow: a.more, Before: a.farewells()}, nil
		}
		c, err := decode(string(payload))
		if err != nil {
			return intercept.Recast{}, err
		}
		before := a.farewellsBefore(c)
		e := edit{answer: a, Patch: intercept.Patch{JSON: c.raw}, chunk: c, refs: refs}
		if err := e.run(); err != nil {
			return intercept.Recast{}, fmt.Errorf("rewrite an event: %w", err)
		}
		if refs = e.refs; !e.hollow {
			a.note([]*chunk{c})
		}
		return intercept.Recast{JSON: e.JSON, Hollow: e.hollow, Before: before}, nil
	})
}

// edit is the work on one chunk.
type edit struct {
	*answer
	intercept.Patch
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
	if e.going != nil {
		e.rehead()
	}
	return e.Err
}

// choice rewrites what the chunk says of one choice. What does not go out with it
// is taken out of d too.
func (e *edit) choice(position int, d *choiceDelta) {
	l := e.lane(d.index)
	path := fmt.Sprintf("choices.%d.", position)
	if e.going != nil {
		e.audio(path, d, l)
		e.separate(path, d, l)
	}
	left := e.calls(path, d) || d.carries
	left = e.finishReason(path, d, l) || left
	if d.role && l.role && (e.going != nil || l.note != "") {
		e.Delete(path + "delta.role")
		d.role = false
	}
	if l.index != d.index {
		e.Set(path+"index", strconv.Itoa(l.index))
	}
	if left || d.role || len(d.calls) == 0 && !l.waits && e.going == nil {
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
	if !e.reaches(r.call) {
		return ""
	}
	raw := f.raw
	if ruling := e.fates[r.call]; ruling.Fate == intercept.Edit {
		if !r.opened {
			return ""
		}
		raw = e.edited(f, r.call, ruling.Arguments)
	}
	if number, anew := e.numbers[r.call]; anew && f.hasIndex && number != f.index {
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
	for _, field := range c.inner[min(len(f.inner), len(c.inner)):] {
		gjson.Parse("{" + field + "}").ForEach(func(k, v gjson.Result) bool {
			raw = e.setIn(raw, body+gjson.Escape(k.Str), v.Raw)
			return true
		})
	}
	value := intercept.Quote(arguments)
	if c.object && intercept.Strict([]byte(arguments)) == nil {
		value = arguments
	}
	return e.setIn(raw, body+input, value)
}

// finishReason rewrites the finish reason of a choice without calls, and
// reports whether the agent reads one.
func (e *edit) finishReason(path string, d *choiceDelta, l *lane) bool {
	switch {
	case d.finish == "":
		return false
	case l.waits:
		e.Set(path+"finish_reason", "null")
		d.finish = ""
		return false
	case l.note != "" && d.finish != "length" && d.finish != "content_filter":
		e.Set(path+"finish_reason", `"stop"`)
	}
	return true
}

// separate puts an empty line between what the model said before a denial and
// after it.
func (e *edit) separate(path string, d *choiceDelta, l *lane) {
	for _, t := range d.texts {
		if t.field != "content" || l.separated {
			continue
		}
		at := path + [...]string{"delta.", "message."}[t.place] + "content"
		text := t.value
		if text.IsArray() {
			first := firstText(text)
			if first < 0 {
				continue
			}
			text = text.Get(strconv.Itoa(first) + ".text")
			at += "." + strconv.Itoa(first) + ".text"
		}
		if text.Type != gjson.String {
			continue
		}
		if lead := intercept.Paragraph(l.text, text.Str); lead != text.Str {
			e.Set(at, intercept.Quote(lead))
		}
		l.separated = true
	}
}

// usageSum adds what earlier turns of the answer have used.
func (e *edit) usageSum() {
	if e.chunk.usage == "" {
		return
	}
	if e.more {
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
