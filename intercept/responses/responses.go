// Package responses is OpenAI's Responses dialect: streamed and whole answers of
// that API and of the servers that imitate it, answers that are fetched,
// cancelled or deleted by their id, and histories that are compacted or counted.
//
// Read it from event.go and item.go (what one payload says, and one output item)
// by calls.go (which event belongs to which item, and what is doubted) and
// message.go (what goes back to the provider) to stream.go, passage.go and
// whole.go (what passes and what is held), settle.go (what follows from the
// rulings), rewrite.go and farewell.go (the bytes that change), hidden.go and
// splice.go (what is put back into the agent's later requests) and retrieve.go
// (answers that are fetched).
package responses

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/heldcall/heldcall/intercept"
)

// Dialect implements [intercept.Dialect].
type Dialect struct{}

// Name implements [intercept.Dialect].
func (Dialect) Name() string { return "responses" }

// verb is what a request asks for.
type verb int

const (
	create   verb = iota // POST /responses
	retrieve             // GET /responses/{id}
	cancel               // POST /responses/{id}/cancel
	compact              // POST /responses/compact
	count                // POST /responses/input_tokens
	remove               // DELETE /responses/{id}
)

// beside reports a request that is about a history or an answer, and asks for
// nothing that the model says.
func (v verb) beside() bool { return v == compact || v == count || v == remove }

const (
	root       = "/responses"
	cancelling = "/cancel"
	compacting = "/compact"
	counting   = "/input_tokens"
)

// Gates implements [intercept.Dialect].
func (Dialect) Gates(method, path string) (canonical string, ok bool) {
	_, _, canonical, ok = find(method, path)
	return canonical, ok
}

// find reads a route from the end of the path. The id of a response keeps its
// letter case, and so does what stands before.
func find(method, path string) (v verb, id, canonical string, ok bool) {
	switch method {
	case http.MethodPost:
		if canonical, ok = intercept.Canonical(path, root); ok {
			return create, "", canonical, true
		}
		if canonical, ok = intercept.Canonical(path, root+compacting); ok {
			return compact, "", canonical, true
		}
		if canonical, ok = intercept.Canonical(path, root+counting); ok {
			return count, "", canonical, true
		}
		if rest, cut := intercept.Canonical(path, cancelling); cut {
			head, id, ok := identified(rest[:len(rest)-len(cancelling)])
			return cancel, id, head + cancelling, ok
		}
	case http.MethodGet:
		head, id, ok := identified(path)
		return retrieve, id, head, ok
	case http.MethodDelete:
		head, id, ok := identified(path)
		return remove, id, head, ok
	}
	return 0, "", "", false
}

// identified reads a path that ends in /responses/{id}.
func identified(path string) (canonical, id string, ok bool) {
	at := strings.LastIndexByte(path, '/')
	if at < 0 || at == len(path)-1 {
		return "", "", false
	}
	head, ok := intercept.Canonical(path[:at], root)
	return head + path[at:], path[at+1:], ok
}

const canaryID = "resp_canary"

// Routes implements [intercept.Dialect].
func (Dialect) Routes() []intercept.Route {
	return []intercept.Route{
		{Method: http.MethodPost, Path: root},
		{Method: http.MethodGet, Path: root + "/" + canaryID},
		{Method: http.MethodPost, Path: root + "/" + canaryID + cancelling},
		{Method: http.MethodDelete, Path: root + "/" + canaryID},
		{Method: http.MethodPost, Path: root + compacting},
		{Method: http.MethodPost, Path: root + counting},
	}
}

// Request implements [intercept.Dialect].
func (Dialect) Request(e intercept.Envelope) (intercept.Request, error) {
	r, err := acceptRequest(e)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Speaks implements [intercept.Dialect].
func (Dialect) Speaks(path string, _ func(string) bool) bool {
	return strings.Contains(strings.ToLower(path), root)
}

// Error implements [intercept.Dialect]: {"error":{"message","type","param","code"}}.
func (Dialect) Error(e *intercept.Error) []byte { return errorBody(e) }

func errorBody(e *intercept.Error) []byte {
	return fmt.Appendf(nil, `{"error":%s}`, errorObject(e))
}

func errorObject(e *intercept.Error) string {
	kind := "heldcall_error"
	if e.Code == intercept.CodeBadRequest || e.Code == intercept.CodeRequestTooLarge {
		kind = "invalid_request_error"
	}
	return fmt.Sprintf(`{"message":%s,"type":%s,"param":null,"code":%s}`,
		intercept.Quote("heldcall: "+e.Reason), intercept.Quote(kind), intercept.Quote(string(e.Code)))
}

// Canary implements [intercept.Dialect].
func (Dialect) Canary(route intercept.Route, tool string, streamed bool) (request intercept.Envelope, answer []byte) {
	request = intercept.Envelope{Method: route.Method, Path: route.Path}
	switch {
	case route.Method == http.MethodGet && streamed:
		request.Query = "stream=true"
	case strings.HasSuffix(route.Path, root):
		request.Body = fmt.Appendf(nil, `{"model":"canary","stream":%t,"input":"canary"}`, streamed)
	case strings.HasSuffix(route.Path, compacting), strings.HasSuffix(route.Path, counting):
		request.Body = []byte(`{"model":"canary","input":"canary"}`)
	}
	const item = `{"id":"fc_canary","type":"function_call","status":"%s","call_id":"call_canary","name":%s,"arguments":"%s"}`
	const object = `{"id":"` + canaryID + `","object":"response","created_at":1,"status":"%s","model":"canary","output":[%s]}`
	name := intercept.Quote(tool)
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
