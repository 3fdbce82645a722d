package intercept

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept/sse"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// Stream is the frame of a stream of server-sent events. The zero value has no limit and is ready
// for use.
type Stream struct {
	split sse.Splitter
	style style // of its events
}

// Write implements [Frame].
func (s *Stream) Write(block []byte) error {
	s.split.Write(block)
	return nil
}

// Next implements [Frame].
func (s *Stream) Next() (part []byte, ok bool, err error) {
	part, ok, err = s.split.Next()
	if errors.Is(err, sse.ErrPartTooLong) {
		err = TooLong()
	}
	return part, ok, err
}

// Rest implements [Frame].
func (s *Stream) Rest() []byte { return s.split.Rest() }

// Parse implements [Frame]. By the standard the data lines are joined. If that is no JSON but each
// line is, the server has separated its events by single newlines, and lenient readers take each
// line. Lines that are not data must not contain an object. In a part of an answer without a call
// they may be no server-sent events and contain no call, as servers write errors.
func (*Stream) Parse(p *Part) error {
	p.lines = sse.Parse(p.Bytes)
	event := &p.lines
	for _, line := range event.Stray {
		if !harmlessLine(line) && (!p.callless || len(event.Data) > 0 || !plainLine(line)) {
			return NotUnderstood("a line of the event stream is neither data nor a comment")
		}
	}
	switch {
	case len(event.Data) == 0:
		return nil
	case event.Indented > 0 && event.Indented < len(event.Data), mixesLineEnds(p.Bytes):
		return NotUnderstood("an event has lines that only some readers see")
	}
	if p.Add(event.Joined()) {
		if len(event.Data) > 1 && slices.ContainsFunc(event.Data, isEvent) {
			return NotUnderstood("an event contains another in a line of its own")
		}
		p.Names = eventNames(event)
		return nil
	}
	if len(event.Data) > maxPayloads {
		return NotUnderstood("more than %d events are separated by single newlines", maxPayloads)
	}
	for _, line := range event.Data {
		if !p.Add(line) {
			return NotUnderstood("the data of an event is not strict JSON (duplicate name, invalid UTF-8 or syntax)")
		}
	}
	return nil
}

// maxPayloads is how many payloads a part has at most. A decoded one needs a hundred times
// the memory of a short line.
const maxPayloads = 1 << 16

// Check implements [Frame]. Every reader of a stream must read the same parts of it: a part that
// some readers skip is an error beside others.
func (s *Stream) Check(p *Part) error {
	filled := slices.ContainsFunc(p.Payloads, func(b []byte) bool { return !IsBlank(b) && !IsDone(b) })
	switch style := styleOf(&p.lines, p.Bytes); {
	case !filled && style != styleReturns:
	case filled && bytes.HasPrefix(p.Bytes, byteOrderMark):
		return NotUnderstood("a byte order mark is within the event stream")
	case s.style == styleNone && style == styleIndented && !slices.ContainsFunc(p.Payloads, strictjson.MayHoldCall):
		// The blank may be before the first line of the body only.
	case s.style == styleNone:
		s.style = style
	case s.style != style:
		return NotUnderstood("an event is written in a way that only some readers see, and others are not")
	}
	return nil
}

// Append implements [Frame].
func (*Stream) Append(dst []byte, e Event) []byte { return sse.AppendData(dst, e.Name, []byte(e.Data)) }

// Idle implements [Frame]: a comment.
func (*Stream) Idle() string { return ": keepalive\n" }

// style is how the data lines of an event are written.
type style int

const (
	styleNone     style = iota // not known yet
	stylePlain                 // every reader reads them
	styleIndented              // after blanks: a reader that follows the standard skips them
	styleReturns               // in lines that end in a carriage return alone: some readers end lines at line feeds only
)

func styleOf(event *sse.Event, part []byte) style {
	switch {
	case event.Indented > 0:
		return styleIndented
	case bytes.HasSuffix(part, []byte("\r")):
		return styleReturns
	}
	return stylePlain
}

// eventNames lists the names of an event, as any reader reads them.
func eventNames(e *sse.Event) (names []string) {
	if e.Name != nil {
		names = append(names, string(e.Name))
	}
	for _, line := range e.Stray {
		if name, ok := strings.CutPrefix(strings.TrimLeft(string(line), " \t"), "event:"); ok {
			names = append(names, strings.TrimPrefix(name, " "))
		}
	}
	return names
}

// mixesLineEnds reports whether a part has lines that end in a bare carriage return beside
// others. Readers that end lines at line feeds only join these.
func mixesLineEnds(part []byte) bool {
	returns := bytes.Count(part, []byte("\r"))
	return returns > 0 && returns > bytes.Count(part, []byte("\r\n")) && bytes.IndexByte(part, '\n') >= 0
}

// isEvent reports whether a line is an object with contents, for readers that take each
// line as an event.
func isEvent(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) > 2 && line[0] == '{' && (strictjson.Strict(line) == nil || strictjson.CutText(line))
}

func harmlessLine(line []byte) bool {
	if bytes.IndexByte(line, '{') >= 0 {
		return false
	}
	for _, field := range []string{":", "id", "retry", "event"} {
		if bytes.HasPrefix(bytes.TrimLeft(line, " \t"), []byte(field)) {
			return true
		}
	}
	return IsBlank(line)
}

// plainLine reports whether a line that is no server-sent event can contain no call: text
// without an object, or the error field of llama.cpp.
func plainLine(line []byte) bool {
	if bytes.IndexByte(line, '{') < 0 {
		return !strictjson.MayHoldCall(line)
	}
	value, isError := bytes.CutPrefix(line, errorField)
	if !isError || strictjson.Strict(value) != nil {
		return false
	}
	object := gjson.ParseBytes(value)
	return object.IsObject() && strictjson.Suspect("", object) == ""
}

var errorField = []byte("error:")

// IsDone reports the payload [DONE], with which OpenAI ends a chat stream and some
// providers every stream.
func IsDone(payload []byte) bool { return bytes.Equal(bytes.TrimSpace(payload), doneMark) }

var doneMark = []byte("[DONE]")

// IsBlank reports an empty or blank payload.
func IsBlank(payload []byte) bool { return len(bytes.TrimSpace(payload)) == 0 }

// Single implements [Frame]: the part is an event line, unless the name is "", one data line and a
// blank line.
func (*Stream) Single(part []byte, name string) (payload []byte, ok bool) {
	if name != "" {
		rest, named := bytes.CutPrefix(part, []byte("event: "))
		if !named || len(rest) < len(name) || string(rest[:len(name)]) != name {
			return nil, false
		}
		if part, named = bytes.CutPrefix(rest[len(name):], []byte("\n")); !named {
			return nil, false
		}
	}
	n := len(part)
	if n < len(dataField)+2 || !bytes.HasPrefix(part, dataField) || part[n-1] != '\n' || part[n-2] != '\n' {
		return nil, false
	}
	payload = part[len(dataField) : n-2]
	return payload, bytes.IndexByte(payload, '\n') < 0
}

var dataField = []byte("data: ")

// Unended implements [Frame]: the line ends that a part needs, "" if it ends in a blank line.
func (*Stream) Unended(part []byte) string {
	line := bytes.TrimSuffix(part, []byte("\n"))
	if len(line) == len(part) || bytes.HasSuffix(line, []byte("\r")) {
		line = bytes.TrimSuffix(line, []byte("\r"))
	}
	switch {
	case len(line) == len(part):
		return "\n\n"
	case bytes.HasSuffix(line, []byte("\n")) || bytes.HasSuffix(line, []byte("\r")):
		return ""
	}
	return "\n"
}
