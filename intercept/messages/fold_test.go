package messages

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/heldcall/heldcall/intercept/strictjson"
)

// Two clients read what the agent got. The lenient one takes everything for a
// call that any client could; the strict one accumulates as the SDKs do and
// complains of what they complain of.

// isCall reports whether an object is a call: of a type that ends in tool_use and
// is none of the provider's own, with a name, an input or an id; or a piece of an
// input alone.
func isCall(n intercepttest.Node) bool {
	for _, t := range n.All("type") {
		kind := strings.ToLower(t.Text)
		if kind == "server_tool_use" || kind == "mcp_tool_use" || !strings.HasSuffix(kind, "tool_use") {
			continue
		}
		for _, v := range n.All("id", "name", "input") {
			if v.Filled() {
				return true
			}
		}
	}
	return false
}

// leak looks for a call in what the agent got.
func leak(out []byte) string { return intercepttest.Leak(out, isCall) }

// folded is what the strict client made of an answer.
type folded struct {
	id, stop string
	usage    json.RawMessage
	blocks   []foldedBlock
	over     bool
	failed   bool
}

type foldedBlock struct {
	kind, text, thinking, signature string
	id, name, input                 string
	closed                          bool
}

// calls lists the calls as name(input).
func (m *folded) calls() (list []string) {
	for _, b := range m.blocks {
		if b.kind == "tool_use" {
			list = append(list, b.name+"("+b.input+")")
		}
	}
	return list
}

func (m *folded) text() (said string) {
	for _, b := range m.blocks {
		said += b.text
	}
	return said
}

type wireBlock struct {
	Type, Text, Thinking, Signature, ID, Name string
	Input                                     json.RawMessage
}

type wireEvent struct {
	Type    string
	Index   *int
	Message *struct {
		ID      string
		Content []wireBlock
		Stop    string `json:"stop_reason"`
		Usage   json.RawMessage
	}
	Block *wireBlock `json:"content_block"`
	Delta *struct {
		Type, Text, Thinking, Signature string
		Partial                         string `json:"partial_json"`
		Stop                            string `json:"stop_reason"`
	}
	Usage json.RawMessage
}

// foldStrict accumulates a stream as all SDKs do where they agree. What one of
// them would throw at or read otherwise is an error: an event without its name or
// its blank line, a second start, a block that is not the next, a piece of
// another block than the last, text after the end.
func foldStrict(out string) (*folded, error) {
	m := &folded{}
	out = strings.ReplaceAll(strings.TrimPrefix(out, "\ufeff"), "\r\n", "\n")
	for out != "" {
		part, rest, blank := strings.Cut(out, "\n\n")
		if !blank {
			return nil, fmt.Errorf("an event without its end: %q", part)
		}
		out = rest
		name, data := "", []string(nil)
		for line := range strings.SplitSeq(part, "\n") {
			if v, ok := strings.CutPrefix(line, "data:"); ok {
				data = append(data, strings.TrimPrefix(v, " "))
			}
			if v, ok := strings.CutPrefix(line, "event: "); ok {
				name = v
			}
		}
		payload := strings.Join(data, "\n")
		if strings.TrimSpace(payload) == "" || payload == "[DONE]" {
			continue
		}
		if err := m.event(name, payload); err != nil {
			return nil, fmt.Errorf("%w in %s", err, payload)
		}
	}
	return m, nil
}

func (m *folded) event(name, payload string) error {
	if err := strictjson.Strict([]byte(payload)); err != nil {
		return err
	}
	var e wireEvent
	if err := json.Unmarshal([]byte(payload), &e); err != nil {
		return err
	}
	switch {
	case e.Type == "error":
		m.failed = true
		return nil
	case name != e.Type:
		return fmt.Errorf("the event is named %q", name)
	case e.Type == "ping":
		return nil
	case m.over:
		return fmt.Errorf("something follows the end")
	case (e.Type == "message_start") != (m.id == ""):
		return fmt.Errorf("the message starts twice, or not at all")
	}
	switch e.Type {
	case "message_start":
		m.id, m.usage = e.Message.ID, e.Message.Usage
		for _, w := range e.Message.Content {
			m.open(&w)
			m.blocks[len(m.blocks)-1].closed = true
		}
	case "content_block_start":
		if *e.Index != len(m.blocks) {
			return fmt.Errorf("block %d where %d was expected", *e.Index, len(m.blocks))
		}
		m.open(e.Block)
	case "content_block_delta", "content_block_stop":
		if *e.Index != len(m.blocks)-1 || m.blocks[*e.Index].closed {
			return fmt.Errorf("block %d is not open", *e.Index)
		}
		b := &m.blocks[*e.Index]
		if e.Type == "content_block_stop" {
			b.closed = true
			return nil
		}
		b.text += e.Delta.Text
		b.thinking += e.Delta.Thinking
		b.signature += e.Delta.Signature
		if e.Delta.Partial != "" {
			b.input = strings.TrimPrefix(b.input, "{}") + e.Delta.Partial
		}
	case "message_delta":
		m.stop, m.usage = e.Delta.Stop, e.Usage
	case "message_stop":
		m.over = true
	}
	return nil
}

func (m *folded) open(w *wireBlock) {
	m.blocks = append(m.blocks, foldedBlock{kind: w.Type, text: w.Text, thinking: w.Thinking, signature: w.Signature, id: w.ID, name: w.Name, input: string(w.Input)})
}

// foldWhole reads a whole answer.
func foldWhole(out string) (*folded, error) {
	m := &folded{}
	if err := strictjson.Strict([]byte(out)); err != nil {
		return nil, err
	}
	var w struct {
		Type, ID string
		Content  []wireBlock
		Stop     string `json:"stop_reason"`
		Usage    json.RawMessage
	}
	if err := json.Unmarshal([]byte(out), &w); err != nil {
		return nil, err
	}
	m.id, m.stop, m.usage, m.failed = w.ID, w.Stop, w.Usage, w.Type == "error"
	for i := range w.Content {
		m.open(&w.Content[i])
	}
	return m, nil
}
