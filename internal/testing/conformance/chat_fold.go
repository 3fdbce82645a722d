package conformance

import (
	"slices"

	"github.com/tidwall/gjson"
)

// chat is Chat Completions.
type chat struct{}

// Fold reads an answer of Chat Completions as a lenient client does. Anything after data:
// counts, whatever the framing; a body without events is one whole answer. Calls are keyed as
// openai-node keys them, by their index; if that is missing or used twice, by their id, as
// the other SDKs do.
func Fold(body []byte) *Answer { return Chat.Fold(body) }

func (chat) Fold(body []byte) *Answer {
	a := &Answer{}
	a.read(body, func(_ event, data gjson.Result) { a.chunk(data) })
	return a
}

func (a *Answer) chunk(chunk gjson.Result) {
	a.named(chunk.Get("id").String())
	if e := chunk.Get("error"); e.Exists() && e.Type != gjson.Null {
		a.Errors = append(a.Errors, e.Raw)
	}
	if u := chunk.Get("usage"); u.IsObject() {
		a.Usage = Usage{u.Get("prompt_tokens").Int(), u.Get("completion_tokens").Int(), u.Get("total_tokens").Int()}
	}
	for i, choice := range chunk.Get("choices").Array() {
		index := int64(i)
		if own := choice.Get("index"); own.Type == gjson.Number {
			index = own.Int()
		}
		a.choice(index).add(choice)
	}
}

func (c *Choice) add(choice gjson.Result) {
	// Some providers repeat in message what they send in delta.
	part := choice.Get("delta")
	if !part.Exists() {
		part = choice.Get("message")
	}
	c.Text += text(part.Get("content"))
	c.Reasoning += text(part.Get("reasoning_content"))
	if !part.Get("reasoning_content").Exists() {
		c.Reasoning += text(part.Get("reasoning"))
	}
	if part.Get("role").String() != "" {
		c.Roles++
	}
	if finish := choice.Get("finish_reason").String(); finish != "" {
		c.Finishes = append(c.Finishes, finish)
	}
	for _, entry := range part.Get("tool_calls").Array() {
		c.addCall(entry)
	}
	if legacy := part.Get("function_call"); legacy.IsObject() && (legacy.Get("name").String() != "" || (len(c.Calls) > 0 && c.Calls[0].Legacy)) {
		if len(c.Calls) == 0 {
			c.Calls = append(c.Calls, &Call{Index: -1, Legacy: true})
		}
		c.Calls[0].extend(legacy)
	}
}

func (c *Choice) addCall(entry gjson.Result) {
	call := c.find(entry)
	if call == nil {
		call = &Call{Index: -1}
		if index := entry.Get("index"); index.Type == gjson.Number {
			call.Index = index.Int()
		}
		c.Calls = append(c.Calls, call)
	}
	if id := entry.Get("id").String(); id != "" {
		call.ID = id
	}
	// A custom object beside a function is a placeholder of some providers.
	if custom := entry.Get("custom"); custom.IsObject() && !entry.Get("function").Exists() {
		call.Custom = true
		call.Name += custom.Get("name").String()
		call.Arguments += custom.Get("input").String()
		return
	}
	call.extend(entry.Get("function"))
}

// find is the call that a fragment continues, or nil where it opens one.
func (c *Choice) find(entry gjson.Result) *Call {
	id, index := entry.Get("id").String(), entry.Get("index")
	for _, call := range slices.Backward(c.Calls) {
		sameIndex := index.Type == gjson.Number && call.Index == index.Int()
		if sameIndex && (id == "" || id == call.ID) {
			return call
		}
		if index.Type != gjson.Number && id != "" && id == call.ID {
			return call
		}
	}
	opens := id != "" || entry.Get("function.name").String() != "" || index.Type == gjson.Number
	if opens || len(c.Calls) == 0 {
		return nil
	}
	return c.Calls[len(c.Calls)-1]
}

func (call *Call) extend(function gjson.Result) {
	if name := function.Get("name").String(); name != "" {
		call.Name = name
	}
	call.Arguments += text(function.Get("arguments"))
}
