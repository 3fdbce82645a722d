package chat

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// maxChoices is how many choices an answer has at most.
const maxChoices = 128

// choiceDelta is the part of a chunk about one choice.
type choiceDelta struct {
	raw      string
	index    int
	finish   string
	texts    []deltaText // strings and other values of the message
	role     bool
	audio    string // raw id of a sound
	calls    []fragment
	carries  bool // it has texts
	contents bool // it has text for the user, or sound
	repeated bool // it has a message, in a stream beside the delta
	logprobs gjson.Result
}

// deltaText is one value of a delta that belongs to the assistant's message.
type deltaText struct {
	field string
	value gjson.Result
	place messagePlace
}

// chunk is one decoded payload of a stream, or a decoded whole answer.
type chunk struct {
	raw     string
	head    chunkHead
	choices []choiceDelta
	usage   string // raw, "" when absent or null
	failed  bool   // it reports an error
}

// hasCalls reports whether the chunk has a call or a part of one.
func (c *chunk) hasCalls() bool { return c.fragments() > 0 }

// fragments returns the number of calls and parts of calls in the chunk.
func (c *chunk) fragments() (n int) {
	for i := range c.choices {
		n += len(c.choices[i].calls)
	}
	return n
}

// decodeChunk decodes a payload of a stream, which has to be strict JSON. It refuses payloads
// that could be a call in a form without a known meaning. The error is an
// [*intercept.Error].
func decodeChunk(payload string) (*chunk, error) {
	c, err := readChunk(payload)
	if err == nil && c.repeats() {
		return nil, intercept.NotUnderstood("two choices of an event have the same index")
	}
	return c, err
}

// decodeWhole decodes a whole answer as [decodeChunk] does an event. If choices repeat an index,
// their places count, as in clients.
func decodeWhole(payload string) (*chunk, error) {
	c, err := readChunk(payload)
	if err == nil && c.repeats() {
		for i := range c.choices {
			c.choices[i].index = i
		}
	}
	return c, err
}

// repeats reports whether two choices have the same index.
func (c *chunk) repeats() bool {
	for i := range c.choices {
		same := func(d choiceDelta) bool { return d.index == c.choices[i].index }
		if slices.ContainsFunc(c.choices[:i], same) {
			return true
		}
	}
	return false
}

func readChunk(payload string) (*chunk, error) {
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
		d.Fail("an event looks like a call of another API")
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

// looksLikeACall reports whether a payload without choices may be a call of another API,
// which a client of several APIs may read.
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
		return d.Fail("choices is not an array")
	}
	position := 0
	v.ForEach(func(_, c gjson.Result) bool {
		if position == maxChoices {
			return d.Fail("it has too many choices")
		}
		if !c.IsObject() || strictjson.NamedInput(c) {
			return d.Fail("a choice is not an object, or is a call itself")
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

func (d *decoder) message(c *choiceDelta, at messagePlace, v gjson.Result) bool {
	if v.Type == gjson.Null {
		return true
	}
	if !v.IsObject() || strictjson.NamedInput(v) {
		return d.Fail("a message is not an object, or is a call itself")
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

// text adds a field of a message that is not a call.
func (d *decoder) text(c *choiceDelta, at messagePlace, key string, v gjson.Result) {
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
	c.texts = append(c.texts, deltaText{key, v, at})
}

// markerSize is how many more bytes the tokens of a text may have than the text: some
// servers strip blanks, and mark the beginning of a word.
const markerSize = 8

// unspoken reports whether the log probabilities of an event have more tokens than its
// text.
func (d *choiceDelta) unspoken() bool {
	if !d.logprobs.IsObject() {
		return false
	}
	tokens := 0
	for _, list := range []string{"content", "refusal"} {
		d.logprobs.Get(list).ForEach(func(_, token gjson.Result) bool {
			if bytes := token.Get("bytes"); bytes.IsArray() {
				tokens += int(token.Get("bytes.#").Int())
			} else {
				tokens += len(token.Get("token").String())
			}
			return true
		})
	}
	words := 0
	for _, t := range d.texts {
		if t.value.Type == gjson.String {
			words += len(t.value.Str)
		}
	}
	return tokens > 0 && (words == 0 || tokens > words+markerSize)
}
