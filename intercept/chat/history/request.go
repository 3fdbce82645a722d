// Package history reads the agent's requests to the Chat Completions API and restores in
// them the messages that were hidden from the agent in earlier answers.
//
// Read request.go and tools.go (the conversation and the tools of a request), record.go (the
// record of an answer) and splice.go (how records change a history).
package history

import (
	"iter"
	"strconv"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/outline"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// Request is an agent's request.
type Request struct {
	intercept.ParsedRequest
	before string // fingerprint of the last message that the agent sent
}

var form = intercept.RequestSchema{
	API: "Chat Completions", Array: "messages",
	Fields:       append([]string{"messages", "model", "stream", "n", "tools", "functions", "tool_choice", "function_call", "metadata", "user", "prompt_cache_key"}, intercept.HostedFields...),
	Conversation: []string{"messages", "model", "stream", "n", "tools", "functions", "tool_choice", "function_call", "response_format"},
	Outline:      outline.Schema{Beginning: []string{"system", "developer"}, ToolTypes: []string{"function", "custom"}},
}

// ParseRequest reads a request strictly.
func ParseRequest(e intercept.Envelope) (*Request, error) {
	r := new(Request)
	return r, r.Accept(&form, e)
}

// Messages are those of the request.
func (r *Request) Messages() gjson.Result { return gjson.ParseBytes(r.Field("messages")) }

// items yields the items of a field.
func (r *Request) items(field string) iter.Seq[gjson.Result] {
	return func(yield func(gjson.Result) bool) {
		gjson.ParseBytes(r.Field(field)).ForEach(func(_, item gjson.Result) bool { return yield(item) })
	}
}

// Info implements [intercept.Request].
func (r *Request) Info() intercept.Info {
	info := intercept.Info{
		Model:    r.Text("model"),
		Streamed: string(r.Field("stream")) == "true",
		Session:  r.session(),
	}
	if info.Session == "" {
		info.Opening = r.Opening()
	}
	return info
}

// session returns the id of the conversation, from the fields in which agents send one.
func (r *Request) session() string {
	metadata := gjson.ParseBytes(r.Field("metadata"))
	for _, key := range []string{"session_id", "conversation_id", "thread_id"} {
		if v := metadata.Get(key); v.Type == gjson.String && v.Str != "" {
			return v.Str
		}
	}
	return r.Text("prompt_cache_key")
}

// Opening is the text of the first user message, after the user whom it is for. It
// identifies a conversation that has no id.
func (r *Request) Opening() string {
	if r.Authors.First == nil {
		return ""
	}
	return r.Text("user") + "\n" + strictjson.ContentText(gjson.ParseBytes(r.Authors.First))
}

// LastUser implements [intercept.Request].
func (r *Request) LastUser() string {
	return strictjson.ContentText(gjson.ParseBytes(r.Authors.Last))
}

// Task implements [intercept.Request]: the number of the user's last message, and its
// text.
func (r *Request) Task() string { return strconv.Itoa(r.Authors.Users) + "\n" + r.LastUser() }

// Begins implements [intercept.Request].
func (r *Request) Begins() bool { return !r.Authors.Others }

// Made implements [intercept.Request].
func (r *Request) Made() string {
	var calls []intercept.CallFingerprint
	for m := range r.items("messages") {
		m.Get("tool_calls").ForEach(func(_, c gjson.Result) bool {
			name := c.Get("function.name").Str + c.Get("custom.name").Str
			calls = append(calls, intercept.CallFingerprint{ID: c.Get("id").Str, Name: name})
			return true
		})
	}
	return intercept.MadeBy(calls)
}

// Extend returns the request with messages appended, for one choice. A tool choice that
// forces a certain call becomes "auto", and with free one that forces any call, so that the
// model may take another way. All other bytes stay.
func (r *Request) Extend(messages []string, free bool) (intercept.Envelope, error) {
	at, _ := r.At("messages")
	p := strictjson.Patch{JSON: string(strictjson.Replace(r.Envelope().Body, at, strictjson.AppendItems(r.Field("messages"), messages...)))}
	if gjson.ParseBytes(r.Field("n")).Type == gjson.Number {
		p.Set("n", "1")
	}
	for _, field := range []string{"tool_choice", "function_call"} {
		choice := gjson.ParseBytes(r.Field(field))
		if mode := choice.Get("allowed_tools.mode"); mode.Exists() { // the choice of tools stays
			field, choice = field+".allowed_tools.mode", mode
		}
		if choice.IsObject() || (free && (choice.Str == "required" || choice.Str == "any")) {
			p.Set(field, `"auto"`)
		}
	}
	return r.With([]byte(p.JSON)), p.Err
}
