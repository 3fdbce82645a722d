package chat

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// request is an agent's request. Its fields are stretches of the body, and are
// looked for when the first of them is needed: most requests pass unread.
type request struct {
	envelope intercept.Envelope
	looked   bool // fields were looked for
	fields   intercept.Fields
	before   string // fingerprint of the last message as the agent sent it
}

// fieldsRead are the fields whose values are looked at later.
var fieldsRead = []string{"messages", "model", "stream", "tools", "functions", "tool_choice", "function_call", "metadata", "user", "prompt_cache_key"}

// acceptRequest checks that the body is one that every parser reads alike, and
// leaves its fields for later.
func acceptRequest(e intercept.Envelope) (*request, error) {
	if !bytes.Contains(e.Body, []byte(`"messages"`)) || intercept.Strict(e.Body) != nil {
		return parseRequest(e) // knows what is wrong
	}
	return &request{envelope: e}, nil
}

// parseRequest reads the fields of a body.
func parseRequest(e intercept.Envelope) (*request, error) {
	r := &request{envelope: e, looked: true}
	if err := r.read(); err != nil {
		return nil, &intercept.Error{
			Code:   intercept.CodeBadRequest,
			Reason: "the request body is not a Chat Completions request: " + err.Error(),
		}
	}
	return r, nil
}

func (r *request) read() (err error) {
	if r.fields, err = intercept.ReadFields(r.envelope.Body, fieldsRead...); err != nil {
		return err
	}
	if messages := r.fields.Raw("messages"); len(messages) == 0 || messages[0] != '[' {
		return errors.New("it has no messages array")
	}
	return nil
}

// field is the raw value of a field, nil where it is absent. A body that has no
// messages after all has no fields: it can be passed on, and not continued.
func (r *request) field(name string) []byte {
	if !r.looked {
		r.looked = true
		if r.read() != nil {
			r.fields = intercept.Fields{}
		}
	}
	return r.fields.Raw(name)
}

func (r *request) messages() gjson.Result { return gjson.ParseBytes(r.field("messages")) }

func (r *request) Info() intercept.Info {
	info := intercept.Info{
		Model:    r.text("model"),
		Streamed: string(r.field("stream")) == "true",
		Session:  r.session(),
	}
	if info.Session == "" {
		info.Opening = r.opening()
	}
	return info
}

func (r *request) text(field string) string { return gjson.ParseBytes(r.field(field)).String() }

// session looks for an id of the conversation in the fields that agents use for
// one.
func (r *request) session() string {
	metadata := gjson.ParseBytes(r.field("metadata"))
	for _, key := range []string{"session_id", "conversation_id", "thread_id"} {
		if v := metadata.Get(key); v.Type == gjson.String && v.Str != "" {
			return v.Str
		}
	}
	return r.text("prompt_cache_key")
}

// opening is the first user message, with the user it is for: what stays the
// same over a conversation that names itself nowhere.
func (r *request) opening() (opening string) {
	r.messages().ForEach(func(_, m gjson.Result) bool {
		if m.Get("role").Str != "user" {
			return true
		}
		opening = r.text("user") + "\n" + contentText(m.Get("content"))
		return false
	})
	return opening
}

func (r *request) LastUser() (last string) {
	r.messages().ForEach(func(_, m gjson.Result) bool {
		if m.Get("role").Str == "user" {
			last = contentText(m.Get("content"))
		}
		return true
	})
	return last
}

// Task implements [intercept.Request]: the user's last message and its number.
func (r *request) Task() string {
	n, last := 0, ""
	r.messages().ForEach(func(_, m gjson.Result) bool {
		if m.Get("role").Str == "user" {
			n++
			last = contentText(m.Get("content"))
		}
		return true
	})
	return strconv.Itoa(n) + "\n" + last
}

// contentText is the text of a content field: a string, or the text parts of an
// array.
func contentText(content gjson.Result) string {
	if !content.IsArray() {
		return content.String()
	}
	var b strings.Builder
	content.ForEach(func(_, part gjson.Result) bool {
		b.WriteString(part.Get("text").String())
		return true
	})
	return b.String()
}

func (r *request) Tool(name string) (tool intercept.Tool, found bool) {
	gjson.ParseBytes(r.field("tools")).ForEach(func(_, t gjson.Result) bool {
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
	gjson.ParseBytes(r.field("functions")).ForEach(func(_, def gjson.Result) bool {
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

// Hosted implements [intercept.Request].
func (r *request) Hosted() []intercept.HostedTool { return nil }

// RequireApproval implements [intercept.Request].
func (r *request) RequireApproval() int { return 0 }

// Envelope implements [intercept.Request].
func (r *request) Envelope() intercept.Envelope { return r.envelope }

// Answer implements [intercept.Request].
func (r *request) Answer(limits intercept.Limits) intercept.Answer { return newAnswer(r, limits) }

// extend returns body, a chat request, with messages appended and a tool choice
// that forces a call relaxed, so that the model may take another way. All other
// bytes stay.
func extend(body []byte, messages []string) ([]byte, error) {
	r, err := parseRequest(intercept.Envelope{Body: body})
	if err != nil {
		return nil, err
	}
	at, _ := r.fields.At("messages")
	return relax(intercept.Replace(body, at, intercept.AppendItems(r.field("messages"), messages...)), r)
}

func relax(body []byte, r *request) ([]byte, error) {
	for _, field := range []string{"tool_choice", "function_call"} {
		v := gjson.ParseBytes(r.field(field))
		if v.Get("allowed_tools.mode").Exists() { // stays bound to some of the tools
			field += ".allowed_tools.mode"
			v = v.Get("allowed_tools.mode")
		}
		if v.IsObject() || v.Str == "required" || v.Str == "any" {
			relaxed, err := sjson.SetBytes(body, field, "auto")
			if err != nil {
				return nil, fmt.Errorf("relax %s: %w", field, err)
			}
			body = relaxed
		}
	}
	return body, nil
}
