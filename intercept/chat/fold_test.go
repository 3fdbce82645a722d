package chat

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

// leak looks for a call in what the agent got.
func leak(out []byte) string { return intercepttest.Leak(out, holdsCalls) }

// holdsCalls reports whether an object is what holds calls: a delta or message with
// an entry that has a name or arguments.
func holdsCalls(n intercepttest.Node) bool {
	var entries []intercepttest.Node
	for _, list := range n.All("tool_calls") {
		entries = append(append(entries, list), list.Items...)
		for _, m := range list.Members {
			entries = append(entries, m.Value)
		}
	}
	entries = append(entries, n.All("function_call")...)
	for _, entry := range entries {
		bodies := append(entry.All("function", "custom"), entry)
		for _, body := range bodies {
			for _, v := range body.All("name", "arguments", "input") {
				if v.Filled() {
					return true
				}
			}
		}
	}
	return false
}

// message is what the strict client made of an answer.
type message struct {
	id      string
	choices map[int]*choiceSeen
	usage   json.RawMessage
	failed  bool
}

type choiceSeen struct {
	role, content, finish string
	calls                 []callSeen
}

type callSeen struct{ id, name, args string }

type wireCall struct {
	Index    *int    `json:"index"`
	ID       *string `json:"id"`
	Function *struct{ Name, Arguments *string }
	Custom   *struct{ Name, Input *string }
}

type wireDelta struct {
	Role, Content *string
	Calls         []wireCall                         `json:"tool_calls"`
	Legacy        *struct{ Name, Arguments *string } `json:"function_call"`
}

type wireChunk struct {
	ID      *string
	Error   json.RawMessage
	Usage   json.RawMessage
	Choices []struct {
		Index          int
		Delta, Message *wireDelta
		Finish         *string `json:"finish_reason"`
	}
}

func str(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}

// foldStrict accumulates a stream by choice and tool index. What an SDK would
// throw at is an error: a gap in the numbers, a call that opens without a name,
// an event without its blank line, a chunk with another id, text after the end.
func foldStrict(out string) (*message, error) {
	m := &message{choices: make(map[int]*choiceSeen)}
	out = strings.ReplaceAll(strings.TrimPrefix(out, "\ufeff"), "\r\n", "\n")
	ended := false
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
		switch {
		case len(data) == 0 || strings.TrimSpace(payload) == "":
		case payload == "[DONE]":
			ended = true
		case ended:
			return nil, fmt.Errorf("data after [DONE]: %q", payload)
		default:
			if err := m.chunk(payload); err != nil {
				return nil, fmt.Errorf("%w in %s", err, payload)
			}
		}
	}
	return m, nil
}

func (m *message) chunk(payload string) error {
	if err := strictjson.Strict([]byte(payload)); err != nil {
		return err
	}
	var c wireChunk
	if err := json.Unmarshal([]byte(payload), &c); err != nil {
		return err
	}
	m.failed = m.failed || (len(c.Error) > 0 && string(c.Error) != "null")
	if id := str(c.ID); id != "" && m.id != "" && id != m.id {
		return fmt.Errorf("the id changes from %q to %q", m.id, id)
	} else if id != "" {
		m.id = id
	}
	if len(c.Usage) > 0 && string(c.Usage) != "null" {
		m.usage = c.Usage
	}
	for _, w := range c.Choices {
		seen := m.choices[w.Index]
		if seen == nil {
			seen = &choiceSeen{}
			m.choices[w.Index] = seen
		}
		d := w.Delta
		if d == nil {
			d = w.Message
		}
		if d != nil {
			if seen.finish != "" && (str(d.Content) != "" || len(d.Calls) > 0) {
				return fmt.Errorf("choice %d continues after its end", w.Index)
			}
			if err := seen.delta(d); err != nil {
				return err
			}
		}
		if f := str(w.Finish); f != "" {
			seen.finish = f
		}
	}
	return nil
}

func (s *choiceSeen) delta(d *wireDelta) error {
	s.content += str(d.Content)
	if r := str(d.Role); r != "" {
		s.role = r
	}
	if d.Legacy != nil {
		if len(s.calls) == 0 {
			s.calls = append(s.calls, callSeen{})
		}
		s.calls[0].name += str(d.Legacy.Name)
		s.calls[0].args += str(d.Legacy.Arguments)
	}
	for i := range d.Calls {
		if err := s.call(&d.Calls[i]); err != nil {
			return err
		}
	}
	return nil
}

func (s *choiceSeen) call(w *wireCall) error {
	var c callSeen
	c.id = str(w.ID)
	if w.Function != nil {
		c.name, c.args = str(w.Function.Name), str(w.Function.Arguments)
	}
	if w.Custom != nil {
		c.name, c.args = str(w.Custom.Name), str(w.Custom.Input)
	}
	at := len(s.calls)
	if w.Index != nil {
		at = *w.Index
	}
	switch {
	case at > len(s.calls):
		return fmt.Errorf("call %d where %d were expected", at, len(s.calls))
	case at == len(s.calls) && c.name == "":
		return fmt.Errorf("call %d opens without a name", at)
	case at == len(s.calls):
		s.calls = append(s.calls, c)
	default:
		s.calls[at].args += c.args
	}
	return nil
}
