// Package messages is the Messages dialect: streamed and whole answers of Anthropic's
// API and of the servers that imitate it. It is one of several dialects.
//
// An answer is an array of content blocks; a block of type tool_use is a call. Read
// event.go and block.go (the contents of one payload), content.go and blocks.go (the calls
// and blocks that the events build), extras.go (what is released beside a call, and how events are written),
// body.go and batch.go (one upstream body), answer.go (the codec), rewrite.go and
// canonical.go (the bytes that change) and resolve.go (the outcome of the rulings).
//
// The request files read the agent's request: what it contains and offers, and how it is
// extended after a denial; thread.go is about conversations that upstream keeps. The history
// files restore in it what was hidden from the agent in earlier answers: history_record.go
// (the record of an answer), history_splice.go (what it adds to an [intercept.History]),
// history_blocks.go (the content of a message) and history_results.go.
package messages

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
)

// Dialect implements [intercept.Dialect].
type Dialect struct{}

// Name implements [intercept.Dialect].
func (Dialect) Name() string { return "messages" }

// Gates implements [intercept.Dialect]. Requests that count tokens have the contents of
// those for answers, and no calls in their answers. Batches are not gated.
func (Dialect) Gates(method, path string) (canonical string, ok bool) {
	if method != http.MethodPost {
		return "", false
	}
	for _, end := range []string{route, route + counting} {
		if canonical, ok = intercept.Canonical(path, end); ok && !isOpenAI(canonical[:len(canonical)-len(end)]) {
			return canonical, true
		}
	}
	return "", false
}

// isOpenAI reports whether a path ends in a thread or a stored completion of OpenAI's
// API, whose messages are another route.
func isOpenAI(path string) bool {
	segments := strings.Split(path, "/")
	if len(segments) < 2 {
		return false
	}
	owner := segments[len(segments)-2]
	return strings.EqualFold(owner, "threads") || strings.EqualFold(owner, "completions")
}

// The route of answers, and the end of the one that counts tokens.
const (
	route    = "/messages"
	counting = "/count_tokens"
)

// Routes implements [intercept.Dialect].
func (Dialect) Routes() []intercept.Route {
	return []intercept.Route{{Method: http.MethodPost, Path: route}, {Method: http.MethodPost, Path: route + counting}}
}

// Request implements [intercept.Dialect].
func (Dialect) Request(e intercept.Envelope) (intercept.Request, error) { return parseRequest(e) }

// Matches implements [intercept.Dialect]: Anthropic's clients send a version in each
// request.
func (Dialect) Matches(path string, has func(string) bool) bool {
	prefix, _, found := strings.Cut(strings.ToLower(path), route)
	return has("anthropic-version") || (found && !isOpenAI(prefix))
}

// SafeError implements [intercept.Dialect]. An error body passes unless it could be an
// answer with calls. The text of an error message alone does not stop it.
func (Dialect) SafeError(body []byte) bool {
	lower := bytes.ToLower(body)
	couldAnswer := (bytes.Contains(lower, []byte("content")) && bytes.Contains(lower, []byte("tool_use"))) || bytes.Contains(lower, []byte(`\u00`))
	if !couldAnswer && !strictjson.MayHoldCall(body) {
		return true
	}
	if strictjson.Strict(body) != nil {
		return !couldAnswer
	}
	m, err := decodeWhole(string(body))
	if err != nil {
		return !couldAnswer
	}
	return !slices.ContainsFunc(m.blocks, func(o opening) bool { return o.role == roleCall })
}

// Error implements [intercept.Dialect]: {"type":"error","error":{"type","message","code"}}.
func (Dialect) Error(e *intercept.Error) []byte { return errorBody(e) }

func errorBody(e *intercept.Error) []byte {
	details := ""
	if e.Code == intercept.CodeThreadNotFound { // as clients read it, which then send the whole conversation
		details = `,"details":{"error_code":"thread_not_found"}`
	}
	return fmt.Appendf(nil, `{"type":"error","error":{"type":%s,"message":%s,"code":%s%s}}`,
		strictjson.Quote(errorType(e.Code)), strictjson.Quote("heldcall: "+e.Reason), strictjson.Quote(string(e.Code)), details)
}

// errorType returns a type that clients know. It is never overloaded_error, after which
// SDKs try again.
func errorType(code intercept.Code) string {
	switch code {
	case intercept.CodeBadRequest, intercept.CodeRouteNotGated:
		return "invalid_request_error"
	case intercept.CodeClientRemoved:
		return "authentication_error"
	case intercept.CodeRunAborted, intercept.CodeHostedToolRefused, intercept.CodeForeignHost, intercept.CodeForeignOrigin:
		return "permission_error"
	case intercept.CodeThreadNotFound:
		return "not_found_error"
	case intercept.CodeRequestTooLarge:
		return "request_too_large"
	}
	return "api_error"
}

// Canary implements [intercept.Dialect].
func (Dialect) Canary(route intercept.Route, tool string, streamed bool) (request intercept.Envelope, answer []byte) {
	request = intercept.Envelope{Method: route.Method, Path: route.Path, Body: fmt.Appendf(nil, `{"model":"canary","max_tokens":1,"stream":%t,"messages":[{"role":"user","content":"canary"}]}`, streamed)}
	const message = `{"id":"canary","type":"message","role":"assistant","model":"canary","content":[%s],"stop_reason":%s,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}`
	call := fmt.Sprintf(`{"type":"tool_use","id":"toolu_canary","name":%s,"input":{}}`, strictjson.Quote(tool))
	if !streamed {
		return request, fmt.Appendf(nil, message, call, `"tool_use"`)
	}
	return request, upstreamBody([]intercept.Event{
		{Name: "message_start", Data: `{"type":"message_start","message":` + fmt.Sprintf(message, "", "null") + `}`},
		{Name: "content_block_start", Data: `{"type":"content_block_start","index":0,"content_block":` + call + `}`},
		{Name: "content_block_stop", Data: `{"type":"content_block_stop","index":0}`},
		{Name: "message_delta", Data: `{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":1}}`},
		{Name: "message_stop", Data: `{"type":"message_stop"}`},
	})
}
