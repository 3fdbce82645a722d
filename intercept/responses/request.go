package responses

import (
	"bytes"
	"cmp"
	"net/url"
	"strconv"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/outline"
)

// request is an agent's request. It implements [intercept.Request].
type request struct {
	intercept.ParsedRequest
	operation operation
	id        string             // of the response that it asks for, "" where it makes one
	after     int64              // the agent has the events up to this number, -1 for none
	memory    memory             // what was remembered of what it continues
	outgoing  intercept.Envelope // the request to upstream
	input     historyInput
	again     bool     // it is for an answer that the agent may ask for again: of a response by its id, or in the background
	approves  []string // labels of the MCP servers of which the agent approves calls
	offers    offers   // the tools that it offers, nil while they have not been read
}

// requestSchema are the fields of requests. A request for a response by its id has none.
var requestSchema = &intercept.RequestSchema{API: "Responses", Fields: append([]string{
	"input", "model", "stream", "store", "background", "tools", "tool_choice", "prompt", "previous_response_id", "conversation", "metadata", "user", "safety_identifier", "prompt_cache_key", "instructions",
}, intercept.HostedFields...), Marks: []string{toolsMark, approvalResponse}, History: "input", Key: inputKey, AgentItem: isAgents, Outline: inputOutline}

// conversationSchema are the fields of requests for a new conversation.
var conversationSchema = &intercept.RequestSchema{API: "Conversations", Fields: []string{"items", "metadata"}, Marks: requestSchema.Marks, History: "items", Key: inputKey, AgentItem: isAgents, Outline: inputOutline}

var inputOutline = outline.Schema{
	Beginning: []string{"system", "developer"}, ToolTypes: []string{"function", "custom", "local_shell", "apply_patch", ""},
	Members: []string{"type", "id", "call_id", "approval_request_id"}, Result: resultOf,
}

// The marks of tools and approvals in the items of an input.
const (
	toolsMark        = "tools"
	approvalResponse = "mcp_approval_response"
)

// parseRequest reads a request strictly.
func parseRequest(e intercept.Envelope) (r *request, err error) {
	r = &request{after: -1}
	r.operation, r.id, _, _ = findRoute(e.Method, e.Path)
	if r.operation == opRetrieve {
		if e.Query, r.after, err = startingAfter(e.Query); err != nil {
			return nil, err
		}
	}
	r.outgoing = e
	if (r.id != "" || r.operation == opConverse) && len(bytes.TrimSpace(e.Body)) == 0 {
		e.Body = []byte("{}")
	}
	schema := requestSchema
	if r.operation == opConverse {
		schema = conversationSchema
	}
	if err = r.Accept(schema, e); err != nil {
		return r, err
	}
	r.again = r.id != "" || string(r.Field("background")) == "true"
	r.readInput()
	if r.May(approvalResponse) {
		r.approves = r.input.approvals()
	}
	return r, nil
}

// Codec implements [intercept.Request].
func (r *request) Codec(limits intercept.Limits) intercept.Codec { return newAnswer(r, limits) }

// readInput takes the input from the body. A text is a message of the user.
func (r *request) readInput() {
	field := r.Field(r.operation.history())
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
func (r *request) Envelope() intercept.Envelope { return r.outgoing }

// Info implements [intercept.Request].
func (r *request) Info() intercept.Info {
	info := intercept.Info{Model: r.Text("model"), Streamed: string(r.Field("stream")) == "true", Session: r.session(), Users: r.Authors.Users, Fetches: r.id != "", Auxiliary: r.id != "" || r.operation.isAuxiliary()}
	for _, id := range []string{r.id, r.previous(), r.conversation()} {
		if id != "" {
			info.Refers = append(info.Refers, id)
		}
	}
	if r.operation == opRetrieve {
		query, _ := url.ParseQuery(r.outgoing.Query) // upstream refuses a malformed one
		info.Streamed = query.Get("stream") == "true"
	}
	return info
}

// previous is the response that the request continues, by the id that the agent knows.
func (r *request) previous() string {
	if r.memory.alias != "" {
		return r.memory.alias
	}
	return r.Text("previous_response_id")
}

// conversation is the id of the conversation that the request continues, "" for none.
func (r *request) conversation() string {
	return conversationID(r.Value("conversation"))
}

// unstored reports a request whose answer upstream must not keep, and does not keep for the connection.
func (r *request) unstored() bool {
	return string(r.Field("store")) == "false" && !r.outgoing.Connected
}

// session returns the id of the conversation, from the fields in which agents send one.
func (r *request) session() string {
	return cmp.Or(r.MetadataSession(), r.conversation(), r.CacheSession())
}

// Task implements [intercept.Request]. It has the response before it where the agent does not
// repeat that: such an agent never has the whole history, so before does not count.
func (r *request) Task(int) intercept.UserText {
	return intercept.UserText{Prefix: strconv.Itoa(r.Authors.Users) + "\n" + r.previous() + "\n", Content: r.Authors.Last}
}

// Begins implements [intercept.Request].
func (r *request) Begins() bool {
	return r.operation == opCreate && r.previous() == "" && r.conversation() == "" && !r.Authors.Others
}

// SetBody implements [intercept.Request].
func (r *request) SetBody(body []byte) error {
	e := r.outgoing
	e.Body = body
	err := r.ParsedRequest.SetBody(body)
	if err == nil {
		r.outgoing, r.offers = e, nil
		r.readInput()
	}
	return err
}

// Made implements [intercept.Request].
func (r *request) Made() string {
	return intercept.MadeBy(r.input.calls(), r.id, r.previous(), r.conversation())
}
