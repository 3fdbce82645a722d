// Package wire decodes the payloads of the Chat Completions API strictly. It refuses fields
// of no known meaning that could be a call.
//
// Read chunk.go (one chunk, or a whole answer), fragment.go (a call, or a part of one),
// head.go (the fields that all chunks share) and schema.go (the forms that all clients read
// alike).
package wire

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// MaxChoices is how many choices an answer has at most.
const MaxChoices = 128

// ChoiceDelta is the part of a chunk about one choice.
type ChoiceDelta struct {
	Raw      string
	Index    int
	Finish   string
	Texts    []Text // strings and other values of the message
	Role     bool
	Foreign  bool   // its role is not assistant
	Audio    string // raw id of a sound
	Calls    []Fragment
	Carries  bool // it has Texts
	Contents bool // it has text for the user, or sound
	Repeated bool // it has a message, in a stream beside the delta
	Logprobs gjson.Result
}

// Text is one value of a delta that belongs to the assistant's message.
type Text struct {
	Field string
	Value gjson.Result
	Place Place
}

// Chunk is one decoded payload of a stream, or a decoded whole answer.
type Chunk struct {
	Raw     string
	Head    Head
	Choices []ChoiceDelta
	Usage   string // raw, "" when absent or null
	Failed  bool   // it reports an error
}

// HasCalls reports whether the chunk has a call or a part of one.
func (c *Chunk) HasCalls() bool { return c.Fragments() > 0 }

// Fragments returns the number of calls and parts of calls in the chunk.
func (c *Chunk) Fragments() (n int) {
	for i := range c.Choices {
		n += len(c.Choices[i].Calls)
	}
	return n
}

// Foreign reports whether the chunk has a role other than assistant.
func (c *Chunk) Foreign() bool {
	return slices.ContainsFunc(c.Choices, func(d ChoiceDelta) bool { return d.Foreign })
}

// Announces reports whether a finish reason announces calls.
func (c *Chunk) Announces() bool {
	return slices.ContainsFunc(c.Choices, func(d ChoiceDelta) bool { return d.Finish == "tool_calls" || d.Finish == "function_call" })
}

// Decode decodes a payload of a stream, which has to be strict JSON. It refuses payloads
// that could be a call in a form without a known meaning. The error is an
// [*intercept.Error].
func Decode(payload string) (*Chunk, error) {
	c, err := read(payload)
	if err == nil && c.repeats() {
		return nil, intercept.NotUnderstood("two choices of an event have the same index")
	}
	return c, err
}

// DecodeWhole decodes a whole answer as [Decode] does an event. If choices repeat an index,
// their places count, as in clients.
func DecodeWhole(payload string) (*Chunk, error) {
	c, err := read(payload)
	if err == nil && c.repeats() {
		for i := range c.Choices {
			c.Choices[i].Index = i
		}
	}
	return c, err
}

// repeats reports whether two choices have the same index.
func (c *Chunk) repeats() bool {
	for i := range c.Choices {
		same := func(d ChoiceDelta) bool { return d.Index == c.Choices[i].Index }
		if slices.ContainsFunc(c.Choices[:i], same) {
			return true
		}
	}
	return false
}

func read(payload string) (*Chunk, error) {
	c := &Chunk{Raw: payload}
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
		d.Fail("an event looks like a call of another API")
	}
	if err := d.Err(); err != nil {
		return nil, err
	}
	return c, nil
}

type decoder struct {
	intercept.Reading
	chunk *Chunk
}

func (d *decoder) top(key string, v gjson.Result) bool {
	switch key {
	case "choices":
		return d.choices(v)
	case "id":
		d.chunk.Head.ID = v.Raw
	case "object":
		d.chunk.Head.object = v.Raw
	case "created":
		d.chunk.Head.Created = v.Raw
	case "model":
		d.chunk.Head.Model = v.Raw
	case "system_fingerprint":
		d.chunk.Head.Fingerprint = v.Raw
	case "usage":
		if v.IsObject() {
			d.chunk.Usage = v.Raw
		}
	case "error":
		d.chunk.Failed = v.Type != gjson.Null
	default:
		return d.Unknown(key, v, "choices", "error")
	}
	return d.Unknown("", v)
}

// looksLikeACall reports whether a payload without choices may be a call of another API,
// which a client of several APIs may read.
func (d *decoder) looksLikeACall(root gjson.Result) bool {
	if len(d.chunk.Choices) > 0 || d.chunk.Failed {
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
		return d.Fail("choices is not an array")
	}
	position := 0
	v.ForEach(func(_, c gjson.Result) bool {
		if position == MaxChoices {
			return d.Fail("it has too many choices")
		}
		if !c.IsObject() || strictjson.NamedInput(c) {
			return d.Fail("a choice is not an object, or is a call itself")
		}
		d.chunk.Choices = append(d.chunk.Choices, ChoiceDelta{Raw: c.Raw, Index: position})
		position++
		return d.choice(&d.chunk.Choices[len(d.chunk.Choices)-1], c)
	})
	return d.OK()
}

func (d *decoder) choice(c *ChoiceDelta, v gjson.Result) bool {
	v.ForEach(func(k, v gjson.Result) bool {
		switch key := k.Str; key {
		case "index":
			if v.Type != gjson.Null {
				return d.Number(&c.Index, v, "the index of a choice")
			}
		case "finish_reason":
			return d.Text(&c.Finish, v, "a finish reason")
		case "delta":
			return d.message(c, InDelta, v)
		case "message":
			c.Repeated = v.IsObject()
			return d.message(c, InMessage, v)
		case "logprobs":
			c.Logprobs = v
			return d.Unknown(key, v)
		default:
			return d.Unknown(key, v, "index", "finish_reason", "delta", "message")
		}
		return true
	})
	return d.OK()
}

func (d *decoder) message(c *ChoiceDelta, at Place, v gjson.Result) bool {
	if v.Type == gjson.Null {
		return true
	}
	if !v.IsObject() || strictjson.NamedInput(v) {
		return d.Fail("a message is not an object, or is a call itself")
	}
	v.ForEach(func(k, v gjson.Result) bool {
		switch key := k.Str; key {
		case "role":
			c.Role = c.Role || v.Type == gjson.String
			c.Foreign = c.Foreign || (at == InDelta && v.Type != gjson.Null && v.Str != "assistant")
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

// text adds a field of a message that is not a call.
func (d *decoder) text(c *ChoiceDelta, at Place, key string, v gjson.Result) {
	if v.Type == gjson.Null || (v.Type == gjson.String && v.Str == "") {
		return
	}
	c.Carries = true
	switch key {
	case "content", "refusal":
		c.Contents = true
	case "audio":
		c.Contents = true
		if id := v.Get("id"); id.Type == gjson.String && id.Str != "" {
			c.Audio = id.Raw
		}
	}
	c.Texts = append(c.Texts, Text{key, v, at})
}

// markerSize is how many more bytes the tokens of a text may have than the text: some
// servers strip blanks, and mark the beginning of a word.
const markerSize = 8

// Unspoken reports whether the log probabilities of an event have more tokens than its
// text.
func (d *ChoiceDelta) Unspoken() bool {
	if !d.Logprobs.IsObject() {
		return false
	}
	tokens := 0
	for _, list := range []string{"content", "refusal"} {
		d.Logprobs.Get(list).ForEach(func(_, token gjson.Result) bool {
			if bytes := token.Get("bytes"); bytes.IsArray() {
				tokens += int(token.Get("bytes.#").Int())
			} else {
				tokens += len(token.Get("token").String())
			}
			return true
		})
	}
	words := 0
	for _, t := range d.Texts {
		if t.Value.Type == gjson.String {
			words += len(t.Value.Str)
		}
	}
	return tokens > 0 && (words == 0 || tokens > words+markerSize)
}
