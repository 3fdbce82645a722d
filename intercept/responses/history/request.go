// Package history reads the agent's requests to the Responses API and puts back into
// them what was hidden from the agent in earlier answers.
//
// Read route.go and request.go (what a request asks for), offer.go (the tools that it
// offers), record.go (what is remembered of an answer), splice.go, echo.go and weave.go
// (how an answer is found in a history and made whole), approval.go (approvals that only
// one request may use) and recall.go (answers that are asked for again).
package history

import (
	"bytes"
	"net/url"
	"strconv"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/responses/wire"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// Request is an agent's request.
type Request struct {
	intercept.ParsedRequest
	Verb     verb
	ID       string             // of the response that it asks for, "" where it makes one
	envelope intercept.Envelope // what goes upstream
	After    int64              // the agent has the events up to this number, -1 for none
	before   string             // fingerprint of the last item as the agent sent it
	Known    knowledge          // what was remembered of what it goes on from
	approves []string           // labels of the MCP servers of which the agent approves calls
	offers   []Offer            // the tools that it offers, nil while nobody has looked
	history  []gjson.Result     // the items of its input, nil while nobody has looked
	own      map[string]bool    // their identities, nil while nobody has asked
}

// RequestSchema is what requests have in common. One that asks for a response by its id
// has no fields.
var RequestSchema = &intercept.RequestSchema{API: "Responses", Fields: append([]string{
	"input", "model", "stream", "store", "background", "tools", "tool_choice", "prompt", "previous_response_id", "conversation", "metadata", "user", "prompt_cache_key",
}, intercept.HostedFields...), Marks: []string{toolsMark, approvalResponse}}

// What stands for tools and approvals in the items of an input.
const (
	toolsMark        = "tools"
	approvalResponse = "mcp_approval_response"
)

// AcceptRequest reads a request strictly.
func AcceptRequest(e intercept.Envelope) (*Request, error) {
	r := &Request{After: -1}
	r.Verb, r.ID, _, _ = Find(e.Method, e.Path)
	if r.Verb == Retrieve {
		if err := r.rewind(&e); err != nil {
			return nil, err
		}
	}
	r.envelope = e
	if r.ID != "" && len(bytes.TrimSpace(e.Body)) == 0 {
		e.Body = []byte("{}")
	}
	var err error
	if r.ParsedRequest, err = RequestSchema.Accept(e); err == nil {
		r.approves = r.approvals()
	}
	return r, err
}

// rewind takes starting_after out of a query: upstream tells the whole stream, so
// that every call in it is seen, and the agent gets what it lacks.
func (r *Request) rewind(e *intercept.Envelope) error {
	var rest []string
	for _, part := range strings.Split(e.Query, "&") {
		name, value, _ := strings.Cut(part, "=")
		if plain, err := url.QueryUnescape(name); (err == nil && plain != "starting_after") || part == "" {
			rest = append(rest, part)
			continue
		}
		n, err := strconv.ParseUint(value, 10, 31)
		if err != nil {
			return &intercept.Error{Code: intercept.CodeBadRequest, Reason: "starting_after is not a sequence number"}
		}
		r.After = int64(n)
	}
	e.Query = strings.Join(rest, "&")
	return nil
}

// Envelope implements [intercept.Request].
func (r *Request) Envelope() intercept.Envelope { return r.envelope }

// Info implements [intercept.Request].
func (r *Request) Info() intercept.Info {
	info := intercept.Info{Model: r.Text("model"), Streamed: string(r.Field("stream")) == "true", Session: r.session()}
	for _, id := range []string{r.ID, r.previous(), r.Conversation()} {
		if id != "" {
			info.Refers = append(info.Refers, id)
		}
	}
	if r.Verb == Retrieve {
		query, _ := url.ParseQuery(r.envelope.Query) // what cannot be read is for upstream to refuse
		info.Streamed = query.Get("stream") == "true"
	}
	if info.Session == "" {
		info.Opening = r.Opening()
	}
	return info
}

// Text is the value of a field that is a string.
func (r *Request) Text(field string) string { return gjson.ParseBytes(r.Field(field)).String() }

// previous is the response that the request goes on from, by the id that the
// agent knows it by.
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

// Background reports a request whose answer upstream makes without waiting for a reader.
func (r *Request) Background() bool { return string(r.Field("background")) == "true" }

// session looks for an id of the conversation in the fields that agents use for
// one.
func (r *Request) session() string {
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

// items are those of the request's input. A text is a message of the user's.
func (r *Request) items() []gjson.Result {
	if r.history == nil {
		r.history = append([]gjson.Result{}, gjson.ParseBytes(r.input()).Array()...)
	}
	return r.history
}

func (r *Request) input() []byte {
	raw := r.Field("input")
	switch {
	case len(raw) > 0 && raw[0] == '[':
		return raw
	case len(raw) > 0 && raw[0] == '"':
		return []byte(`[{"type":"message","role":"user","content":` + string(raw) + "}]")
	}
	return []byte("[]")
}

// Opening is the first message of the user, with the user it is for: what stays
// the same over a conversation that names itself nowhere.
func (r *Request) Opening() string {
	first := ""
	gjson.ParseBytes(r.input()).ForEach(func(_, item gjson.Result) bool {
		if item.Get("role").Str != "user" {
			return true
		}
		first = r.Text("user") + "\n" + strictjson.ContentText(item.Get("content"))
		return false
	})
	return first
}

// LastUser implements [intercept.Request].
func (r *Request) LastUser() string {
	_, last := r.users()
	return last
}

// Task implements [intercept.Request]: the user's last message and its number,
// and what it follows where the agent does not repeat that.
func (r *Request) Task() string {
	n, last := r.users()
	return strconv.Itoa(n) + "\n" + r.previous() + "\n" + last
}

// Begins implements [intercept.Request].
func (r *Request) Begins() bool {
	if r.Verb != create || r.previous() != "" || r.Conversation() != "" {
		return false
	}
	for _, item := range r.items() {
		switch item.Get("role").Str {
		case "user", "system", "developer":
		default:
			return false
		}
	}
	return true
}

// users counts the user's messages, and returns the last.
func (r *Request) users() (n int, last string) {
	for _, item := range r.items() {
		if item.Get("role").Str == "user" {
			n++
			last = strictjson.ContentText(item.Get("content"))
		}
	}
	return n, last
}

// rewrite gives the request another body.
func (r *Request) rewrite(body []byte) error {
	before := r.Ending()
	e := r.envelope
	e.Body = body
	again, err := RequestSchema.Accept(e)
	if err == nil {
		r.ParsedRequest, r.envelope, r.before, r.offers, r.history, r.own = again, e, before, nil, nil, nil
	}
	return err
}

// Ending is the fingerprint of the item that the agent's request ends with.
func (r *Request) Ending() string {
	if items := r.items(); r.before == "" && len(items) > 0 {
		r.before = fingerprint(items[len(items)-1])
	}
	return r.before
}

// fingerprint identifies an item of a history by what it says.
func fingerprint(item gjson.Result) string {
	if role := item.Get("role").Str; role != "" {
		return intercept.Fingerprint(role, strictjson.ContentText(item.Get("content")))
	}
	return intercept.Fingerprint(item.Get("type").Str, item.Get("call_id").Str, item.Get("output").Raw)
}

// Made implements [intercept.Request].
func (r *Request) Made() string {
	var calls []intercept.CallFingerprint
	for _, item := range r.items() {
		if made(item) {
			calls = append(calls, intercept.CallFingerprint{ID: item.Get("call_id").Str, Name: item.Get("name").Str})
		}
	}
	return intercept.MadeBy(calls, r.previous(), r.Conversation())
}

// Forced implements [intercept.Request].
func (r *Request) Forced() bool {
	return intercept.ForcedBy(gjson.ParseBytes(r.Field("tool_choice")), len(gjson.ParseBytes(r.Field("tools")).Array()))
}
