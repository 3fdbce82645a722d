package intercept

import (
	"bytes"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept/sse"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// Payloads reads the data of a part of a stream. A reader that follows the
// standard joins the data lines; where that makes no JSON but each line does, the
// server has separated its events by single newlines and lenient readers take
// each line. Lines that are not data must not hide an object. Each payload is
// blank, the mark that [IsDone] knows, or JSON that is strict but for halves of
// surrogate pairs in text and in fragments of arguments; the error is an [*Error].
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
			return nil, NotUnderstood("an event holds another in a line of its own")
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

// Payloads is the [Payloads] of a part of the body. Every reader of a stream must
// see the same parts of it: one that some readers skip is not understood beside
// others. Calls reports that the answer has a call; without one a part may have lines
// that are no server-sent events and can hold no call: servers write errors so.
func (b *Body) Payloads(part []byte, calls bool) ([][]byte, error) {
	event := sse.Parse(part)
	list, err := payloads(event, part, calls)
	if err != nil {
		return nil, err
	}
	says := slices.ContainsFunc(list, func(p []byte) bool { return !IsBlank(p) && !IsDone(p) })
	switch style := styleOf(&event, part); {
	case !says && style != styleReturns:
	case says && bytes.HasPrefix(part, byteOrderMark):
		return nil, NotUnderstood("a byte order mark stands within the event stream")
	case b.style == styleNone && style == styleIndented && !slices.ContainsFunc(list, strictjson.MayHoldCall):
		// A blank stands before the body, and maybe before no other line of it.
	case b.style == styleNone:
		b.style = style
	case b.style != style:
		return nil, NotUnderstood("an event is written in a way that only some readers see, and others are not")
	}
	return list, nil
}

// style is how the data of an event are written.
type style int

const (
	styleNone     style = iota // there is none yet
	stylePlain                 // every reader sees them
	styleIndented              // behind blanks: who follows the standard skips them
	styleReturns               // in lines that end in a carriage return alone: who knows line feeds only takes what follows for the same line
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

// EventNames lists the names that readers may give the event in a part of a stream
// with so many payloads. Where servers separate events by single newlines there is
// none for sure.
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

// mixesLineEnds reports whether a part has lines that end in a bare carriage
// return beside others: readers that know only line feeds take them for one.
func mixesLineEnds(part []byte) bool {
	returns, feeds, both := bytes.Count(part, []byte("\r")), bytes.Count(part, []byte("\n")), bytes.Count(part, []byte("\r\n"))
	return returns > both && feeds > 0
}

// isEvent reports whether a reader that takes each line for itself finds an object
// with something in it there.
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

// plainLine reports whether a line that is no server-sent event can hold no call: text
// without an object, or the error that llama.cpp writes in a field of its own.
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

// IsDone reports the payload [DONE], with which OpenAI ends a chat stream and
// some providers every stream.
func IsDone(payload []byte) bool { return bytes.Equal(bytes.TrimSpace(payload), doneMark) }

var doneMark = []byte("[DONE]")

// IsBlank reports a payload with nothing in it.
func IsBlank(payload []byte) bool { return len(bytes.TrimSpace(payload)) == 0 }

// Single returns the payload of a part that is one data line and a blank line,
// and nothing else but an event line with the given name where name is not "".
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

// Unended returns what a part needs so that another event can follow it: "" where
// it ends in a blank line.
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
