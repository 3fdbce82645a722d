// Package toolresult is the contents of the results of tool calls in an agent's request: where
// they are, their texts, and the request with other contents in place of some.
package toolresult

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// Content is the content of the result of a call in a request, as raw JSON of the body.
type Content struct {
	CallID string
	Call   string // the call that had it; "" if the request does not contain it, or two calls could be meant
	Raw    string
	At     strictjson.Span // of Raw in the body
	New    bool            // the model has not answered it yet
	// Definitions reports that Raw is a list of the definitions of tools, which the model may call from then on.
	Definitions bool
	// Message reports that Raw is no result of a call: it is the text of a message in a request that only counts
	// tokens. Agents count results so before they send them.
	Message bool
}

// Collector collects the results of a history whose values are visited in order.
type Collector struct {
	Offset   int // of the values' document in the body
	list     []Content
	calls    map[string]calledOnce
	answered int // so many of the list
}

// List returns the results, as they are in the body.
func (c *Collector) List() []Content {
	for i := c.answered; i < len(c.list); i++ {
		c.list[i].New = true
	}
	slices.SortStableFunc(c.list, func(a, b Content) int { return cmp.Compare(a.At.Start, b.At.Start) })
	return c.list
}

// Answered notes that the model has answered the results so far.
func (c *Collector) Answered() { c.answered = len(c.list) }

// calledOnce is the latest call with an id.
type calledOnce struct {
	raw  string
	open bool // it has no result yet
}

// AddCall notes a call. If an earlier one with the same id has no result yet, none of the two
// is known as the cause of a result.
func (c *Collector) AddCall(id string, call gjson.Result) {
	if c.calls == nil {
		c.calls = make(map[string]calledOnce, 64)
	}
	raw := call.Raw
	if c.calls[id].open {
		raw = ""
	}
	c.calls[id] = calledOnce{raw, true}
}

// AddDefinitions adds a result that is a list of the definitions of tools.
func (c *Collector) AddDefinitions(id string, content gjson.Result) {
	before := len(c.list)
	if c.Add(id, content); len(c.list) > before {
		c.list[before].Definitions = content.IsArray()
	}
}

// AddMessage adds the content of a message, or of another text of the body with this offset, in a request that only
// counts tokens.
func (c *Collector) AddMessage(offset int, content gjson.Result) {
	before, history := len(c.list), c.Offset
	c.Offset = offset
	c.Add("", content)
	c.Offset = history
	if len(c.list) > before {
		c.list[before].Message = true
	}
}

// Add adds a result. One without content has nothing to judge.
func (c *Collector) Add(id string, content gjson.Result) {
	called := c.calls[id]
	if called.open {
		c.calls[id] = calledOnce{raw: called.raw}
	}
	if content.Exists() && content.Type != gjson.Null {
		start := c.Offset + content.Index
		c.list = append(c.list, Content{CallID: id, Call: called.raw, Raw: content.Raw, At: strictjson.Span{Start: start, End: start + len(content.Raw)}})
	}
}

// Texts returns the texts in the content of a result, in their order. Images and other binary
// parts have none. ok is false for a content that is nested deeper than any API has it.
func (r *Content) Texts() (texts []string, ok bool) {
	ok = eachText(gjson.Parse(r.Raw), 0, func(text gjson.Result) { texts = append(texts, text.Str) })
	return texts, ok
}

// withTexts returns the content with other texts, as many as it has. All other bytes stay.
func (r *Content) withTexts(texts []string) string {
	var b strings.Builder
	at, i := 0, 0
	eachText(gjson.Parse(r.Raw), 0, func(text gjson.Result) {
		if texts[i] != text.Str {
			b.WriteString(r.Raw[at:text.Index])
			b.WriteString(strictjson.Quote(texts[i]))
			at = text.Index + len(text.Raw)
		}
		i++
	})
	b.WriteString(r.Raw[at:])
	return b.String()
}

// Redacted returns the content with texts in place of those that the agent has sent. A note
// before them stays.
func (r *Content) Redacted(sent *Content, texts []string) string {
	note := r.note(sent)
	switch now, _ := r.Texts(); {
	case note == "":
	case len(now) > len(texts):
		texts = slices.Concat([]string{note}, texts)
	default:
		texts = slices.Concat([]string{note + "\n" + texts[0]}, texts[1:])
	}
	return r.withTexts(texts)
}

// Denied returns a content with only a text, after the note before the content that the agent
// has sent.
func (r *Content) Denied(sent *Content, text string) string {
	if note := r.note(sent); note != "" {
		text = note + "\n" + text
	}
	v := gjson.Parse(r.Raw)
	switch {
	case r.Definitions:
		return "[]" // the API has no field for the text
	case v.Get("type").Str == "computer_screenshot":
		return `{"type":"computer_screenshot","image_url":"` + emptyImage + `"}`
	case v.Get("0.stdout").Exists() || v.Get("0.stderr").Exists():
		return `[{"stdout":` + strictjson.Quote(text) + `,"stderr":"","outcome":{"type":"exit","exit_code":1}}]`
	}
	return strictjson.Quote(text)
}

// emptyImage is a PNG of one white pixel: the result of a computer call must be an image.
const emptyImage = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAsTj2FAAAAABJRU5ErkJggg=="

// maxTextDepth is how deep texts are looked for. Each level is read again for the one above.
const maxTextDepth = 16

// binary are words in the types of parts whose strings are no texts.
var binary = []string{"image", "audio", "screenshot", "base64"}

// settings are the names of members that are no texts of a result.
var settings = []string{"type", "id", "file_id", "file_data", "media_type", "mime_type", "cache_control", "detail", "outcome"}

// eachText visits the strings of a content. It reports false if some are too deep.
func eachText(v gjson.Result, depth int, visit func(gjson.Result)) (ok bool) {
	if v.Type == gjson.String {
		visit(v)
	}
	if !v.IsArray() && !v.IsObject() {
		return true
	}
	if depth == maxTextDepth {
		return false
	}
	if kind := v.Get("type").Str; v.IsObject() && slices.ContainsFunc(binary, func(word string) bool { return strings.Contains(kind, word) }) {
		return eachText(v.Get("text"), depth+1, visit)
	}
	ok = true
	v.ForEach(func(name, item gjson.Result) bool {
		if !slices.Contains(settings, name.Str) {
			ok = eachText(item, depth+1, visit) && ok
		}
		return true
	})
	return ok
}

// Replace returns the body of a request to which hidden turns may have been added, with other
// contents of results. Now are the results in the body, sent are those that the agent has sent,
// with returns the replacement for the i-th of these, "" for none. It fails if a result is no
// longer found: nothing may be sent then. The body is the same one if there is no replacement.
func Replace(body []byte, now, sent []Content, with func(i int, now *Content) string) ([]byte, error) {
	var out []byte
	at, i := 0, 0
	for k := range now {
		content := &now[k]
		if i == len(sent) || !content.continues(&sent[i]) {
			continue // one of heldcall's own
		}
		if raw := with(i, content); raw != "" {
			if out == nil {
				out = make([]byte, 0, len(body)+len(raw))
			}
			out = append(append(out, body[at:content.At.Start]...), raw...)
			at = content.At.End
		}
		i++
	}
	switch {
	case i < len(sent):
		return nil, errors.New("the results of the request cannot be distinguished from those that heldcall has added")
	case at == 0:
		return body, nil
	}
	return append(out, body[at:]...), nil
}

// continues reports whether a content is the one that the agent has sent, which may have a
// note before its first text.
func (r *Content) continues(sent *Content) bool {
	return r.CallID == sent.CallID && (r.Raw == sent.Raw || r.note(sent) != "")
}

// note is the text that [intercept.Request.Splice] has put before the content that the agent has sent,
// "" for none.
func (r *Content) note(sent *Content) string {
	if r.Raw == sent.Raw {
		return ""
	}
	now, _ := r.Texts()
	before, _ := sent.Texts()
	switch {
	case len(now) == 0:
	case len(now) == len(before)+1 && slices.Equal(now[1:], before):
		return now[0]
	case len(now) == len(before) && slices.Equal(now[1:], before[1:]) && strings.HasSuffix(now[0], "\n"+before[0]):
		return strings.TrimSuffix(now[0], "\n"+before[0])
	}
	return ""
}
