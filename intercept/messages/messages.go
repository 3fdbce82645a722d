// Package messages is the Messages dialect: streamed and whole answers of
// Anthropic's API and of the servers that imitate it.
//
// An answer is an array of content blocks; a block of type tool_use is a call.
// Read the package from event.go and block.go (the contents of one payload) by
// calls.go (what is known of a call), uniform.go (whether all clients read it alike)
// and message.go (what the model said) to batch.go and whole.go (the codec reads),
// rewrite.go, canonical.go and notice.go (the bytes that change), resolve.go and
// continue.go (what follows from the rulings) and hidden.go (what is put back into the
// agent's later requests).
package messages

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
)

// Dialect implements [intercept.Dialect].
type Dialect struct{}

// Name implements [intercept.Dialect].
func (Dialect) Name() string { return "messages" }

// Gates implements [intercept.Dialect]. What stands below the route
// (count_tokens, batches) is not gated by it.
func (Dialect) Gates(method, path string) (canonical string, ok bool) {
	if method != http.MethodPost {
		return "", false
	}
	canonical, ok = intercept.Canonical(path, route)
	if !ok || below(canonical[:len(canonical)-len(route)]) {
		return "", false
	}
	return canonical, true
}

// below reports whether a path ends in a thread or a stored completion of
// OpenAI's API, whose messages are another route.
func below(path string) bool {
	segments := strings.Split(path, "/")
	if len(segments) < 2 {
		return false
	}
	owner := segments[len(segments)-2]
	return strings.EqualFold(owner, "threads") || strings.EqualFold(owner, "completions")
}

const route = "/messages"

// Routes implements [intercept.Dialect].
func (Dialect) Routes() []intercept.Route {
	return []intercept.Route{{Method: http.MethodPost, Path: route}}
}

// Request implements [intercept.Dialect].
func (Dialect) Request(e intercept.Envelope) (intercept.Request, error) {
	r, err := parseRequest(e)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Matches implements [intercept.Dialect]: Anthropic's clients name a version in
// each request.
func (Dialect) Matches(path string, has func(string) bool) bool {
	before, _, found := strings.Cut(strings.ToLower(path), route)
	return has("anthropic-version") || (found && !below(before))
}

// Error implements [intercept.Dialect]: {"type":"error","error":{"type","message","code"}}.
func (Dialect) Error(e *intercept.Error) []byte { return errorBody(e) }

func errorBody(e *intercept.Error) []byte {
	return fmt.Appendf(nil, `{"type":"error","error":{"type":%s,"message":%s,"code":%s}}`,
		strictjson.Quote(errorType(e.Code)), strictjson.Quote("heldcall: "+e.Reason), strictjson.Quote(string(e.Code)))
}

// errorType is the type that clients know. It is never overloaded_error, which
// SDKs take for an invitation to try again.
func errorType(code intercept.Code) string {
	switch code {
	case intercept.CodeBadRequest, intercept.CodeRouteNotGated:
		return "invalid_request_error"
	case intercept.CodeRunAborted, intercept.CodeHostedToolRefused:
		return "permission_error"
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
	for _, e := range []struct{ name, payload string }{
		{"message_start", `{"type":"message_start","message":` + fmt.Sprintf(message, "", "null") + `}`},
		{"content_block_start", `{"type":"content_block_start","index":0,"content_block":` + call + `}`},
		{"content_block_stop", `{"type":"content_block_stop","index":0}`},
		{"message_delta", `{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":1}}`},
		{"message_stop", `{"type":"message_stop"}`},
	} {
		answer = appendEvent(answer, e.name, e.payload)
	}
	return request, answer
}
