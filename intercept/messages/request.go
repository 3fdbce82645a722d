package messages

import (
	"strconv"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// request is an agent's request.
type request struct {
	intercept.ParsedRequest
	before string // fingerprint of the last message as the agent sent it
}

var form = intercept.RequestSchema{
	API: "Messages", Array: "messages",
	Fields: []string{"messages", "model", "stream", "tools", "tool_choice", "metadata", "mcp_servers", "container"},
	Marks:  []string{toolAddition},
}

// parseRequest reads a request strictly.
func parseRequest(e intercept.Envelope) (*request, error) {
	asked, err := form.Accept(e)
	return &request{ParsedRequest: asked}, err
}

func (r *request) value(field string) gjson.Result { return gjson.ParseBytes(r.Field(field)) }

// Info implements [intercept.Request].
func (r *request) Info() intercept.Info {
	info := intercept.Info{
		Model:    r.value("model").String(),
		Streamed: string(r.Field("stream")) == "true",
		Session:  r.session(),
	}
	if info.Session == "" {
		info.Opening = r.opening()
	}
	return info
}

// session looks for an id of the conversation. Claude Code writes it into the
// user id: user_HASH_account_ID_session_ID, or an object with session_id.
func (r *request) session() string {
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

// opening is the first user message, with the user it is for: what stays the
// same over a conversation that names itself nowhere.
func (r *request) opening() (opening string) {
	r.value("messages").ForEach(func(_, m gjson.Result) bool {
		if m.Get("role").Str != "user" {
			return true
		}
		opening = r.value("metadata").Get("user_id").String() + "\n" + strictjson.ContentText(m.Get("content"))
		return false
	})
	return opening
}

// LastUser implements [intercept.Request].
func (r *request) LastUser() string {
	_, last := r.spoken()
	return last
}

// Task implements [intercept.Request]: the user's last message and its number.
func (r *request) Task() string {
	n, last := r.spoken()
	return strconv.Itoa(n) + "\n" + last
}

// Begins implements [intercept.Request].
func (r *request) Begins() bool {
	begins := true
	r.value("messages").ForEach(func(_, m gjson.Result) bool {
		begins = m.Get("role").Str == "user" || m.Get("role").Str == "system"
		return begins
	})
	return begins
}

// spoken counts the messages that the user wrote, and returns the last one.
func (r *request) spoken() (n int, last string) {
	r.value("messages").ForEach(func(_, m gjson.Result) bool {
		if text, ok := userText(m); ok {
			n++
			last = text
		}
		return true
	})
	return n, last
}

// userText is what the user says in a message, and whether it is the user who
// speaks: results of tools are sent in the user's name, and agents put reminders
// of their own beside them.
func userText(m gjson.Result) (text string, ok bool) {
	if m.Get("role").Str != "user" {
		return "", false
	}
	content := m.Get("content")
	if !content.IsArray() {
		return content.String(), true
	}
	var b strings.Builder
	results := false
	content.ForEach(func(_, part gjson.Result) bool {
		results = results || part.Get("type").Str == "tool_result"
		if said := part.Get("text").String(); !strings.HasPrefix(said, "<system-reminder>") {
			b.WriteString(said)
		}
		return true
	})
	return b.String(), !results || b.Len() > 0
}

// Codec implements [intercept.Request].
func (r *request) Codec(limits intercept.Limits) intercept.Codec { return newAnswer(r, limits) }

// Made implements [intercept.Request].
func (r *request) Made() string {
	var made []intercept.CallFingerprint
	r.value("messages").ForEach(func(_, m gjson.Result) bool {
		for _, c := range calls(blocks(m.Get("content"))) {
			made = append(made, intercept.CallFingerprint{ID: c.Get("id").Str, Name: c.Get("name").Str})
		}
		return true
	})
	return intercept.MadeBy(made)
}

// Forced implements [intercept.Request].
func (r *request) Forced() bool {
	return intercept.ForcedBy(r.value("tool_choice"), len(r.value("tools").Array()))
}
