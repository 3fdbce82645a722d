// Package history reads the agent's requests to the Chat Completions API and puts back
// into them what was hidden from the agent in earlier answers.
//
// Read request.go and tools.go (what a request asks for and offers), record.go (what is
// remembered of an answer, and how it goes into a history) and speech.go (what was said
// in sound).
package history

import (
	"strconv"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// Request is an agent's request.
type Request struct {
	intercept.ParsedRequest
	before string // fingerprint of the last message as the agent sent it
}

var form = intercept.RequestSchema{
	API: "Chat Completions", Array: "messages",
	Fields: append([]string{"messages", "model", "stream", "n", "tools", "functions", "tool_choice", "function_call", "metadata", "user", "prompt_cache_key"}, intercept.HostedFields...),
}

// ParseRequest reads a request strictly.
func ParseRequest(e intercept.Envelope) (*Request, error) {
	asked, err := form.Accept(e)
	return &Request{ParsedRequest: asked}, err
}

// Messages are those of the request.
func (r *Request) Messages() gjson.Result { return gjson.ParseBytes(r.Field("messages")) }

// Info implements [intercept.Request].
func (r *Request) Info() intercept.Info {
	info := intercept.Info{
		Model:    r.text("model"),
		Streamed: string(r.Field("stream")) == "true",
		Session:  r.session(),
	}
	if info.Session == "" {
		info.Opening = r.Opening()
	}
	return info
}

func (r *Request) text(field string) string { return gjson.ParseBytes(r.Field(field)).String() }

// session looks for an id of the conversation in the fields that agents use for
// one.
func (r *Request) session() string {
	metadata := gjson.ParseBytes(r.Field("metadata"))
	for _, key := range []string{"session_id", "conversation_id", "thread_id"} {
		if v := metadata.Get(key); v.Type == gjson.String && v.Str != "" {
			return v.Str
		}
	}
	return r.text("prompt_cache_key")
}

// Opening is the first user message, with the user it is for: what stays the
// same over a conversation that names itself nowhere.
func (r *Request) Opening() (opening string) {
	r.Messages().ForEach(func(_, m gjson.Result) bool {
		if m.Get("role").Str != "user" {
			return true
		}
		opening = r.text("user") + "\n" + strictjson.ContentText(m.Get("content"))
		return false
	})
	return opening
}

// LastUser implements [intercept.Request].
func (r *Request) LastUser() (last string) {
	r.Messages().ForEach(func(_, m gjson.Result) bool {
		if m.Get("role").Str == "user" {
			last = strictjson.ContentText(m.Get("content"))
		}
		return true
	})
	return last
}

// Task implements [intercept.Request]: the user's last message and its number.
func (r *Request) Task() string {
	n, last := 0, ""
	r.Messages().ForEach(func(_, m gjson.Result) bool {
		if m.Get("role").Str == "user" {
			n++
			last = strictjson.ContentText(m.Get("content"))
		}
		return true
	})
	return strconv.Itoa(n) + "\n" + last
}

// Begins implements [intercept.Request].
func (r *Request) Begins() bool {
	begins := true
	r.Messages().ForEach(func(_, m gjson.Result) bool {
		switch m.Get("role").Str {
		case "user", "system", "developer":
		default:
			begins = false
		}
		return begins
	})
	return begins
}

// Tool implements [intercept.Request].
func (r *Request) Tool(name string) (tool intercept.Tool, found bool) {
	gjson.ParseBytes(r.Field("tools")).ForEach(func(_, t gjson.Result) bool {
		def := t.Get("function")
		free := t.Get("type").Str == "custom"
		if free {
			def = t.Get("custom")
		}
		if def.Get("name").Str == name && name != "" {
			tool, found = newTool(def, free), true
		}
		return !found
	})
	if found {
		return tool, true
	}
	gjson.ParseBytes(r.Field("functions")).ForEach(func(_, def gjson.Result) bool {
		if def.Get("name").Str == name && name != "" {
			tool, found = newTool(def, false), true
		}
		return !found
	})
	return tool, found
}

func newTool(def gjson.Result, free bool) intercept.Tool {
	tool := intercept.Tool{Description: def.Get("description").String(), FreeText: free}
	if p := def.Get("parameters"); p.IsObject() && !free {
		tool.Parameters = []byte(p.Raw)
	}
	return tool
}

// Made implements [intercept.Request].
func (r *Request) Made() string {
	var calls []intercept.CallFingerprint
	r.Messages().ForEach(func(_, m gjson.Result) bool {
		m.Get("tool_calls").ForEach(func(_, c gjson.Result) bool {
			name := c.Get("function.name").Str + c.Get("custom.name").Str
			calls = append(calls, intercept.CallFingerprint{ID: c.Get("id").Str, Name: name})
			return true
		})
		return true
	})
	return intercept.MadeBy(calls)
}

// Forced implements [intercept.Request].
func (r *Request) Forced() bool {
	tools := len(gjson.ParseBytes(r.Field("tools")).Array()) + len(gjson.ParseBytes(r.Field("functions")).Array())
	return intercept.ForcedBy(gjson.ParseBytes(r.Field("tool_choice")), tools) || intercept.ForcedBy(gjson.ParseBytes(r.Field("function_call")), tools)
}
