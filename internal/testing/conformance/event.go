package conformance

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// event is one event of a stream as a lenient client reads it.
type event struct {
	name string // of its event line, "" without one
	data string
}

// events are those of a stream that have data. Where the lines of one event are
// JSON each but not together, each line is taken as an event.
func events(body []byte) []event {
	var all []event
	var lines []string
	name := ""
	flush := func() {
		joined := strings.Join(lines, "\n")
		if len(lines) > 0 && (joined == "[DONE]" || json.Valid([]byte(joined))) {
			lines = []string{joined}
		}
		for _, line := range lines {
			all = append(all, event{name, line})
		}
		lines, name = nil, ""
	}
	for line := range strings.Lines(string(body)) {
		line = strings.TrimSpace(line)
		if line == "" {
			flush()
		} else if data, found := strings.CutPrefix(line, "data:"); found {
			lines = append(lines, strings.TrimSpace(data))
		} else if value, found := strings.CutPrefix(line, "event:"); found {
			name = strings.TrimSpace(value)
		}
	}
	flush()
	return all
}

// isWhole reports whether a body is one JSON value, blank lines before it aside.
func isWhole(body []byte) bool {
	begin := bytes.TrimLeft(body, " \t\r\n")
	return len(begin) > 0 && (begin[0] == '{' || begin[0] == '[')
}

// read calls visit with each event of an answer, a whole answer as one event. It skips events
// that are no JSON, and the end marker.
func (a *Answer) read(body []byte, visit func(e event, data gjson.Result)) {
	all := []event{{data: string(bytes.TrimSpace(body))}}
	if !isWhole(body) {
		all = events(body)
	}
	for _, e := range all {
		if e.data == "[DONE]" {
			a.Done++
			continue
		}
		if a.Done > 0 {
			a.Late = true
		}
		if !json.Valid([]byte(e.data)) {
			a.Malformed = append(a.Malformed, e.data)
			continue
		}
		visit(e, gjson.Parse(e.data))
	}
}

// each gives the JSON of each event of an answer to visit.
func each(body []byte, visit func(data gjson.Result)) {
	(&Answer{}).read(body, func(_ event, data gjson.Result) { visit(data) })
}

// named keeps an id of an answer.
func (a *Answer) named(id string) {
	if id != "" && !slices.Contains(a.IDs, id) {
		a.IDs = append(a.IDs, id)
	}
}

// text is a string's value, an object's JSON, and nothing for null.
func text(value gjson.Result) string {
	switch value.Type {
	case gjson.String:
		return value.Str
	case gjson.JSON:
		return value.Raw
	}
	return ""
}

// joined is the text of a value that is a string, or parts of which some have a
// text.
func joined(value gjson.Result) string {
	if !value.IsArray() {
		return value.String()
	}
	var b strings.Builder
	for _, part := range value.Array() {
		b.WriteString(part.Get("text").String())
	}
	return b.String()
}
