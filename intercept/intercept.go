// Package intercept is the wire: calls in, bytes out. An [Answer] reads the answers of
// upstream to one request, decides which events reach the agent and when, and applies the
// rulings on its calls. A dialect provides a [Codec], which decodes, rewrites and renders
// events; a [Frame] is how they travel.
//
// Read this file (what a dialect, a request, a call and a ruling are), codec.go and
// unit.go, then answer.go (an answer from its first byte to its end), part.go (a part of a
// stream on its way), template.go (events of a known form), release.go (calls that leave
// before the end of the answer) and resolve.go (the outcome of the rulings). frame.go, stream.go (server-sent events), body.go
// and hold.go split bodies and hold their parts; fingerprint.go and match.go find an answer in the history of a
// later request.
//
// The package and its dialects are sans-I/O: they use no goroutine, clock, socket or store,
// so every promise about the wire can be fuzzed in a loop.
package intercept

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/heldcall/heldcall/intercept/toolresult"
)

// Dialect is one wire API. Implementations are stateless and safe for
// concurrent use.
type Dialect interface {
	// Name is the dialect's name in requests, events and metrics.
	Name() string
	// Gates reports whether the dialect intercepts the calls of a route, in any letter
	// case, and returns its spelling upstream. The path is normalised and begins after
	// the upstream's prefix.
	Gates(method, path string) (canonical string, ok bool)
	// Routes lists one method and path for each gated route, for the canary.
	Routes() []Route
	// Request reads an agent's request, whose path is canonical. The error is an
	// [*Error] with code bad_request.
	Request(Envelope) (Request, error)
	// ResultCall reads the call of a [toolresult.Content]: its id, name and arguments.
	ResultCall(raw string) Call
	// SafeError reports whether the body of an unsuccessful answer can contain no call,
	// so that it may pass unread.
	SafeError(body []byte) bool
	// Matches reports whether a request without a known route, or an unreadable one,
	// seems to come from a client of this dialect. The path is as the client sent it;
	// has reports whether there is a header of a name.
	Matches(path string, has func(header string) bool) bool
	// Error renders e as the body of a whole answer.
	Error(e *Error) []byte
	// Canary is a request for one of Routes and the answer of an upstream that
	// calls a tool with the given name, streamed or whole.
	Canary(route Route, tool string, streamed bool) (request Envelope, answer []byte)
}

// Route is a method and a path after the upstream's prefix.
type Route struct{ Method, Path string }

// Request is one agent request, read strictly.
type Request interface {
	// Info describes the request for the rest of heldcall.
	Info() Info
	// LastUser is the text of the last message that the user wrote.
	LastUser() string
	// Opening is the first message of the user, with the user whom it is for. It identifies a
	// conversation that has no id. It is the zero value without such a message.
	Opening() UserText
	// Task is the last message that the user wrote, with its number: it is the same until the user
	// writes again. Before is how many messages the user wrote before those of the request, in the
	// answer that it continues; 0 where that is not known.
	Task(before int) UserText
	// Begins reports whether the request begins a conversation: it has no message of the
	// model.
	Begins() bool
	// Tool returns the definition of a tool in the request.
	Tool(name string) (Tool, bool)
	// ToolNames are the names of the offered tools whose calls reach the agent.
	ToolNames() ToolNames
	// Hosted lists the offered tools that the provider runs itself: their calls cannot be
	// held, so policy judges the offer.
	Hosted() []HostedTool
	// OffersTools reports whether the request offers any tool, so that the answer may have
	// calls.
	OffersTools() bool
	// Offer adds tools to those that the request offers, at their end, except those whose
	// name a tool of the agent has. A request that offers none gets some only with always.
	// It returns the names of those that it added. Call it before Splice.
	Offer(tools []OfferedTool, always bool) (added []string)
	// RequireApproval changes the offer of hosted tools that run without approval, if the
	// wire has a field for it, so that each call of them has to be approved. It returns
	// how many it changed.
	RequireApproval() (changed int)
	// Splice restores hidden turns at the places of their visible parts in the agent's
	// history, and returns how many it found. If there is none, the body is unchanged.
	Splice(records [][]byte) (spliced int)
	// Placements lists the answers of the agent's history that Splice has changed.
	Placements() []Placement
	// Made is a fingerprint of the ids that upstream gave the calls and answers of the
	// agent's history. It is "" if another conversation could have the same ids.
	Made() string
	// HistoryField is the name of the field of the body with the history.
	HistoryField() string
	// AgentItem reports whether the agent itself made an item of the history and its id.
	AgentItem(item []byte) bool
	// ForcedTools are the names of the tools of which the model must call one, "" for a tool
	// without a name; none if it may call none.
	ForcedTools() []string
	// Results lists the results of calls that are new in the agent's request: those after
	// the last answer of the model. Call it before Splice.
	Results() []ToolResult
	// ResultIDs lists the ids of their calls, "" for a result that names none. For a call of the old
	// form, which has no id, see [UnnamedCallID].
	ResultIDs() []string
	// ResultContents lists the results of calls in the whole history.
	ResultContents() []toolresult.Content
	// SetBody replaces the body by one that differs in the contents of results only.
	SetBody(body []byte) error
	// OneTimeApprovals lists the parts added by Splice that only one request may use. If
	// another request has used one, Splice needs its record besides the others.
	OneTimeApprovals() []OneTimeApproval
	// Before lists requests that must succeed before this one is sent. They apply it to
	// items that upstream keeps and the agent does not know.
	Before() []Envelope
	// Continued reports whether Splice has found how upstream continued a part of the stored answer that
	// the request fetches, after the calls of the part were denied.
	Continued(part string) bool
	// Closing is an answer with a text only, in place of the continuation of an answer that upstream
	// refuses because it no longer has the conversation. Nil: the request has the conversation.
	Closing(streamed bool) []byte
	// Envelope is the request for upstream: the agent's request, with the changes of
	// Splice and RequireApproval.
	Envelope() Envelope
	// Codec returns the codec of the answers to this request, for [NewAnswer].
	Codec(Limits) Codec
}

// Info describes a request.
type Info struct {
	Model    string
	Streamed bool
	// Session is the id of the conversation in the body, "" if it has none.
	Session string
	// Refers are the provider's ids of the answers or conversations that the request
	// continues or retrieves. Their hidden turns are kept under these ids, for requests of
	// any session.
	Refers []string
	// Fetches reports that the request asks for an answer that was made before.
	Fetches bool
	// Auxiliary reports that the model does not answer the request: it counts tokens, or is about an answer that was
	// made before.
	Auxiliary bool
	// ToolsKept reports that upstream keeps the tools of the conversation: the request names none.
	ToolsKept bool
	// Users is the number of messages in the request that the user wrote.
	Users int
}

// OneTimeApproval is the use of a hidden part that may be used once.
type OneTimeApproval struct {
	ID     string // the same for every request that would use it
	Record []byte // for [Request.Splice]: it was used
}

// HostedTool is a tool that the provider runs.
type HostedTool struct {
	Name string // its type (web_search), for a hosted MCP server see [HostedMCP]
	// Asks reports that the provider asks before each call of it.
	Asks bool
}

// Tool is a tool as the agent's request offers it to the model.
type Tool struct {
	Description string
	Parameters  []byte // JSON Schema, nil where none is given
	FreeText    bool   // its input is free text by contract
}

// OfferedTool is a tool that heldcall offers the model beside those of the agent.
type OfferedTool struct {
	Name, Description string
	Parameters        string // JSON Schema
	Strict            string // the same for providers whose strict schemas require each property
}

// Limits bound one answer.
type Limits struct {
	// Offered reports whether a definition is that of a tool that heldcall offered. Upstream
	// may repeat the offer in its answer, and the agent must not see it. Nil: none.
	Offered func(name, description, parameters string) bool
	// Offers reports that tools were added to this very request. Without it Offered counts for
	// answers that were made before only.
	Offers bool
	// Quotes returns what reports whether an error that upstream reports inside an answer quotes
	// what the agent must not see. It may be nil and return nil: none does.
	Quotes func() func(failure []byte) bool
	// MaxBytes bounds the buffered bytes of one answer.
	MaxBytes int
	// MaxCalls bounds the bytes of the input of calls in one body; 0 for no limit.
	MaxCalls int
	// MaxContinuations bounds how often one choice of an answer continues after denials.
	MaxContinuations int
	// TurnID is the base of the ids of calls to which upstream gave none, so that they
	// are the same each time.
	TurnID string
}

// Call is one complete tool call of an answer.
type Call struct {
	ID        string // as upstream gave it, may be empty or repeat
	Name      string
	Arguments string // the exact text the model wrote
	FreeText  bool   // Arguments is free text by contract, not JSON
	// Ambiguous are the reasons, a sentence each, why clients may read this call in
	// different ways. Such a call is never allowed without asking.
	Ambiguous []string
	// Flags are sentences for the reviewer that do not change the verdict.
	Flags []string
	// Subagent is the name of the agent at the provider that makes the call, "" for none: a request may let the
	// provider run several.
	Subagent string
	// ReadOnly reports that the arguments cannot be changed on the wire: the call is
	// released or denied as it is.
	ReadOnly bool
	// Offered reports that [Limits.Offered] holds for the tool, as far as upstream repeats
	// the offer.
	Offered bool
	// Hosted is the [HostedTool.Name] of the MCP server at which the provider will run the
	// call, "" if the agent runs it.
	Hosted string
}

// Action is the result of the ruling on a call. The zero value denies.
type Action int

// The actions.
const (
	Deny Action = iota
	Release
	Edit
	Abort    // of the whole run
	Answered // by heldcall, in place of a run; it is no denial
)

// Ruling is the verdict on one call.
type Ruling struct {
	Action    Action
	Arguments string // with Edit: the arguments that replace the model's
	// Released, with Release or Edit, are the arguments for the agent where those that the
	// model is shown have handles of secrets; "" where they are the same. They are in no
	// record.
	Released string `json:"-"`
	// ModelMessage is the text for the model: with Deny the denial, with Answered the answer,
	// with Edit the note that the arguments were changed. With Abort it is the text for the agent.
	ModelMessage string
	// Free, with Answered, makes the continuation force no call: the model would have to ask
	// again. After a denial it never does.
	Free bool
	// UserMessage, with Deny, is the text for the agent with which the answer ends. If it
	// is "", the answer continues after the denial.
	UserMessage string
}

// UserMessage is the first user message of a denial in the rulings, or "".
func UserMessage(rulings []Ruling) string {
	for _, r := range rulings {
		if r.Action == Deny && r.UserMessage != "" {
			return r.UserMessage
		}
	}
	return ""
}

// Heartbeat is the form of a heartbeat in a stream.
type Heartbeat int

// The forms of a heartbeat.
const (
	HeartbeatComment Heartbeat = iota // an SSE comment
	HeartbeatEvent                    // an event without content, for clients that time a stream by its events
	HeartbeatDelta                    // the same with an empty text, for clients that read a text in each event
)

// Resolution is the outcome of the rulings.
type Resolution struct {
	Bytes []byte    // for the agent
	Next  *Envelope // the request that continues the answer, nil when it is complete
	// Hidden are the records of the turns that the agent does not get, for
	// [Request.Splice] of its later requests: all of this answer, in the same order each
	// time. They must be durable before Bytes go out.
	Hidden [][]byte
	// Refers are the provider's ids by which later requests may continue or retrieve this
	// answer, as in [Info]: Hidden is kept under each of them too.
	Refers []string
	// Threaded reports that the agent sends the whole conversation again if upstream, which keeps it
	// for some minutes, has lost it.
	Threaded bool
	// Lost reports that no request can continue the answer by its id, although upstream keeps
	// conversations: what upstream has is not what the agent got.
	Lost bool
	// AnswerRecord is a record for [Request.Splice] of a request for this same answer, if
	// nothing is hidden. It is kept under each of Refers only, the last one in place of
	// those before. Nil: none is needed.
	AnswerRecord []byte
}

// Code names an error that heldcall answers to an agent.
type Code string

// The codes, with the status each has in [Error.Status].
const (
	CodeBadRequest          Code = "bad_request"
	CodeClientRemoved       Code = "client_removed"
	CodeRunAborted          Code = "run_aborted"
	CodeHostedToolRefused   Code = "hosted_tool_refused"
	CodeResultsUnseen       Code = "results_unseen"
	CodeForeignHost         Code = "foreign_host"
	CodeForeignOrigin       Code = "foreign_origin"
	CodeThreadNotFound      Code = "thread_not_found"
	CodePreviousNotFound    Code = "previous_response_not_found"
	CodeRequestTooLarge     Code = "request_too_large"
	CodeRouteNotGated       Code = "route_not_gated"
	CodeUpstreamUnreachable Code = "upstream_unreachable"
	CodeUpstreamCut         Code = "upstream_cut"
	CodeAnswerNotUnderstood Code = "answer_not_understood"
	CodeStoreUnavailable    Code = "store_unavailable"
	CodeShuttingDown        Code = "shutting_down"
	CodeOverloaded          Code = "overloaded"
)

// Error is an error for the agent, rendered in its dialect's shape. Its text never quotes
// upstream or the model.
type Error struct {
	Code   Code
	Reason string // the mistake and the remedy, for a person
	Err    error  // cause for the log, may be nil
	HTTP   int    // status where it is not that of the code, else 0
}

// Error implements error.
func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Reason, e.Err)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Reason)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Repeatable reports whether a request that failed with the error may succeed when the
// agent repeats it.
func (e *Error) Repeatable() bool {
	switch e.HTTP {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return false // upstream has refused the request itself
	}
	switch e.Code {
	case CodeStoreUnavailable, CodeShuttingDown, CodeOverloaded, CodeUpstreamUnreachable, CodeUpstreamCut:
		return true
	}
	return false
}

// Status is the HTTP status of the error. It is none that SDKs retry (408, 409, 422, 429).
func (e *Error) Status() int {
	if e.HTTP != 0 {
		return e.HTTP
	}
	switch e.Code {
	case CodeBadRequest, CodePreviousNotFound:
		return http.StatusBadRequest
	case CodeClientRemoved:
		return http.StatusUnauthorized
	case CodeRunAborted, CodeHostedToolRefused, CodeResultsUnseen, CodeForeignHost, CodeForeignOrigin:
		return http.StatusForbidden
	case CodeThreadNotFound:
		return http.StatusNotFound
	case CodeRequestTooLarge:
		return http.StatusRequestEntityTooLarge
	case CodeRouteNotGated:
		return http.StatusNotImplemented
	case CodeStoreUnavailable, CodeShuttingDown, CodeOverloaded:
		return http.StatusServiceUnavailable
	default:
		return http.StatusBadGateway
	}
}

// OpenAI renders the error as the error object of OpenAI's APIs.
func (e *Error) OpenAI() string {
	kind := "heldcall_error"
	if e.Code == CodeBadRequest || e.Code == CodeRequestTooLarge {
		kind = "invalid_request_error"
	}
	return fmt.Sprintf(`{"message":%s,"type":%s,"param":null,"code":%s}`,
		strictjson.Quote("heldcall: "+e.Reason), strictjson.Quote(kind), strictjson.Quote(string(e.Code)))
}

// NotUnderstood is the error for an answer that could contain a call and cannot be read
// with certainty. The reason must not quote the answer.
func NotUnderstood(format string, args ...any) *Error {
	return &Error{Code: CodeAnswerNotUnderstood, Reason: "the upstream's answer is not understood and nothing more of it is released: " + fmt.Sprintf(format, args...)}
}

// Envelope is one HTTP request as a dialect reads and writes it.
type Envelope struct {
	Method string
	Path   string // normalised, after the upstream's prefix
	Query  string // raw, without the question mark
	Body   []byte
	// Connected reports that the request is one of a connection at which the model API keeps the conversation, also
	// where the request forbids to store it.
	Connected bool `json:",omitempty"`
}

// Canonical returns path with its end in the spelling of route, and whether it ends in
// route in any letter case. The beginning (an Azure deployment) is kept.
func Canonical(path, route string) (canonical string, ok bool) {
	n := len(path) - len(route)
	if n < 0 || !strings.EqualFold(path[n:], route) {
		return "", false
	}
	return path[:n] + route, true
}
