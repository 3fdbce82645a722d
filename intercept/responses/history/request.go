// Package history reads the agent's requests to the Responses API and puts the hidden
// turns of earlier answers back into them.
//
// Read route.go, input.go and request.go (the contents of a request), offer.go (the tools
// that it offers), record.go (the memory of an answer), splice.go, find.go and merge.go
// (how an answer is found in a history and completed), approval.go (approvals that only one
// request may use) and recall.go (later requests for an answer).
package history

import (
	"bytes"
	"net/url"
	"strconv"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/outline"
	"github.com/heldcall/heldcall/intercept/responses/wire"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// Request is an agent's request.
type Request struct {
	intercept.ParsedRequest
	Operation operation
	ID        string             // of the response that it asks for, "" where it makes one
	After     int64              // the agent has the events up to this number, -1 for none
	Known     knowledge          // what was remembered of what it continues
	envelope  intercept.Envelope // the request to upstream
	input     input
	before    string   // fingerprint of the last item as the agent sent it
	approves  []string // labels of the MCP servers of which the agent approves calls
	offers    Offers   // the tools that it offers, nil while they have not been read
}

// RequestSchema are the fields of requests. A request for a response by its id has none.
var RequestSchema = &intercept.RequestSchema{API: "Responses", Fields: append([]string{
	"input", "model", "stream", "store", "background", "tools", "tool_choice", "prompt", "previous_response_id", "conversation", "metadata", "user", "prompt_cache_key",
}, intercept.HostedFields...), Marks: []string{toolsMark, approvalResponse}, Conversation: []string{
	"input", "instructions", "prompt", "previous_response_id", "conversation", "model", "stream", "background", "tools", "tool_choice", "text",
}, Outline: inputOutline}

// conversationSchema are the fields of requests for a new conversation.
var conversationSchema = &intercept.RequestSchema{API: "Conversations", Fields: []string{"items", "metadata"}, Marks: RequestSchema.Marks, Conversation: []string{"items", "metadata"}, Outline: inputOutline}

var inputOutline = outline.Schema{
	Beginning: []string{"system", "developer"}, ToolTypes: []string{"function", "custom", "local_shell", "apply_patch", ""},
}

// The marks of tools and approvals in the items of an input.
const (
	toolsMark        = "tools"
	approvalResponse = "mcp_approval_response"
)

// AcceptRequest reads a request strictly.
func AcceptRequest(e intercept.Envelope) (r *Request, err error) {
	r = &Request{After: -1}
	r.Operation, r.ID, _, _ = Find(e.Method, e.Path)
	if r.Operation == Retrieve {
		if e.Query, r.After, err = startingAfter(e.Query); err != nil {
			return nil, err
		}
	}
	r.envelope = e
	if (r.ID != "" || r.Operation == converse) && len(bytes.TrimSpace(e.Body)) == 0 {
		e.Body = []byte("{}")
	}
	schema := RequestSchema
	if r.Operation == converse {
		schema = conversationSchema
	}
	if err = r.Accept(schema, e); err != nil {
		return r, err
	}
	readInput(r)
	if r.May(approvalResponse) {
		r.approves = r.input.approvals()
	}
	return r, nil
}

// readInput takes the input from the body. A text is a message of the user.
func readInput(r *Request) {
	field := r.Field(r.Operation.history())
	r.input = inputOf(field)
	if len(field) > 0 && field[0] == '"' {
		r.Authors.Users, r.Authors.First, r.Authors.Last = 1, field, field
	}
}

// startingAfter removes starting_after from a query: upstream sends the whole stream, so
// that heldcall sees every call in it, and the agent gets the events after that number.
func startingAfter(query string) (rest string, after int64, err error) {
	after = -1
	var parts []string
	for part := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(part, "=")
		if plain, err := url.QueryUnescape(name); (err == nil && plain != "starting_after") || part == "" {
			parts = append(parts, part)
			continue
		}
		n, err := strconv.ParseUint(value, 10, 31)
		if err != nil {
			return "", 0, &intercept.Error{Code: intercept.CodeBadRequest, Reason: "starting_after is not a sequence number"}
		}
		after = int64(n)
	}
	return strings.Join(parts, "&"), after, nil
}

// Envelope implements [intercept.Request].
func (r *Request) Envelope() intercept.Envelope { return r.envelope }

// Info implements [intercept.Request].
func (r *Request) Info() intercept.Info {
	info := intercept.Info{Model: r.Text("model"), Streamed: string(r.Field("stream")) == "true", Session: sessionOf(r)}
	for _, id := range []string{r.ID, r.previous(), r.Conversation()} {
		if id != "" {
			info.Refers = append(info.Refers, id)
		}
	}
	if r.Operation == Retrieve {
		query, _ := url.ParseQuery(r.envelope.Query) // upstream refuses a malformed one
		info.Streamed = query.Get("stream") == "true"
	}
	if info.Session == "" {
		info.Opening = r.Opening()
	}
	return info
}

// previous is the response that the request continues, by the id that the agent knows.
func (r *Request) previous() string {
	if r.Known.Alias != "" {
		return r.Known.Alias
	}
	return r.Text("previous_response_id")
}

// Conversation is the id of the conversation that the request continues, "" for none.
func (r *Request) Conversation() string {
	return wire.ConversationID(gjson.ParseBytes(r.Field("conversation")))
}

// Unstored reports a request whose answer upstream must not keep.
func (r *Request) Unstored() bool { return string(r.Field("store")) == "false" }

// sessionOf returns the id of the conversation, from the fields in which agents send one.
func sessionOf(r *Request) string {
	metadata := gjson.ParseBytes(r.Field("metadata"))
	for _, key := range []string{"session_id", "conversation_id", "thread_id"} {
		if v := metadata.Get(key); v.Type == gjson.String && v.Str != "" {
			return v.Str
		}
	}
	if id := r.Conversation(); id != "" {
		return id
	}
	return r.Text("prompt_cache_key")
}

// Opening is the first message of the user, with the user it is for: it stays the same
// in a conversation that has no id.
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

// Task implements [intercept.Request]: the user's last message and its number, and the
// response before it where the agent does not repeat that.
func (r *Request) Task() string {
	return strconv.Itoa(r.Authors.Users) + "\n" + r.previous() + "\n" + r.LastUser()
}

// Begins implements [intercept.Request].
func (r *Request) Begins() bool {
	return r.Operation == create && r.previous() == "" && r.Conversation() == "" && !r.Authors.Others
}

// SetBody implements [intercept.Request].
func (r *Request) SetBody(body []byte) error {
	before := r.Ending()
	e := r.envelope
	e.Body = body
	err := r.ParsedRequest.SetBody(body)
	if err == nil {
		r.envelope, r.before, r.offers = e, before, nil
		readInput(r)
	}
	return err
}

// Ending is the fingerprint of the item that the agent's request ends with.
func (r *Request) Ending() string {
	if r.before == "" {
		r.before = r.input.ending()
	}
	return r.before
}

// Made implements [intercept.Request].
func (r *Request) Made() string {
	return intercept.MadeBy(r.input.calls(), r.previous(), r.Conversation())
}

// ForcedTools implements [intercept.Request].
func (r *Request) ForcedTools() []string {
	return intercept.ForcedBy(gjson.ParseBytes(r.Field("tool_choice")), gjson.ParseBytes(r.Field("tools")))
}
