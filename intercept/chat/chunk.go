package chat

import (
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/tidwall/gjson"
)

// place is where in a choice a call stands.
type place int

const (
	inDelta   place = iota // choices[].delta
	inMessage              // choices[].message: whole answers, and beside delta at some providers
)

// kind is the form of a call.
type kind int

const (
	kindFunction kind = iota
	kindCustom        // type "custom": free text input
	kindLegacy        // function_call: no id, one a choice
)

// fragment is one entry of tool_calls, or one function_call: a whole call or a
// part of one.
type fragment struct {
	place    place
	kind     kind
	raw      string
	index    int
	hasIndex bool
	id, name string
	args     string   // text to append to the arguments
	object   bool     // args is a JSON object that stood there instead of a string
	own      []string // other fields, as raw name and value
}

// choiceDelta is what a chunk says of one choice.
type choiceDelta struct {
	index    int
	finish   string
	texts    []text // strings and other values that pass and belong to the message
	role     bool
	calls    []fragment
	carries  bool // it has something besides calls and finish that the agent reads
	contents bool // it has text for the user
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
type head struct{ id, created, model, fingerprint string } // raw JSON values

// calls reports whether the chunk has anything of a call.
func (c *chunk) hasCalls() bool {
	for i := range c.choices {
		if len(c.choices[i].calls) > 0 {
			return true
		}
	}
	return false
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

// decode reads a payload that is strict JSON. It refuses what it has no meaning
// for and what could be a call.
func decode(payload string) (*chunk, error) {
	c := &chunk{raw: payload}
	root := gjson.Parse(payload)
	if !root.IsObject() {
		if reason := intercept.Suspect("", root); reason != "" {
			return nil, intercept.NotUnderstood("%s", reason)
		}
		return c, nil
	}
	d := decoder{chunk: c}
	root.ForEach(func(k, v gjson.Result) bool { return d.top(k.Str, v) })
	if d.reason == "" && (intercept.NamedInput(root) || d.looksLikeACall(root)) {
		d.reason = "an event looks like a call of another API"
	}
	if d.reason != "" {
		return nil, intercept.NotUnderstood("%s", d.reason)
	}
	return c, nil
}

type decoder struct {
	chunk  *chunk
	reason string // why the payload is refused, "" while it is not
}

func (d *decoder) refuse(reason string) bool {
	d.reason = reason
	return false
}

// unknown takes a field that the dialect has no meaning for.
func (d *decoder) unknown(key string, v gjson.Result, known ...string) bool {
	if intercept.Misspelt(key, known...) {
		return d.refuse("a known field is spelt in another letter case")
	}
	if reason := intercept.Suspect(key, v); reason != "" {
		return d.refuse(reason)
	}
	return true
}

func (d *decoder) top(key string, v gjson.Result) bool {
	switch key {
	case "choices":
		return d.choices(v)
	case "id":
		d.chunk.head.id = v.Raw
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
		return d.unknown("", v)
	default:
		return d.unknown(key, v, "choices", "error")
	}
	return true
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
		return d.refuse("choices is not an array")
	}
	position := 0
	v.ForEach(func(_, c gjson.Result) bool {
		if !c.IsObject() || intercept.NamedInput(c) {
			return d.refuse("a choice is not an object, or is a call itself")
		}
		d.chunk.choices = append(d.chunk.choices, choiceDelta{index: position})
		position++
		return d.choice(&d.chunk.choices[len(d.chunk.choices)-1], c)
	})
	return d.reason == ""
}

func (d *decoder) choice(c *choiceDelta, v gjson.Result) bool {
	v.ForEach(func(k, v gjson.Result) bool {
		switch key := k.Str; key {
		case "index":
			if v.Type == gjson.Number {
				c.index = int(v.Int())
			}
		case "finish_reason":
			c.finish = v.String()
		case "delta":
			return d.message(c, inDelta, v)
		case "message":
			return d.message(c, inMessage, v)
		case "logprobs":
		default:
			return d.unknown(key, v, "index", "finish_reason", "delta", "message")
		}
		return true
	})
	return d.reason == ""
}

func (d *decoder) message(c *choiceDelta, at place, v gjson.Result) bool {
	if v.Type == gjson.Null {
		return true
	}
	if !v.IsObject() || intercept.NamedInput(v) {
		return d.refuse("a message is not an object, or is a call itself")
	}
	v.ForEach(func(k, v gjson.Result) bool {
		switch key := k.Str; key {
		case "role":
			c.role = c.role || v.Type == gjson.String
		case "tool_calls":
			return d.toolCalls(c, at, v)
		case "function_call":
			return d.functionCall(c, at, v)
		default:
			if !d.unknown(key, v, "role", "content", "tool_calls", "function_call") {
				return false
			}
			d.text(c, at, key, v)
		}
		return true
	})
	return d.reason == ""
}

// text takes a field of a message that is no call.
func (d *decoder) text(c *choiceDelta, at place, key string, v gjson.Result) {
	if v.Type == gjson.Null || (v.Type == gjson.String && v.Str == "") {
		return
	}
	c.carries = true
	if key == "content" || key == "refusal" {
		c.contents = true
	}
	c.texts = append(c.texts, text{key, v, at})
}

func (d *decoder) toolCalls(c *choiceDelta, at place, v gjson.Result) bool {
	if v.Type == gjson.Null {
		return true
	}
	if !v.IsArray() {
		return d.refuse("tool_calls is not an array")
	}
	v.ForEach(func(_, v gjson.Result) bool {
		f := fragment{place: at, raw: v.Raw}
		if !v.IsObject() {
			return d.refuse("a tool call is not an object")
		}
		if !d.toolCall(&f, v) {
			return false
		}
		c.calls = append(c.calls, f)
		return true
	})
	return d.reason == ""
}

func (d *decoder) toolCall(f *fragment, v gjson.Result) bool {
	var function, custom fragment
	v.ForEach(func(k, v gjson.Result) bool {
		switch key := k.Str; key {
		case "index":
			if v.Type == gjson.Number && v.Num == float64(int(v.Num)) {
				f.index, f.hasIndex = int(v.Num), true
			} else if v.Type != gjson.Null {
				return d.refuse("the index of a tool call is not a whole number")
			}
		case "id":
			return d.str(&f.id, v, "the id of a tool call")
		case "type":
			return d.callType(v)
		case "function":
			return d.body(&function, v, "arguments")
		case "custom":
			return d.body(&custom, v, "input")
		default:
			if v.Type != gjson.Null {
				f.own = append(f.own, quote(key)+":"+v.Raw)
			}
			return d.unknown(key, v, "index", "id", "type", "function", "custom")
		}
		return true
	})
	if d.reason != "" {
		return false
	}
	body := function
	if custom.name != "" || custom.args != "" {
		if function.name != "" || function.args != "" {
			return d.refuse("a tool call has both a function and a custom part")
		}
		body, f.kind = custom, kindCustom
	}
	f.name, f.args, f.object = body.name, body.args, body.object
	return true
}

func (d *decoder) callType(v gjson.Result) bool {
	if v.Type == gjson.Null || v.Str == "" || v.Str == "function" || v.Str == "custom" {
		return true
	}
	return d.refuse("a tool call has an unknown type")
}

// body reads a function or custom object.
func (d *decoder) body(f *fragment, v gjson.Result, input string) bool {
	if v.Type == gjson.Null {
		return true
	}
	if !v.IsObject() {
		return d.refuse("the body of a tool call is not an object")
	}
	v.ForEach(func(k, v gjson.Result) bool {
		switch key := k.Str; {
		case key == "name":
			return d.str(&f.name, v, "the name of a tool call")
		case key == input && v.IsObject():
			f.args, f.object = v.Raw, true
		case key == input:
			return d.str(&f.args, v, "the arguments of a tool call")
		default:
			return d.unknown(key, v, "name", input)
		}
		return true
	})
	return d.reason == ""
}

// functionCall reads the legacy form. Some providers send an empty one beside
// tool_calls, which is no call.
func (d *decoder) functionCall(c *choiceDelta, at place, v gjson.Result) bool {
	f := fragment{place: at, kind: kindLegacy, raw: v.Raw}
	if !d.body(&f, v, "arguments") {
		return false
	}
	if f.name != "" || f.args != "" {
		c.calls = append(c.calls, f)
	}
	return true
}

func (d *decoder) str(into *string, v gjson.Result, what string) bool {
	if v.Type != gjson.String && v.Type != gjson.Null {
		return d.refuse(what + " is not a string")
	}
	*into = v.Str
	return true
}
