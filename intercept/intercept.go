// Package intercept is the wire: calls in, bytes out. An [Answer] reads the answers of
// upstream to one request and decides which bytes reach the agent, when, and what follows
// from the rulings on its calls. A dialect gives it a [Codec], which decodes, rewrites
// and renders.
//
// Read this file (what a dialect, a request, a call and a ruling are), codec.go and
// unit.go, then answer.go (an answer from its first byte to its end), part.go and filter.go
// (whether a part of a stream may leave), template.go (events of a known form) and
// resolve.go (what follows from the rulings). body.go, payload.go and hold.go split bodies
// and hold their parts; fingerprint.go and match.go find an answer in the history of a
// later request.
//
// The package and its dialects are sans-I/O: no goroutine, clock, socket or store is in
// them, so every promise about the wire can be fuzzed in a loop.
package intercept

import (
	"fmt"
	"net/http"
)

// Dialect is one wire API. Implementations are stateless and safe for
// concurrent use.
type Dialect interface {
	// Name is the dialect's name in requests, events and metrics.
	Name() string
	// Gates reports whether this route carries calls that the dialect
	// intercepts, and how it is spelt upstream: letter case does not get a call
	// past. The path is normalised and begins after the upstream's prefix.
	Gates(method, path string) (canonical string, ok bool)
	// Routes lists one method and path for each gated route, for the canary.
	Routes() []Route
	// Request reads an agent's request, whose path is canonical. The error is an
	// [*Error] with code bad_request.
	Request(Envelope) (Request, error)
	// SafeError reports whether the body of an answer that is no success can hold
	// no call, so that it may go on unread.
	SafeError(body []byte) bool
	// Matches reports whether a request that no route was found for, or that could
	// not be read, seems to come from a client of this dialect. The path is as the
	// client sent it; has reports whether there is a header of a name.
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
	// Info is what the rest of heldcall needs to know of the request.
	Info() Info
	// LastUser is the text of the last message that the user wrote.
	LastUser() string
	// Task is a text that stays the same until the user speaks again.
	Task() string
	// Begins reports whether the request begins a conversation: the model has said
	// nothing in it.
	Begins() bool
	// Tool looks up what the request tells the model about a tool.
	Tool(name string) (Tool, bool)
	// Hosted lists the tools that the request offers and that the provider runs
	// itself: their calls cannot be held, so policy judges the offer.
	Hosted() []HostedTool
	// OffersTools reports whether the request offers the model any tool, so that its
	// answer may have calls.
	OffersTools() bool
	// RequireApproval changes the offer of hosted tools that run without being
	// asked about, where the wire has a word for it, so that each call of them has
	// to be approved; it returns how many it changed.
	RequireApproval() (changed int)
	// Splice puts hidden turns back where the agent's history shows their
	// visible side, and returns how many it found. Without any the request's
	// body stays the bytes that it was.
	Splice(records [][]byte) (spliced int)
	// Placements lists the answers of the agent's history that Splice has put something
	// back into.
	Placements() []Placement
	// MadeBy is a fingerprint of the ids that upstream gave the calls and answers of the
	// agent's history. It is "" if another conversation could have the same ids.
	Made() string
	// Forced reports that the request leaves the model no choice but one tool.
	Forced() bool
	// OneTimeApprovals lists what Splice has put in that only one request may use. Whoever
	// cannot use it, because another request has, gives Splice the record of that
	// beside the others.
	OneTimeApprovals() []OneTimeApproval
	// Before lists requests that have to succeed before this one is sent: what it
	// asks for, done to what upstream keeps and the agent does not know of.
	Before() []Envelope
	// Envelope is what goes upstream: the agent's request, or what Splice and
	// RequireApproval made of it.
	Envelope() Envelope
	// Codec returns what the dialect knows of the answers to this request, for
	// [NewAnswer].
	Codec(Limits) Codec
}

// Info is what a request says of itself.
type Info struct {
	Model    string
	Streamed bool
	// Session identifies the conversation as far as the body names one; where it
	// names none, Opening is its first user message.
	Session string
	Opening string
	// Refers are the provider's ids of the answers or conversations that the
	// request goes on from or asks for. What was hidden in them is kept under
	// these ids, whatever session a request belongs to.
	Refers []string
}

// OneTimeApproval is the use of something that was hidden and may be used once.
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

// Limits bound one answer.
type Limits struct {
	// Pass reports whether a tool is allowed by its name alone, so that the
	// fragments of a call of it need not be buffered. It is asked once for each
	// such call, before its first byte leaves. Nil: none is.
	Pass func(Call) bool
	// MaxBytes bounds what is buffered of one answer.
	MaxBytes int
	// MaxContinuations bounds how often the model is told of denials within one
	// choice of an answer.
	MaxContinuations int
	// TurnID makes up ids where upstream gave none, so that they are the same
	// each time.
	TurnID string
}

// Call is one complete tool call of an answer.
type Call struct {
	ID        string // as upstream gave it, may be empty or repeat
	Name      string
	Arguments string // the exact text the model wrote
	FreeText  bool   // Arguments is free text by contract, not JSON
	// Ambiguous says, a sentence each, why clients may read this call in
	// different ways. Such a call is never allowed without asking.
	Ambiguous []string
	// Flags are sentences for the reviewer that do not change the verdict.
	Flags []string
	// ReadOnly says that the wire has no way to change the arguments: the call is
	// released or denied as it is.
	ReadOnly bool
	// Hosted is the [HostedTool.Name] of the MCP server at which the provider will
	// run the call, "" where the agent runs it.
	Hosted string
}

// Action is what becomes of a call. The zero value denies.
type Action int

// The fates of a call.
const (
	Deny Action = iota
	Release
	Edit
	Abort // of the whole run
)

// Ruling is the verdict on one call.
type Ruling struct {
	Action    Action
	Arguments string // with Edit: the arguments that replace the model's
	// ModelMessage is what the model reads: with Deny the denial, with Edit the note
	// that the arguments were changed. With Abort it is the agent who reads it.
	ModelMessage string
	// UserMessage, with Deny, is what the agent reads where the answer would otherwise go on
	// after the denial: then it ends. "": it goes on.
	UserMessage string
}

// UserMessage is what the agent reads at the end of an answer that does not go on although
// calls of it were denied: what one of the rulings says, or "".
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
	HeartbeatEvent                    // an event that says nothing, for clients that time a stream by its events
	HeartbeatDelta                    // the same with a place for something said, for clients that read it in each event
)

// Resolution is what follows from the rulings.
type Resolution struct {
	Bytes []byte    // what the agent gets now
	Next  *Envelope // the request that continues the answer, nil when it is complete
	// Hidden are the records of what the agent will not see, for
	// [Request.Splice] of its later requests: all of this answer so far, in the
	// same order each time. They must be durable before Bytes go out.
	Hidden [][]byte
	// Refers are the provider's ids by which later requests may go on from this
	// answer or ask for it, as in [Info]: Hidden is kept under each of them too.
	Refers []string
	// AnswerRecord is a record for [Request.Splice] of a request for this same answer,
	// where nothing is hidden: it is kept under each of Refers only, the last one
	// in place of those before. Nil: there is nothing to remember.
	AnswerRecord []byte
}

// Code names an error that heldcall answers to an agent.
type Code string

// The codes, with the status each has in [Error.Status].
const (
	CodeBadRequest          Code = "bad_request"
	CodeRunAborted          Code = "run_aborted"
	CodeHostedToolRefused   Code = "hosted_tool_refused"
	CodeRequestTooLarge     Code = "request_too_large"
	CodeRouteNotGated       Code = "route_not_gated"
	CodeUpstreamUnreachable Code = "upstream_unreachable"
	CodeUpstreamCut         Code = "upstream_cut"
	CodeAnswerNotUnderstood Code = "answer_not_understood"
	CodeStoreUnavailable    Code = "store_unavailable"
	CodeShuttingDown        Code = "shutting_down"
	CodeOverloaded          Code = "overloaded"
)

// Error is an error for the agent, rendered in its dialect's shape. Its text
// never quotes what upstream or the model wrote.
type Error struct {
	Code   Code
	Reason string // what is wrong and what to do, for a person
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

// Status is the HTTP status that goes with the error. None is a status that SDKs
// retry as a refusal (408, 409, 422, 429).
func (e *Error) Status() int {
	if e.HTTP != 0 {
		return e.HTTP
	}
	switch e.Code {
	case CodeBadRequest:
		return http.StatusBadRequest
	case CodeRunAborted, CodeHostedToolRefused:
		return http.StatusForbidden
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

// NotUnderstood is the error for an answer whose bytes could carry a call and
// cannot be read with certainty. The reason must not quote the answer.
func NotUnderstood(format string, args ...any) *Error {
	return &Error{Code: CodeAnswerNotUnderstood, Reason: "the upstream's answer is not understood and none of it is released: " + fmt.Sprintf(format, args...)}
}
