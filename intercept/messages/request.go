package messages

import (
	"strconv"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/outline"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// request is an agent's request. It implements [intercept.Request].
type request struct {
	intercept.ParsedRequest
	lastSent string // fingerprint of the last message as the agent sent it
}

var requestSchema = intercept.RequestSchema{
	API: "Messages", Array: "messages",
	Fields: []string{"messages", "model", "stream", "tools", "tool_choice", "metadata", "mcp_servers", "container"},
	Marks:  []string{toolAddition},

	Conversation: []string{"messages", "system", "model", "stream", "tools", "mcp_servers", "tool_choice", "output_config", "output_format"},
	Outline: outline.Schema{
		Beginning: []string{"system"}, ResultPart: "tool_result", Reminder: "<system-reminder>", ToolTypes: []string{"", "custom"},
	},
}

// parseRequest reads a request strictly.
func parseRequest(e intercept.Envelope) (*request, error) {
	r := new(request)
	return r, r.Accept(&requestSchema, e)
}

// Codec implements [intercept.Request].
func (r *request) Codec(limits intercept.Limits) intercept.Codec { return newAnswer(r, limits) }

// Info implements [intercept.Request].
func (r *request) Info() intercept.Info {
	info := intercept.Info{
		Model:    r.Value("model").String(),
		Streamed: string(r.Field("stream")) == "true",
		Session:  r.session(),
	}
	if info.Session == "" {
		info.Opening = r.opening()
	}
	return info
}

// session returns the id of the conversation, "" if the metadata have none. Claude Code
// puts it into the user id: user_HASH_account_ID_session_ID, or an object with session_id.
func (r *request) session() string {
	if id := r.MetadataSession(); id != "" {
		return id
	}
	user := r.userID()
	if mark := strings.LastIndex(user, sessionMark); mark >= 0 {
		return user[mark+len(sessionMark):]
	}
	if strictjson.Strict([]byte(user)) == nil {
		return gjson.Get(user, "session_id").String()
	}
	return ""
}

// userID is the id of the user, to which Claude Code adds that of the session.
func (r *request) userID() string { return r.Value("metadata").Get("user_id").String() }

const sessionMark = "_session_"

// opening is the first user message, with the id of the user. It identifies a
// conversation that has no id.
func (r *request) opening() string {
	if r.Authors.First == nil {
		return ""
	}
	return r.userID() + "\n" + strictjson.ContentText(gjson.ParseBytes(r.Authors.First))
}

// LastUser implements [intercept.Request].
func (r *request) LastUser() string { return userText(gjson.ParseBytes(r.Authors.Last)) }

// Task implements [intercept.Request]: the user's last message and its number.
func (r *request) Task() string { return strconv.Itoa(r.Authors.Users) + "\n" + r.LastUser() }

// userText returns the text that the user wrote in the content of a message.
func userText(content gjson.Result) string {
	if !content.IsArray() {
		return content.String()
	}
	var b strings.Builder
	content.ForEach(func(_, part gjson.Result) bool {
		if text := part.Get("text").String(); !strings.HasPrefix(text, requestSchema.Outline.Reminder) {
			b.WriteString(text)
		}
		return true
	})
	return b.String()
}

// Made implements [intercept.Request].
func (r *request) Made() string {
	var made []intercept.CallFingerprint
	r.Value("messages").ForEach(func(_, m gjson.Result) bool {
		for _, c := range callBlocks(contentBlocks(m.Get("content"))) {
			made = append(made, intercept.CallFingerprint{ID: c.Get("id").Str, Name: c.Get("name").Str})
		}
		return true
	})
	return intercept.MadeBy(made)
}

// ForcedTools implements [intercept.Request].
func (r *request) ForcedTools() []string {
	return intercept.ForcedBy(r.Value("tool_choice"), r.Value("tools"))
}
