package conformance

import (
	"encoding/json"

	"github.com/tidwall/gjson"
)

// CheckAnswer judges a stream as Anthropic's clients do, which go by the event
// lines: the message starts first and stops last, blocks follow each other with
// indexes that count up, each is started and stopped, the input of a call is
// JSON, and the reason why the message ends fits its calls.
func (messages) CheckAnswer(body []byte) []Problem {
	var c messagesCheck
	if isWhole(body) {
		c.ends(Messages.Fold(body).First())
		return c.problems
	}
	a := &Answer{}
	a.read(body, c.event)
	if len(a.Malformed) > 0 {
		c.add("not JSON", "%q", a.Malformed)
	}
	if !c.stopped {
		c.add("open", "no message_stop")
	}
	if c.open != nil {
		c.add("block open", "block %d is not stopped", c.open.index)
	}
	c.ends(Messages.Fold(body).First())
	return c.problems
}

type messagesCheck struct {
	problems
	events  int
	blocks  int64
	open    *block
	ended   bool // message_delta with a reason was seen
	stopped bool
}

func (c *messagesCheck) event(e event, data gjson.Result) {
	kind := data.Get("type").String()
	if e.name != kind {
		c.add("event line", "the event line says %q, the data %q", e.name, kind)
	}
	if kind == "ping" {
		return
	}
	if c.stopped {
		c.add("after the end", "%s comes after message_stop", kind)
	}
	if c.events == 0 && kind != "message_start" {
		c.add("first event", "the first event is %s", kind)
	}
	c.events++
	switch kind {
	case "message_start":
		if c.events > 1 {
			c.add("started twice", "event %d is another message_start", c.events)
		}
		c.blocks, c.open = 0, nil
	case "content_block_start", "content_block_delta", "content_block_stop":
		c.block(kind, data)
	case "message_delta":
		if c.open != nil {
			c.add("block open", "message_delta comes before block %d is stopped", c.open.index)
			c.open = nil
		}
		if c.ended {
			c.add("ended twice", "another message_delta")
		}
		c.ended = true
	case "message_stop":
		c.stopped = true
		if !c.ended {
			c.add("no reason", "message_stop comes without message_delta")
		}
	case "error":
		c.stopped, c.open = true, nil
	default:
		c.add("unknown event", "%s", kind)
	}
}

func (c *messagesCheck) block(kind string, data gjson.Result) {
	index := data.Get("index").Int()
	if kind == "content_block_start" {
		if c.open != nil {
			c.add("block open", "block %d starts before block %d is stopped", index, c.open.index)
		}
		if index != c.blocks {
			c.add("block index", "block %d is the one after %d", index, c.blocks)
		}
		c.blocks++
		c.open = &block{index: index, start: data.Get("content_block")}
		return
	}
	if c.open == nil || c.open.index != index {
		c.add("no such block", "%s is of block %d, which is not open", kind, index)
		return
	}
	if kind == "content_block_delta" {
		c.open.add(data.Get("delta"))
		return
	}
	if c.open.input != "" && !json.Valid([]byte(c.open.input)) {
		c.add("input", "that of block %d is %q", index, c.open.input)
	}
	c.open = nil
}

// ends compares the reason why the message ends with its calls.
func (c *messagesCheck) ends(choice *Choice) {
	if len(choice.Finishes) == 0 {
		return
	}
	reason := choice.Finishes[len(choice.Finishes)-1]
	switch {
	case reason == "tool_use" && len(choice.Calls) == 0:
		c.add("stop reason", "tool_use without a call")
	case reason == "end_turn" && len(choice.Calls) > 0:
		c.add("stop reason", "end_turn with calls")
	}
	if n := len(choice.Items); n > 0 {
		if kind := gjson.Get(choice.Items[n-1], "type").String(); kind == "thinking" || kind == "redacted_thinking" {
			c.add("ends in thinking", "the last block is %s: the turn cannot be sent back", kind)
		}
	}
}
