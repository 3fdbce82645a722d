package chat

import (
	"fmt"
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
	open  bool             // the answer goes on: its end is left out
}

// recast returns a part of the stream changed by the plan and, in a
// continuation, made to belong to the answer that the agent has begun to read.
// It is empty when nothing is left of the part.
func (a *answer) recast(part []byte, refs []ref, p plan) ([]byte, error) {
	payloads, err := payloads(part)
	if err != nil {
		return nil, err
	}
	event := sse.Parse(part)
	var out []byte
	changed := false
	for _, payload := range payloads {
		if isDone(payload) || len(payload) == 0 {
			out = sse.AppendData(out, string(event.Name), payload)
			continue
		}
		c, err := decode(string(payload))
		if err != nil {
			return nil, err
		}
		e := edit{answer: a, plan: p, chunk: c, json: c.raw, refs: refs}
		if err := e.run(); err != nil {
			return nil, fmt.Errorf("rewrite an event: %w", err)
		}
		refs = e.refs
		changed = changed || e.json != c.raw
		if !e.hollow {
			out = sse.AppendData(out, string(event.Name), []byte(e.json))
			a.note([]*chunk{c})
		}
	}
	if !changed && len(out) > 0 || len(payloads) == 0 {
		return part, nil
	}
	return out, nil
}

// edit is the work on one chunk. Failures of sjson stick in err.
type edit struct {
	*answer
	plan   plan
	chunk  *chunk
	json   string
	refs   []ref
	hollow bool // nothing is left that the agent would read
	err    error
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
	return e.err
}

func (e *edit) set(path, raw string) {
	if e.err == nil {
		e.json, e.err = sjson.SetRaw(e.json, path, raw)
	}
}

func (e *edit) delete(path string) {
	if e.err == nil {
		e.json, e.err = sjson.Delete(e.json, path)
	}
}

func (e *edit) choice(position int, d *choiceDelta) {
	path := fmt.Sprintf("choices.%d.", position)
	left := e.calls(path, d) || d.carries
	if e.finishReason(path, d) {
		left = true
	}
	if d.role && e.roleSent && e.continuations > 0 {
		e.delete(path + "delta.role")
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
func (e *edit) calls(path string, d *choiceDelta) bool {
	refs := e.refs[:len(d.calls)]
	e.refs = e.refs[len(d.calls):]
	delta := e.callsOf(path+"delta.", d, inDelta, refs)
	message := e.callsOf(path+"message.", d, inMessage, refs)
	return delta || message
}

func (e *edit) callsOf(path string, d *choiceDelta, at place, refs []ref) bool {
	var entries []string
	touched, legacy := false, false
	for i := range d.calls {
		if f := &d.calls[i]; f.place == at {
			entry := e.entry(f, refs[i])
			touched = touched || entry != f.raw
			legacy = legacy || f.kind == kindLegacy
			if entry != "" {
				entries = append(entries, entry)
			}
		}
	}
	field := "tool_calls"
	if legacy {
		field = "function_call"
	}
	switch {
	case !touched:
	case len(entries) == 0:
		e.delete(path + field)
	case legacy:
		e.set(path+field, entries[0])
	default:
		e.set(path+field, "["+strings.Join(entries, ",")+"]")
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
	if edited, ok := e.plan.edits[c]; ok {
		if !r.opened {
			return ""
		}
		raw = e.replaceArguments(raw, c, edited)
	}
	if number := e.number(c); f.hasIndex && number >= 0 && number != f.index {
		raw = e.setIn(raw, "index", fmt.Sprint(number))
	}
	return raw
}

func (e *edit) setIn(raw, path, value string) string {
	next, err := sjson.SetRaw(raw, path, value)
	if err != nil {
		e.err = err
		return raw
	}
	return next
}

func (e *edit) replaceArguments(raw string, c *call, arguments string) string {
	value := quote(arguments)
	if c.object {
		value = arguments
	}
	path := map[kind]string{kindFunction: "function.arguments", kindCustom: "custom.input", kindLegacy: "arguments"}[c.kind]
	return e.setIn(raw, path, value)
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

// number is the place of a call among those that the agent gets, so that the
// numbers have no gap where one was taken out; -1 leaves upstream's numbers,
// when none was.
func (e *edit) number(c *call) int {
	for _, choice := range e.choices {
		n, dropped, found := 0, false, -1
		for _, other := range choice.calls() {
			switch {
			case e.plan.drop != nil && e.plan.drop(other) && !other.passed:
				dropped = true
			case other == c:
				found = n
				n++
			default:
				n++
			}
		}
		if found >= 0 && dropped {
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
		e.set(path+"finish_reason", "null")
		return false
	}
	_, noted := e.plan.notes[d.index]
	if noted && d.finish != "length" && d.finish != "content_filter" {
		e.set(path+"finish_reason", `"stop"`)
	}
	return true
}

// separate puts an empty line between what the model said before a denial and
// after it.
func (e *edit) separate(path string, d *choiceDelta) {
	for _, t := range d.texts {
		if t.field != "content" || t.value.Type != gjson.String {
			continue
		}
		place := [...]string{"delta.", "message."}[t.place]
		if lead := paragraph(e.text, t.value.Str); lead != t.value.Str && !e.separated {
			e.set(path+place+"content", quote(lead))
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
		e.delete("usage")
		e.hollow = e.hollow || len(e.chunk.choices) == 0
		return
	}
	e.hollow = false
	if len(e.spent) > 0 {
		e.set("usage", string(intercept.AddUsage(e.spent, []byte(e.chunk.usage))))
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
			e.set(f.name, f.first)
		}
	}
}

// finishStream renders what was held of a stream, at its end.
func (s *settling) finishStream() (out []byte, err error) {
	noted := make(map[int]bool)
	for i := range s.list {
		if s.list[i].done {
			out = append(out, s.farewells(noted, nil)...)
			out = append(out, s.at(i)...)
			continue
		}
		part, err := s.recast(s.at(i), s.list[i].refs, s.plan)
		if err != nil {
			return nil, err
		}
		if len(part) > 0 {
			out = append(out, s.farewells(noted, part)...)
		}
		out = append(out, part...)
	}
	return append(out, s.farewells(noted, nil)...), nil
}

// farewells renders the notes of the choices that end in the next part; with
// none, of all that are left, with an end of their own.
func (s *settling) farewells(noted map[int]bool, next []byte) (out []byte) {
	ends := make(map[int]bool)
	if next != nil {
		lines, _ := payloads(next)
		for _, payload := range lines {
			if c, err := decode(string(payload)); err == nil && !isDone(payload) {
				for i := range c.choices {
					ends[c.choices[i].index] = ends[c.choices[i].index] || c.choices[i].finish != ""
				}
			}
		}
	}
	for _, c := range s.choices {
		note, ok := s.plan.notes[c.index]
		if !ok || noted[c.index] || next != nil && !ends[c.index] {
			continue
		}
		noted[c.index] = true
		if s.finishSent && next == nil {
			continue // nothing can stand behind the end
		}
		out = append(out, s.farewellChunk(c, note, next == nil)...)
	}
	return out
}

func (s *settling) farewellChunk(c *choice, note string, end bool) []byte {
	role := ""
	if !s.roleSent {
		role = `"role":"assistant",`
		s.roleSent = true
	}
	text := paragraph(s.text+c.said().text(), note)
	out := sse.AppendData(nil, "", []byte(s.head.chunk(fmt.Sprintf(`[{"index":%d,"delta":{%s"content":%s},"finish_reason":null}]`, c.index, role, quote(text)))))
	if end {
		out = sse.AppendData(out, "", []byte(s.head.chunk(fmt.Sprintf(`[{"index":%d,"delta":{},"finish_reason":"stop"}]`, c.index))))
	}
	return out
}
