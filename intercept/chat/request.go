package chat

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/heldcall/heldcall/intercept"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// request is an agent's request. Its fields are stretches of the body, and are
// looked for when the first of them is needed: most requests pass unread.
type request struct {
	body     []byte
	looked   bool   // the fields below were looked for
	messages []byte // the array, aliases the body as it came
	at       int    // where messages stands in the body
	fields   map[string][]byte
	before   string // fingerprint of the last message as the agent sent it
}

// kept are the fields whose values are looked at later.
var kept = []string{"model", "stream", "tools", "functions", "tool_choice", "function_call", "metadata", "user", "prompt_cache_key"}

// acceptRequest checks that the body is one that every parser reads alike, and
// leaves its fields for later.
func acceptRequest(body []byte) (*request, error) {
	if !bytes.Contains(body, []byte(`"messages"`)) || intercept.Strict(body) != nil {
		return parseRequest(body) // knows what is wrong
	}
	return &request{body: body}, nil
}

// parseRequest reads the fields of a body.
func parseRequest(body []byte) (*request, error) {
	r := &request{body: body, looked: true}
	if err := r.read(); err != nil {
		return nil, &intercept.Error{
			Code:   intercept.CodeBadRequest,
			Reason: "the request body is not a Chat Completions request: " + err.Error(),
		}
	}
	return r, nil
}

// look makes sure that the fields were looked for. A body that has no messages
// after all has no fields; it can be passed on, and not continued.
func (r *request) look() *request {
	if !r.looked {
		r.looked = true
		_ = r.read()
	}
	return r
}

func (r *request) read() error {
	r.fields = make(map[string][]byte, len(kept))
	dec := jsontext.NewDecoder(bytes.NewBuffer(r.body))
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '{' {
		return errors.New("it is not one JSON object")
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return positioned(dec)
		}
		field := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return positioned(dec)
		}
		r.keep(field, value, int(dec.InputOffset()))
	}
	if _, err := dec.ReadToken(); err != nil {
		return positioned(dec)
	}
	if len(bytes.Trim(r.body[dec.InputOffset():], " \t\r\n")) > 0 {
		return errors.New("something stands behind the JSON object")
	}
	if r.messages == nil {
		return errors.New("it has no messages array")
	}
	return nil
}

// positioned says where strict decoding stopped, without quoting the body.
func positioned(dec *jsontext.Decoder) error {
	return fmt.Errorf("it is not strict JSON (duplicate name, invalid UTF-8 or syntax) after byte %d", dec.InputOffset())
}

func (r *request) keep(field string, value jsontext.Value, end int) {
	if field == "messages" && value.Kind() == '[' {
		r.at = end - len(value)
		r.messages = r.body[r.at:end]
		return
	}
	for _, k := range kept {
		if k == field {
			r.fields[field] = r.body[end-len(value) : end]
		}
	}
}

func (r *request) Info() intercept.Info {
	info := intercept.Info{
		Model:    r.text("model"),
		Streamed: string(r.look().fields["stream"]) == "true",
		Session:  r.session(),
	}
	if info.Session == "" {
		info.Opening = r.opening()
	}
	return info
}

func (r *request) text(field string) string { return gjson.ParseBytes(r.look().fields[field]).String() }

// session looks for an id of the conversation in the fields that agents use for
// one.
func (r *request) session() string {
	metadata := gjson.ParseBytes(r.look().fields["metadata"])
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
	gjson.ParseBytes(r.look().messages).ForEach(func(_, m gjson.Result) bool {
		if m.Get("role").Str != "user" {
			return true
		}
		opening = r.text("user") + "\n" + contentText(m.Get("content"))
		return false
	})
	return opening
}

func (r *request) LastUser() (last string) {
	gjson.ParseBytes(r.look().messages).ForEach(func(_, m gjson.Result) bool {
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
	gjson.ParseBytes(r.look().messages).ForEach(func(_, m gjson.Result) bool {
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
	gjson.ParseBytes(r.look().fields["tools"]).ForEach(func(_, t gjson.Result) bool {
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
	gjson.ParseBytes(r.look().fields["functions"]).ForEach(func(_, def gjson.Result) bool {
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

func (r *request) Body() []byte { return r.body }

func (r *request) Answer(limits intercept.Limits) intercept.Answer { return newAnswer(r, limits) }

// extend returns body, a chat request, with messages appended and a tool choice
// that forces a call relaxed, so that the model may take another way. All other
// bytes stay.
func extend(body []byte, messages []string) ([]byte, error) {
	r, err := parseRequest(body)
	if err != nil {
		return nil, err
	}
	end := r.at + len(r.messages) - 1 // before the closing bracket
	out := make([]byte, 0, len(body)+256)
	out = append(out, body[:end]...)
	out = append(out, joinAfter(len(bytes.TrimSpace(r.messages[1:len(r.messages)-1])) > 0, messages)...)
	out = append(out, body[end:]...)
	return relax(out, r)
}

func joinAfter(comma bool, messages []string) string {
	list := strings.Join(messages, ",")
	if comma && list != "" {
		return "," + list
	}
	return list
}

func relax(body []byte, r *request) ([]byte, error) {
	for _, field := range []string{"tool_choice", "function_call"} {
		v := gjson.ParseBytes(r.fields[field])
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
