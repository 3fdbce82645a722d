package fakemodel

import (
	"net/http"
	"strings"
)

// API is a wire API in which answers can be written.
type API string

// The APIs.
const (
	Chat      API = "chat"      // OpenAI Chat Completions
	Responses API = "responses" // OpenAI Responses
	Messages  API = "messages"  // Anthropic Messages
)

// apiOf is the API of a path; one of no other API counts as Chat Completions.
func apiOf(path string) API {
	for segment := range strings.SplitSeq(path, "/") {
		switch segment {
		case "responses", "conversations":
			return Responses
		case "messages":
			return Messages
		}
	}
	return Chat
}

// route is a request that a model answers. In a path, {id} matches any
// segment, and anything may be before it.
type route struct {
	method, path string
	reply        func(m *Model, r *Request, id string) Reply
}

func routes() []route {
	return []route{
		{http.MethodPost, "/chat/completions", (*Model).chat},
		{http.MethodGet, "/models", (*Model).models},
		{http.MethodPost, "/responses", (*Model).createResponse},
		{http.MethodPost, "/responses/input_tokens", (*Model).countInput},
		{http.MethodGet, "/responses/{id}", (*Model).getResponse},
		{http.MethodDelete, "/responses/{id}", (*Model).deleteResponse},
		{http.MethodPost, "/responses/{id}/cancel", (*Model).cancelResponse},
		{http.MethodGet, "/responses/{id}/input_items", (*Model).listInput},
		{http.MethodPost, "/conversations", (*Model).createConversation},
		{http.MethodGet, "/conversations/{id}/items", (*Model).listConversation},
		{http.MethodPost, "/messages", (*Model).createMessage},
		{http.MethodPost, "/messages/count_tokens", (*Model).countMessages},
	}
}

// fits reports whether the route is that of a request, and the id in its path.
func (t route) fits(method, path string) (id string, ok bool) {
	want, got := strings.Split(t.path, "/")[1:], strings.Split(path, "/")
	if method != t.method || len(got) < len(want) {
		return "", false
	}
	for i, segment := range got[len(got)-len(want):] {
		if want[i] == "{id}" && segment != "" {
			id = segment
		} else if want[i] != segment {
			return "", false
		}
	}
	return id, true
}

// refusal is an error that a provider answers.
type refusal struct {
	status  int
	kind    string // type
	code    string // "" is null
	param   string // "" is null
	message string
	detail  string // the error_code of Anthropic's details, "" for none
}

func (f *refusal) Error() string { return f.message }

// invalid is a refusal of a request as it is.
func invalid(param, message string) *refusal {
	return &refusal{status: http.StatusBadRequest, kind: "invalid_request_error", param: param, message: message}
}

// reply is the refusal in the shape of an API's errors.
func (f *refusal) reply(api API, r *Request) Reply {
	if api == Messages {
		id := "req_011C" + digest(r.Method, r.Target, string(r.Body))[:20]
		reply := Whole(f.status, encode(messagesError{"error", anthropicError{Type: f.kind, Message: f.message, Details: f.details()}, id}))
		reply.Header = append(reply.Header, Field{"request-id", id})
		return reply
	}
	null := func(text string) *string {
		if text == "" {
			return nil
		}
		return &text
	}
	// As OpenAI writes it, over several lines.
	return Whole(f.status, append(indent(encode(map[string]openAIError{
		"error": {f.message, f.kind, null(f.param), null(f.code)},
	}), ""), '\n'))
}

type openAIError struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

type messagesError struct {
	Type      string         `json:"type"`
	Error     anthropicError `json:"error"`
	RequestID string         `json:"request_id"`
}

type anthropicError struct {
	Type    string        `json:"type"`
	Message string        `json:"message"`
	Details *errorDetails `json:"details,omitempty"`
}

type errorDetails struct {
	Code string `json:"error_code"`
}

func (f *refusal) details() *errorDetails {
	if f.detail == "" {
		return nil
	}
	return &errorDetails{f.detail}
}

// models lists the one model there is, in the shape that the client's headers
// ask for.
func (m *Model) models(r *Request, _ string) Reply {
	if r.Get("anthropic-version") != "" {
		return Whole(http.StatusOK, []byte(`{"data":[{"type":"model","id":"claude-scripted","display_name":"Scripted",`+
			`"created_at":"2025-11-21T00:00:00Z"}],"has_more":false,"first_id":"claude-scripted","last_id":"claude-scripted"}`))
	}
	return Whole(http.StatusOK, indent([]byte(`{"object":"list","data":[{"id":"gpt-scripted","object":"model",`+
		`"created":1763712000,"owned_by":"scripted"}]}`), ""))
}
