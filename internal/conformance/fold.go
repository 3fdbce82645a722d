// Package conformance replays recorded model traffic through the real heldcall
// and judges what the agent and the model each receive. Its test is run by
// make conformance.
package conformance

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// Answer is what a lenient client makes of a Chat Completions answer, streamed
// or whole. Calls are keyed as openai-node keys them, by their index; where
// that is missing or used twice, by their id, as the other SDKs do.
type Answer struct {
	Choices   []*Choice // in order of first appearance
	ChunkIDs  []string  // distinct ids of chunks, in order of appearance
	Usage     Usage     // the last one
	Done      int       // how often the end marker came
	Late      bool      // an event came after the end marker
	Errors    []string  // error objects, each as JSON
	Malformed []string  // data that is neither JSON nor the end marker
}

// Usage is what an answer says it cost.
type Usage struct{ Prompt, Completion, Total int64 }

// Choice is one choice of an answer.
type Choice struct {
	Index     int64
	Text      string
	Reasoning string // reasoning_content or reasoning
	Roles     int    // how often a role was named
	Finishes  []string
	Calls     []*Call
}

// Call is one call of a choice. Legacy is a function_call, which has no id.
type Call struct {
	Index     int64 // as on the wire, or -1
	ID        string
	Name      string
	Arguments string
	Custom    bool
	Legacy    bool
}

// Fold reads an answer as a lenient client does. Anything behind data: counts,
// whatever the framing; a body without events is one whole answer.
func Fold(body []byte) *Answer {
	a := &Answer{}
	if begin := bytes.TrimLeft(body, " \t\r\n"); bytes.HasPrefix(begin, []byte("{")) {
		a.chunk(string(begin))
		return a
	}
	for _, payload := range payloads(body) {
		if payload == "[DONE]" {
			a.Done++
			continue
		}
		if a.Done > 0 {
			a.Late = true
		}
		a.chunk(payload)
	}
	return a
}

// payloads are the data of a stream's events. Where the lines of one event are
// JSON each but not together, each line is taken as an event.
func payloads(body []byte) []string {
	var all, lines []string
	flush := func() {
		joined := strings.Join(lines, "\n")
		switch {
		case len(lines) == 0:
		case joined == "[DONE]" || json.Valid([]byte(joined)):
			all = append(all, joined)
		default:
			all = append(all, lines...)
		}
		lines = nil
	}
	for line := range strings.Lines(string(body)) {
		line = strings.TrimSpace(line)
		if line == "" {
			flush()
		} else if data, found := strings.CutPrefix(line, "data:"); found {
			lines = append(lines, strings.TrimSpace(data))
		}
	}
	flush()
	return all
}

func (a *Answer) chunk(payload string) {
	if !json.Valid([]byte(payload)) {
		a.Malformed = append(a.Malformed, payload)
		return
	}
	chunk := gjson.Parse(payload)
	if id := chunk.Get("id").String(); id != "" && !slices.Contains(a.ChunkIDs, id) {
		a.ChunkIDs = append(a.ChunkIDs, id)
	}
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

func (a *Answer) choice(index int64) *Choice {
	for _, c := range a.Choices {
		if c.Index == index {
			return c
		}
	}
	c := &Choice{Index: index}
	a.Choices = append(a.Choices, c)
	return c
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
	if legacy := part.Get("function_call"); legacy.IsObject() && (legacy.Get("name").String() != "" || len(c.Calls) > 0 && c.Calls[0].Legacy) {
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

// Calls are the calls of all choices.
func (a *Answer) Calls() []*Call {
	var calls []*Call
	for _, c := range a.Choices {
		calls = append(calls, c.Calls...)
	}
	return calls
}

// First is the choice that most agents read: the one with index 0.
func (a *Answer) First() *Choice { return a.choice(0) }
