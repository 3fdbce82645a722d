package intercept

import (
	"bytes"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept/sse"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// Payloads returns the data of a part of a stream. By the standard the data lines are
// joined. If that is no JSON but each line is, the server has separated its events by
// single newlines, and lenient readers take each line. Lines that are not data must not
// contain an object. Each payload is blank, the mark of [IsDone], or JSON that is strict
// except for halves of surrogate pairs in text and in fragments of arguments. The error
// is an [*Error].
func Payloads(part []byte) ([][]byte, error) { return payloads(sse.Parse(part), part, true) }

func payloads(event sse.Event, part []byte, calls bool) ([][]byte, error) {
	for _, line := range event.Stray {
		if !harmlessLine(line) && (calls || len(event.Data) > 0 || !plainLine(line)) {
			return nil, NotUnderstood("a line of the event stream is neither data nor a comment")
		}
	}
	switch {
	case len(event.Data) == 0:
		return nil, nil
	case event.Indented > 0 && event.Indented < len(event.Data), mixesLineEnds(part):
		return nil, NotUnderstood("an event has lines that only some readers see")
	}
	if joined := event.Joined(); readable(joined) {
		if len(event.Data) > 1 && slices.ContainsFunc(event.Data, isEvent) {
			return nil, NotUnderstood("an event contains another in a line of its own")
		}
		return [][]byte{joined}, nil
	}
	for _, line := range event.Data {
		if !readable(line) {
			return nil, NotUnderstood("the data of an event is not strict JSON (duplicate name, invalid UTF-8 or syntax)")
		}
	}
	return event.Data, nil
}

// Payloads is the [Payloads] of a part of the body. Every reader of a stream must read the
// same parts of it: a part that some readers skip is an error beside others. Calls reports
// that the answer has a call. Without one a part may have lines that are no server-sent
// events and can contain no call, as servers write errors.
func (b *Body) Payloads(part []byte, calls bool) ([][]byte, error) {
	event := sse.Parse(part)
	list, err := payloads(event, part, calls)
	if err != nil {
		return nil, err
	}
	filled := slices.ContainsFunc(list, func(p []byte) bool { return !IsBlank(p) && !IsDone(p) })
	switch style := styleOf(&event, part); {
	case !filled && style != styleReturns:
	case filled && bytes.HasPrefix(part, byteOrderMark):
		return nil, NotUnderstood("a byte order mark is within the event stream")
	case b.style == styleNone && style == styleIndented && !slices.ContainsFunc(list, strictjson.MayHoldCall):
		// The blank may be before the first line of the body only.
	case b.style == styleNone:
		b.style = style
	case b.style != style:
		return nil, NotUnderstood("an event is written in a way that only some readers see, and others are not")
	}
	return list, nil
}

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

// EventNames lists the names of the event in a part of a stream with a number of payloads,
// as any reader reads them. If single newlines separate events, none is certain.
func EventNames(part []byte, payloads int) (names []string) {
	if payloads != 1 {
		return nil
	}
	e := sse.Parse(part)
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
	returns, feeds, both := bytes.Count(part, []byte("\r")), bytes.Count(part, []byte("\n")), bytes.Count(part, []byte("\r\n"))
	return returns > both && feeds > 0
}

// isEvent reports whether a line is an object with contents, for readers that take each
// line as an event.
func isEvent(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) > 2 && line[0] == '{' && readable(line)
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

func readable(payload []byte) bool {
	return IsBlank(payload) || IsDone(payload) || strictjson.Strict(payload) == nil || strictjson.CutText(payload)
}

// IsDone reports the payload [DONE], with which OpenAI ends a chat stream and some
// providers every stream.
func IsDone(payload []byte) bool { return bytes.Equal(bytes.TrimSpace(payload), doneMark) }

var doneMark = []byte("[DONE]")

// IsBlank reports an empty or blank payload.
func IsBlank(payload []byte) bool { return len(bytes.TrimSpace(payload)) == 0 }

// Single returns the payload of a part that is an event line with the given name, unless
// that is "", one data line and a blank line, and nothing else.
func Single(part []byte, name string) (payload []byte, ok bool) {
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

// Unended returns the line ends that a part needs before another event, "" if it ends in a
// blank line.
func Unended(part []byte) string {
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
