// Package responses is OpenAI's Responses dialect: streamed and whole answers of that
// API and of the servers that imitate it, requests for answers by their id, and histories
// that are compacted or counted. It is one of several dialects.
//
// The payload files decode what upstream sends, strictly: events of a stream
// (payload_event.go), response objects (payload_object.go) and output items
// (payload_entry.go, payload_form.go, payload_input.go). They refuse what they have no
// meaning for, what could be a call in disguise (payload_disguise.go), and know the forms
// that all clients read alike (payload_schema.go).
//
// route.go and the request files read the agent's request. The history files put the hidden
// turns of earlier answers back into it: history_record.go (the memory of an answer),
// history_splice.go, history_find.go and history_merge.go (how an answer is found in an
// [intercept.History] and completed), history_approval.go (approvals that only one request may use).
//
// answer.go has the parts of the codec: the body of upstream (body.go, item.go, tools.go)
// to which batch.go and whole.go add what they read, with ambiguity.go
// (whether all clients read a call alike), and the answer as the agent gets it (stream.go,
// rewrite.go, canonical.go). resolve.go, continue.go and message.go have what follows from
// the rulings, prior.go and resolve_record.go the records of it.
package responses

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
func (Dialect) Name() string { return "responses" }

// Gates implements [intercept.Dialect].
func (Dialect) Gates(method, path string) (canonical string, ok bool) {
	_, _, canonical, ok = findRoute(method, path)
	return canonical, ok
}

const canaryID = "resp_canary"

// Routes implements [intercept.Dialect].
func (Dialect) Routes() []intercept.Route {
	return []intercept.Route{
		{Method: http.MethodPost, Path: rootPath},
		{Method: http.MethodGet, Path: rootPath + "/" + canaryID},
		{Method: http.MethodPost, Path: rootPath + "/" + canaryID + cancelPath},
		{Method: http.MethodDelete, Path: rootPath + "/" + canaryID},
		{Method: http.MethodPost, Path: rootPath + compactPath},
		{Method: http.MethodPost, Path: rootPath + countPath},
		{Method: http.MethodPost, Path: conversePath},
	}
}

// Request implements [intercept.Dialect].
func (Dialect) Request(e intercept.Envelope) (intercept.Request, error) { return parseRequest(e) }

// Matches implements [intercept.Dialect].
func (Dialect) Matches(path string, _ func(string) bool) bool {
	path = strings.ToLower(path)
	return strings.Contains(path, rootPath) || strings.Contains(path, conversePath)
}

// Error implements [intercept.Dialect]: {"error":{"message","type","param","code"}}.
func (Dialect) Error(e *intercept.Error) []byte { return errorBody(e) }

func errorBody(e *intercept.Error) []byte {
	return fmt.Appendf(nil, `{"error":%s}`, e.OpenAI())
}

// Canary implements [intercept.Dialect].
func (Dialect) Canary(route intercept.Route, tool string, streamed bool) (request intercept.Envelope, answer []byte) {
	request = intercept.Envelope{Method: route.Method, Path: route.Path}
	switch {
	case route.Method == http.MethodGet && streamed:
		request.Query = "stream=true"
	case strings.HasSuffix(route.Path, rootPath):
		request.Body = fmt.Appendf(nil, `{"model":"canary","stream":%t,"input":"canary"}`, streamed)
	case strings.HasSuffix(route.Path, compactPath), strings.HasSuffix(route.Path, countPath):
		request.Body = []byte(`{"model":"canary","input":"canary"}`)
	case route.Path == conversePath:
		request.Body = []byte(`{"items":[]}`)
	}
	const item = `{"id":"fc_canary","type":"function_call","status":"%s","call_id":"call_canary","name":%s,"arguments":"%s"}`
	const object = `{"id":"` + canaryID + `","object":"response","created_at":1,"status":"%s","model":"canary","output":[%s]}`
	name := strictjson.Quote(tool)
	done := fmt.Sprintf(item, "completed", name, "{}")
	whole := fmt.Sprintf(object, "completed", done)
	if !streamed {
		return request, []byte(whole)
	}
	for i, event := range []struct{ typ, fields string }{
		{"response.created", `"response":` + fmt.Sprintf(object, "in_progress", "")},
		{"response.output_item.added", `"output_index":0,"item":` + fmt.Sprintf(item, "in_progress", name, "")},
		{"response.function_call_arguments.done", `"output_index":0,"item_id":"fc_canary","arguments":"{}"`},
		{"response.output_item.done", `"output_index":0,"item":` + done},
		{"response.completed", `"response":` + whole},
	} {
		answer = fmt.Appendf(answer, "event: %s\ndata: {\"type\":\"%s\",\"sequence_number\":%d,%s}\n\n", event.typ, event.typ, i, event.fields)
	}
	return request, answer
}
