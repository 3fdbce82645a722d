package chat

import (
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// choiceDelta is what a chunk says of one choice.
type choiceDelta struct {
	raw      string
	index    int
	finish   string
	texts    []text // strings and other values that pass and belong to the message
	role     bool
	audio    string // raw id of a sound
	calls    []fragment
	carries  bool // it has something besides calls and finish that the agent reads
	contents bool // it has text for the user, or sound
	repeated bool // it has a message, in a stream beside the delta
	logprobs gjson.Result
}

// text is one value of a delta that belongs to the assistant's message.
type text struct {
	field string
	value gjson.Result
	place place
}

// chunk is one payload of a stream, or a whole answer, read.
type chunk struct {
	raw     string
	head    head
	choices []choiceDelta
	usage   string // raw, "" when absent or null
	failed  bool   // it reports an error
}

// head is what all chunks of an answer have in common.
type head struct{ id, object, created, model, fingerprint string } // raw JSON values

// hasCalls reports whether the chunk has anything of a call.
func (c *chunk) hasCalls() bool { return c.fragments() > 0 }

// fragments returns the number of calls and parts of calls in the chunk.
func (c *chunk) fragments() (n int) {
	for i := range c.choices {
		n += len(c.choices[i].calls)
	}
	return n
}

// announces reports whether a finish reason says that there are calls.
func (c *chunk) announces() bool {
	for i := range c.choices {
		if f := c.choices[i].finish; f == "tool_calls" || f == "function_call" {
			return true
		}
	}
	return false
}

// decode reads a payload of a stream that is strict JSON. It refuses what it has
// no meaning for and what could be a call.
func decode(payload string) (*chunk, error) {
	c, err := read(payload)
	if err == nil && c.repeats() {
		return nil, intercept.NotUnderstood("two choices of an event have the same index")
	}
	return c, err
}

// decodeWhole reads a whole answer as [decode] does an event. Where choices
// repeat an index they count by their place, as clients read them.
func decodeWhole(payload string) (*chunk, error) {
	c, err := read(payload)
	if err == nil && c.repeats() {
		for i := range c.choices {
			c.choices[i].index = i
		}
	}
	return c, err
}

func (c *chunk) repeats() bool {
	for i := range c.choices {
		for j := range i {
			if c.choices[i].index == c.choices[j].index {
				return true
			}
		}
	}
	return false
}

func read(payload string) (*chunk, error) {
	c := &chunk{raw: payload}
	root := gjson.Parse(payload)
	if !root.IsObject() {
		if reason := strictjson.Suspect("", root); reason != "" {
			return nil, intercept.NotUnderstood("%s", reason)
		}
		return c, nil
	}
	d := decoder{chunk: c}
	root.ForEach(func(k, v gjson.Result) bool { return d.top(k.Str, v) })
	if strictjson.NamedInput(root) || d.looksLikeACall(root) {
		d.Refuse("an event looks like a call of another API")
	}
	if err := d.Err(); err != nil {
		return nil, err
	}
	return c, nil
}

type decoder struct {
	intercept.Reading
	chunk *chunk
}

func (d *decoder) top(key string, v gjson.Result) bool {
	switch key {
	case "choices":
		return d.choices(v)
	case "id":
		d.chunk.head.id = v.Raw
	case "object":
		d.chunk.head.object = v.Raw
	case "created":
		d.chunk.head.created = v.Raw
	case "model":
		d.chunk.head.model = v.Raw
	case "system_fingerprint":
		d.chunk.head.fingerprint = v.Raw
	case "usage":
		if v.IsObject() {
			d.chunk.usage = v.Raw
		}
	case "error":
		d.chunk.failed = v.Type != gjson.Null
	default:
		return d.Unknown(key, v, "choices", "error")
	}
	return d.Unknown("", v)
}

// looksLikeACall catches payloads without choices that are events of another
// API, which a client that speaks several may read.
func (d *decoder) looksLikeACall(root gjson.Result) bool {
	if len(d.chunk.choices) > 0 || d.chunk.failed {
		return false
	}
	t := strings.ToLower(root.Get("type").String())
	return strings.Contains(t, "call") || strings.Contains(t, "tool")
}

func (d *decoder) choices(v gjson.Result) bool {
	if v.Type == gjson.Null {
		return true
	}
	if !v.IsArray() {
		return d.Refuse("choices is not an array")
	}
	position := 0
	v.ForEach(func(_, c gjson.Result) bool {
		if position == maxChoices {
			return d.Refuse("it has too many choices")
		}
		if !c.IsObject() || strictjson.NamedInput(c) {
			return d.Refuse("a choice is not an object, or is a call itself")
		}
		d.chunk.choices = append(d.chunk.choices, choiceDelta{raw: c.Raw, index: position})
		position++
		return d.choice(&d.chunk.choices[len(d.chunk.choices)-1], c)
	})
	return d.OK()
}

func (d *decoder) choice(c *choiceDelta, v gjson.Result) bool {
	v.ForEach(func(k, v gjson.Result) bool {
		switch key := k.Str; key {
		case "index":
			if v.Type != gjson.Null {
				return d.Number(&c.index, v, "the index of a choice")
			}
		case "finish_reason":
			return d.Text(&c.finish, v, "a finish reason")
		case "delta":
			return d.message(c, inDelta, v)
		case "message":
			c.repeated = v.IsObject()
			return d.message(c, inMessage, v)
		case "logprobs":
			c.logprobs = v
			return d.Unknown(key, v)
		default:
			return d.Unknown(key, v, "index", "finish_reason", "delta", "message")
		}
		return true
	})
	return d.OK()
}

func (d *decoder) message(c *choiceDelta, at place, v gjson.Result) bool {
	if v.Type == gjson.Null {
		return true
	}
	if !v.IsObject() || strictjson.NamedInput(v) {
		return d.Refuse("a message is not an object, or is a call itself")
	}
	v.ForEach(func(k, v gjson.Result) bool {
		switch key := k.Str; key {
		case "role":
			c.role = c.role || v.Type == gjson.String
			return d.Unknown("", v)
		case "tool_calls":
			return d.toolCalls(c, at, v)
		case "function_call":
			return d.functionCall(c, at, v)
		default:
			if !d.Unknown(key, v, "role", "content", "tool_calls", "function_call") {
				return false
			}
			d.text(c, at, key, v)
		}
		return true
	})
	return d.OK()
}

// text takes a field of a message that is no call.
func (d *decoder) text(c *choiceDelta, at place, key string, v gjson.Result) {
	if v.Type == gjson.Null || (v.Type == gjson.String && v.Str == "") {
		return
	}
	c.carries = true
	switch key {
	case "content", "refusal":
		c.contents = true
	case "audio":
		c.contents = true
		if id := v.Get("id"); id.Type == gjson.String && id.Str != "" {
			c.audio = id.Raw
		}
	}
	c.texts = append(c.texts, text{key, v, at})
}
