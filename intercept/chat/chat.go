// Package chat is the Chat Completions dialect: streamed and whole answers of OpenAI's API
// and of the many compatible servers. It is one of several dialects.
//
// Read the chunk files first (one payload of upstream, decoded strictly), then the request
// and history files (the agent's request, and the messages that were hidden from the agent
// and are put back into it). answer.go has the state of the codec, batch.go, whole.go and
// template.go read parts of a body, resolve.go applies the rulings, rewrite.go, render.go
// and withheld.go change bytes, and recorder.go describes the messages that are hidden from
// the agent. They share body.go (an upstream body), output.go (the answer as the agent
// reads it), calls.go (fragments of calls), message.go, item.go and audio.go
// (the model's message).
package chat

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"

	"github.com/heldcall/heldcall/intercept"

	"github.com/heldcall/heldcall/intercept/strictjson"
)

// Dialect implements [intercept.Dialect].
type Dialect struct{}

// Name implements [intercept.Dialect].
func (Dialect) Name() string { return "chat" }

// Gates implements [intercept.Dialect].
func (Dialect) Gates(method, path string) (canonical string, ok bool) {
	if method != http.MethodPost {
		return "", false
	}
	return intercept.Canonical(path, route)
}

const route = "/chat/completions"

// Routes implements [intercept.Dialect].
func (Dialect) Routes() []intercept.Route {
	return []intercept.Route{{Method: http.MethodPost, Path: route}}
}

// Request implements [intercept.Dialect].
func (Dialect) Request(e intercept.Envelope) (intercept.Request, error) { return parseRequest(e) }

// Matches implements [intercept.Dialect].
func (Dialect) Matches(path string, _ func(string) bool) bool {
	return strings.Contains(strings.ToLower(path), "/chat/")
}

// Error implements [intercept.Dialect]: {"error":{"message","type","code"}}.
func (Dialect) Error(e *intercept.Error) []byte {
	return fmt.Appendf(nil, `{"error":%s}`, e.OpenAI())
}

// SafeError implements [intercept.Dialect]. An error body is safe unless it could be an
// answer with calls; words in an error message alone do not make it unsafe.
func (Dialect) SafeError(body []byte) bool {
	if !strictjson.MayHoldCall(body) {
		return true
	}
	folded := bytes.ToLower(bytes.ToUpper(body)) // as Go's encoding/json folds names: U+017F is s
	couldAnswer := bytes.Contains(folded, []byte("choices")) || bytes.Contains(folded, []byte(`\u0`))
	if strictjson.Strict(body) != nil {
		return !couldAnswer
	}
	c, err := decodeWhole(string(body))
	if err != nil {
		return !couldAnswer
	}
	return !c.hasCalls()
}

// Canary implements [intercept.Dialect].
func (Dialect) Canary(route intercept.Route, tool string, streamed bool) (request intercept.Envelope, answer []byte) {
	request = intercept.Envelope{Method: route.Method, Path: route.Path, Body: fmt.Appendf(nil, `{"model":"canary","stream":%t,"messages":[{"role":"user","content":"canary"}]}`, streamed)}
	call := fmt.Sprintf(`"tool_calls":[{"index":0,"id":"call_canary","type":"function","function":{"name":%s,"arguments":"{}"}}]`, strictjson.Quote(tool))
	if !streamed {
		return request, fmt.Appendf(nil, `{"id":"canary","object":"chat.completion","created":1,"model":"canary","choices":[{"index":0,"message":{"role":"assistant","content":null,%s},"finish_reason":"tool_calls"}]}`, call)
	}
	return request, fmt.Appendf(nil, "data: {\"id\":\"canary\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"canary\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":null,%s},\"finish_reason\":null}]}\n\n"+
		"data: {\"id\":\"canary\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"canary\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n", call)
}
