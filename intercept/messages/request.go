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
	alias string // the message that the agent continues, where upstream knows it by another id
}

var requestSchema = intercept.RequestSchema{
	API: "Messages", Array: "messages",
	Fields: []string{"messages", "model", "stream", "tools", "tool_choice", "metadata", "mcp_servers", "container", "thread", "user_profile_id", "system"},
	Marks:  []string{toolAddition},

	History: "messages", Key: fingerprint,
	Outline: outline.Schema{
		Beginning: []string{"system"}, ResultPart: "tool_result", ResultID: "tool_use_id", Reminder: intercept.ReminderMark, ToolTypes: []string{"", "custom"},
		Result: func(role []byte, _ *[4][]byte) ([]byte, bool) { return nil, outline.IsString(role, "assistant") },
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
		Users:    r.Authors.Users,

		Auxiliary: r.counts(),
	}
	if id := r.continued(); id != "" {
		info.Refers, info.ToolsKept = []string{id}, len(r.Value("tools").Array()) == 0
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

// Opening implements [intercept.Request]. Where upstream keeps the history the request does not
// have it.
func (r *request) Opening() intercept.UserText {
	if r.Authors.First == nil || r.continued() != "" {
		return intercept.UserText{}
	}
	return intercept.UserText{Prefix: r.UserNames("user_profile_id"), Content: r.Authors.First}
}

// LastUser implements [intercept.Request].
func (r *request) LastUser() string { return userText(r.Authors.Last).String() }

// Task implements [intercept.Request]. It is the same if the agent sends the whole history instead
// of continuing it; where its beginning is not known it has the message before it.
func (r *request) Task(before int) intercept.UserText {
	text := userText(r.Authors.Last)
	text.Prefix = strconv.Itoa(before+r.Authors.Users) + "\n"
	if id := r.continued(); id != "" && before == 0 {
		text.Prefix += id + "\n"
	}
	return text
}

// Begins implements [intercept.Request].
func (r *request) Begins() bool { return r.ParsedRequest.Begins() && r.continued() == "" }

// userText is what the user wrote in the content of a message.
func userText(content []byte) intercept.UserText {
	return intercept.UserText{Content: content, Reminder: intercept.ReminderMark}
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
	return intercept.MadeBy(made, r.continued())
}
