package intercept

import (
	"bytes"
	"slices"

	"github.com/heldcall/heldcall/intercept/strictjson"
)

// Event is one event of an answer, without its frame.
type Event struct {
	Name string // "" for none
	Data string // JSON, or a mark such as [DONE]
}

// Frame is how the events of a body travel: as server-sent events, or as one JSON body, which is
// the only event. It splits a body into parts, each with the events that a reader gets together.
// Errors are [*Error].
type Frame interface {
	// Write takes the next block of the body, which must not change before Next has returned false.
	Write(block []byte) error
	// Next returns the next whole part, or false if more bytes are needed. The part aliases the
	// block, or memory that the next Write reuses.
	Next() (part []byte, ok bool, err error)
	// Rest returns the rest at the end of the body: a part that lacks its end, nil for none.
	Rest() []byte
	// Parse finds the events of p.Bytes, and adds them by [Part.Add].
	Parse(p *Part) error
	// Check refuses a parsed part that is written otherwise than those before it, so that only
	// some readers read both.
	Check(p *Part) error
	// Single returns the data of a part that is one event with the given name, or "" for none,
	// and nothing else.
	Single(part []byte, name string) (data []byte, ok bool)
	// Append appends an event to dst.
	Append(dst []byte, e Event) []byte
	// Unended is what a last part lacks before another event.
	Unended(part []byte) string
	// Idle is what keeps a connection alive between two events and is none.
	Idle() string
}

// jsonBody is the frame of a body that is one JSON value.
type jsonBody struct {
	max   int // bytes, 0 for no limit
	bytes []byte
}

// Write implements [Frame].
func (b *jsonBody) Write(block []byte) error {
	if b.bytes = append(b.bytes, block...); b.max > 0 && len(b.bytes) > b.max {
		return TooLong()
	}
	return nil
}

// Next implements [Frame]: the part ends with the body.
func (b *jsonBody) Next() (part []byte, ok bool, err error) { return nil, false, nil }

// Rest implements [Frame].
func (b *jsonBody) Rest() []byte { return b.bytes }

// Parse implements [Frame].
func (b *jsonBody) Parse(p *Part) error {
	value := b.value(p.Bytes)
	if strictjson.Strict(value) != nil {
		return NotUnderstood("its body is not strict JSON (duplicate name, invalid UTF-8 or syntax)")
	}
	p.Payloads = [][]byte{value}
	return nil
}

// value is a body without the blanks and byte order mark before it.
func (*jsonBody) value(body []byte) []byte {
	return bytes.TrimPrefix(bytes.TrimLeft(body, " \t\r\n"), byteOrderMark)
}

// Check implements [Frame].
func (*jsonBody) Check(*Part) error { return nil }

// Single implements [Frame].
func (*jsonBody) Single([]byte, string) (data []byte, ok bool) { return nil, false }

// Append implements [Frame].
func (*jsonBody) Append(dst []byte, e Event) []byte { return append(dst, e.Data...) }

// Unended implements [Frame].
func (*jsonBody) Unended([]byte) string { return "" }

// Idle implements [Frame].
func (*jsonBody) Idle() string { return "\n" }

// rendered returns a part in which other events are in place of its own: whole events, or the same
// part if nothing changes and it is about no call.
func (p *Part) rendered(events []Event) []byte {
	frame := p.answer.body.frame()
	switch {
	case p.has(events) && len(events) == 0:
		return p.Bytes
	case p.has(events):
		return append(p.Bytes[:len(p.Bytes):len(p.Bytes)], frame.Unended(p.Bytes)...)
	}
	return appendEvents(nil, frame, events)
}

// has reports whether the events are those of the part, which is about no call.
func (p *Part) has(events []Event) bool {
	name := p.Name()
	return !slices.ContainsFunc(p.units, (*Unit).isCall) && slices.EqualFunc(events, p.Payloads, func(e Event, data []byte) bool { return e.Name == name && e.Data == string(data) })
}

// appendEvents appends events in a frame to dst.
func appendEvents(dst []byte, frame Frame, events []Event) []byte {
	for _, e := range events {
		dst = frame.Append(dst, e)
	}
	return dst
}
