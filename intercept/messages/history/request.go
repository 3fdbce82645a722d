// Package history reads the agent's requests to the Messages API and restores in them
// the content of earlier answers that was hidden from the agent.
//
// Read request.go and tools.go (what a request contains and offers), block.go (the
// content of a message), record.go (the record of an answer), splice.go (how records
// change a history) and extend.go (how an answer continues after a denial).
package history

import (
	"strconv"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/outline"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// Request is an agent's request.
type Request struct {
	intercept.ParsedRequest
	ending string // fingerprint of the last message as the agent sent it
}

var form = intercept.RequestSchema{
	API: "Messages", Array: "messages",
	Fields: []string{"messages", "model", "stream", "tools", "tool_choice", "metadata", "mcp_servers", "container"},
	Marks:  []string{toolAddition},

	Conversation: []string{"messages", "system", "model", "stream", "tools", "mcp_servers", "tool_choice", "output_config", "output_format"},
	Outline: outline.Schema{
		Beginning: []string{"system"}, ResultPart: "tool_result", Reminder: "<system-reminder>", ToolTypes: []string{"", "custom"},
	},
}

// ParseRequest reads a request strictly.
func ParseRequest(e intercept.Envelope) (*Request, error) {
	r := new(Request)
	return r, r.Accept(&form, e)
}

func (r *Request) value(field string) gjson.Result { return gjson.ParseBytes(r.Field(field)) }

// Info implements [intercept.Request].
func (r *Request) Info() intercept.Info {
	info := intercept.Info{
		Model:    r.value("model").String(),
		Streamed: string(r.Field("stream")) == "true",
		Session:  r.session(),
	}
	if info.Session == "" {
		info.Opening = r.Opening()
	}
	return info
}

// session returns the id of the conversation, "" if the metadata have none. Claude Code
// puts it into the user id: user_HASH_account_ID_session_ID, or an object with session_id.
func (r *Request) session() string {
	metadata := r.value("metadata")
	for _, key := range []string{"session_id", "conversation_id", "thread_id"} {
		if v := metadata.Get(key); v.Type == gjson.String && v.Str != "" {
			return v.Str
		}
	}
	user := metadata.Get("user_id").String()
	if at := strings.LastIndex(user, sessionMark); at >= 0 {
		return user[at+len(sessionMark):]
	}
	if strictjson.Strict([]byte(user)) == nil {
		return gjson.Get(user, "session_id").String()
	}
	return ""
}

const sessionMark = "_session_"

// Opening is the first user message, with the id of the user. It identifies a
// conversation that has no id.
func (r *Request) Opening() string {
	if r.Authors.First == nil {
		return ""
	}
	return r.value("metadata").Get("user_id").String() + "\n" + strictjson.ContentText(gjson.ParseBytes(r.Authors.First))
}

// LastUser implements [intercept.Request].
func (r *Request) LastUser() string { return userText(gjson.ParseBytes(r.Authors.Last)) }

// Task implements [intercept.Request]: the user's last message and its number.
func (r *Request) Task() string { return strconv.Itoa(r.Authors.Users) + "\n" + r.LastUser() }

// Begins implements [intercept.Request].
func (r *Request) Begins() bool { return !r.Authors.Others }

// userText returns the text that the user wrote in the content of a message.
func userText(content gjson.Result) string {
	if !content.IsArray() {
		return content.String()
	}
	var b strings.Builder
	content.ForEach(func(_, part gjson.Result) bool {
		if text := part.Get("text").String(); !strings.HasPrefix(text, form.Outline.Reminder) {
			b.WriteString(text)
		}
		return true
	})
	return b.String()
}

// Made implements [intercept.Request].
func (r *Request) Made() string {
	var made []intercept.CallFingerprint
	r.value("messages").ForEach(func(_, m gjson.Result) bool {
		for _, c := range calls(blocks(m.Get("content"))) {
			made = append(made, intercept.CallFingerprint{ID: c.Get("id").Str, Name: c.Get("name").Str})
		}
		return true
	})
	return intercept.MadeBy(made)
}

// ForcedTools implements [intercept.Request].
func (r *Request) ForcedTools() []string {
	return intercept.ForcedBy(r.value("tool_choice"), r.value("tools"))
}
