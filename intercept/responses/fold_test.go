package responses

import (
	"fmt"
	"strings"

	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// Two clients read what the agent got. The lenient one takes everything for a
// call that any client could; the strict one accumulates as the SDKs do and
// complains of what they complain of.

// leak looks for a call in what the agent got.
func leak(out []byte) string { return intercepttest.Leak(out, isCall) }

// isCall reports whether an object is an item that an agent would run, or an event
// with a part of its input.
func isCall(n intercepttest.Node) bool {
	typ := ""
	for _, v := range n.All("type") {
		typ = strings.ToLower(v.Text)
		if (callForms[typ] != nil || typ == "browser_call") && runnable(n) {
			return true
		}
		if _, ok := inputEvents[typ]; ok {
			return true
		}
	}
	return typ == "" && len(n.All("call_id")) > 0 && len(n.All("arguments", "input", "action", "operation")) > 0
}

// runnable leaves out what the provider runs itself.
func runnable(n intercepttest.Node) bool {
	for _, v := range n.All("execution") {
		if v.Text == "server" {
			return false
		}
	}
	return true
}

// seen is what the strict client made of a stream.
type seen struct {
	id     string
	items  []string // as they were done
	texts  []string // of deltas, by item
	inputs []string // of deltas, by item
	open   map[int]bool
	final  string // the response at the end
	failed bool
	next   int64
}

// fold accumulates a stream by output index. It returns an error where an SDK would: a gap
// in the numbers, an event of an item that did not begin, a response with another id, an
// event after the end, a list at the end that differs from the streamed items.
func fold(out string) (*seen, error) {
	m := &seen{open: make(map[int]bool)}
	out = strings.ReplaceAll(strings.TrimPrefix(out, "\ufeff"), "\r\n", "\n")
	for out != "" {
		event, rest, blank := strings.Cut(out, "\n\n")
		if !blank {
			return nil, fmt.Errorf("an event without its end: %q", event)
		}
		out = rest
		var data []string
		for line := range strings.SplitSeq(event, "\n") {
			if v, ok := strings.CutPrefix(line, "data:"); ok {
				data = append(data, strings.TrimPrefix(v, " "))
			}
		}
		payload := strings.Join(data, "\n")
		if strings.TrimSpace(payload) == "" || payload == "[DONE]" {
			continue
		}
		if err := strictjson.Strict([]byte(payload)); err != nil {
			return nil, err
		}
		if err := m.event(gjson.Parse(payload)); err != nil {
			return nil, fmt.Errorf("%w in %s", err, payload)
		}
	}
	return m, nil
}

func (m *seen) event(v gjson.Result) error {
	if n := v.Get("sequence_number"); n.Exists() {
		if n.Int() != m.next {
			return fmt.Errorf("number %d, want %d", n.Int(), m.next)
		}
		m.next++
	}
	typ := v.Get("type").Str
	if m.final != "" && typ != "keepalive" {
		return fmt.Errorf("an event follows the end")
	}
	if m.id == "" && typ != "response.created" && typ != "error" {
		return fmt.Errorf("it does not begin with response.created")
	}
	if r := v.Get("response"); r.Exists() {
		id := r.Get("id").Str
		if m.id != "" && id != m.id {
			return fmt.Errorf("the id changes from %q", m.id)
		}
		m.id = id
	}
	i := int(v.Get("output_index").Int())
	switch typ {
	case "response.output_item.added":
		if i != len(m.items) {
			return fmt.Errorf("item %d where %d was expected", i, len(m.items))
		}
		m.items = append(m.items, v.Get("item").Raw)
		m.texts, m.inputs = append(m.texts, ""), append(m.inputs, "")
		m.open[i] = true
		return nil
	case "response.output_item.done":
		if !m.open[i] {
			return fmt.Errorf("item %d is not open", i)
		}
		m.open[i], m.items[i] = false, v.Get("item").Raw
		return m.done(i, v.Get("item"))
	case "response.completed", "response.incomplete", "response.failed":
		m.failed = typ == "response.failed"
		m.final = v.Get("response").Raw
		return m.end(v.Get("response.output"))
	}
	if v.Get("output_index").Exists() {
		if i >= len(m.items) || !m.open[i] {
			return fmt.Errorf("missing output at index %d", i)
		}
		delta := v.Get("delta").String()
		if strings.HasSuffix(typ, "_text.delta") {
			m.texts[i] += delta
		} else if strings.HasSuffix(typ, ".delta") {
			m.inputs[i] += delta
		}
	}
	return nil
}

func (m *seen) done(i int, item gjson.Result) error {
	for _, field := range []string{"arguments", "input"} {
		if text := item.Get(field); text.Type == gjson.String && m.inputs[i] != "" && m.inputs[i] != text.Str {
			return fmt.Errorf("fragments %q make up another %s", m.inputs[i], field)
		}
	}
	if text := item.Get("content.0.text"); text.Exists() && m.texts[i] != "" && m.texts[i] != text.Str {
		return fmt.Errorf("fragments %q make up another text", m.texts[i])
	}
	return nil
}

func (m *seen) end(output gjson.Result) error {
	for i, open := range m.open {
		if open && !m.failed {
			return fmt.Errorf("item %d is not done", i)
		}
	}
	list := output.Array()
	if len(list) == 0 || m.failed {
		return nil
	}
	if len(list) != len(m.items) {
		return fmt.Errorf("%d items at the end, %d were streamed", len(list), len(m.items))
	}
	for i, item := range list {
		for _, field := range []string{"type", "id", "call_id", "name", "arguments", "input", "action", "operation", "content.0.text"} {
			if a, b := item.Get(field).Raw, gjson.Get(m.items[i], field).Raw; a != b {
				return fmt.Errorf("%s of item %d is %s at the end, and was %s", field, i, a, b)
			}
		}
	}
	return nil
}
