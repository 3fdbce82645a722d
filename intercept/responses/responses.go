// Package responses is OpenAI's Responses dialect: streamed and whole answers of that
// API and of the servers that imitate it, requests for answers by their id, and histories
// that are compacted or counted.
//
// Read wire first (the contents of one payload), then history (the agent's requests, and
// the hidden turns that are put back into them). Here, answer.go has the parts of the
// codec: the body of upstream (body.go, item.go, tools.go) to which batch.go and whole.go
// add what they read, with ambiguity.go and uniform.go (whether all clients read a call
// alike), and the answer as the agent gets it (stream.go, rewrite.go, canonical.go).
// resolve.go, continue.go and message.go have what follows from the rulings, prior.go
// and hidden.go the records of it.
package responses

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/responses/history"
	"github.com/heldcall/heldcall/intercept/strictjson"
)

// Dialect implements [intercept.Dialect].
type Dialect struct{}

// ResultCall implements [intercept.Dialect].
func (Dialect) ResultCall(raw string) intercept.Call { return history.ResultCall(raw) }

// Name implements [intercept.Dialect].
func (Dialect) Name() string { return "responses" }

// Gates implements [intercept.Dialect].
func (Dialect) Gates(method, path string) (canonical string, ok bool) {
	_, _, canonical, ok = history.Find(method, path)
	return canonical, ok
}

const canaryID = "resp_canary"

// Routes implements [intercept.Dialect].
func (Dialect) Routes() []intercept.Route {
	return []intercept.Route{
		{Method: http.MethodPost, Path: history.Root},
		{Method: http.MethodGet, Path: history.Root + "/" + canaryID},
		{Method: http.MethodPost, Path: history.Root + "/" + canaryID + history.Cancelling},
		{Method: http.MethodDelete, Path: history.Root + "/" + canaryID},
		{Method: http.MethodPost, Path: history.Root + history.Compacting},
		{Method: http.MethodPost, Path: history.Root + history.Counting},
		{Method: http.MethodPost, Path: history.Conversing},
	}
}

// Request implements [intercept.Dialect].
func (Dialect) Request(e intercept.Envelope) (intercept.Request, error) {
	r, err := history.AcceptRequest(e)
	if err != nil {
		return nil, err
	}
	return readable{r}, nil
}

// readable is a request whose answers the package reads.
type readable struct{ *history.Request }

// Codec implements [intercept.Request].
func (r readable) Codec(limits intercept.Limits) intercept.Codec { return newAnswer(r.Request, limits) }

// Matches implements [intercept.Dialect].
func (Dialect) Matches(path string, _ func(string) bool) bool {
	path = strings.ToLower(path)
	return strings.Contains(path, history.Root) || strings.Contains(path, history.Conversing)
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
		strictjson.Quote("heldcall: "+e.Reason), strictjson.Quote(kind), strictjson.Quote(string(e.Code)))
}

// Canary implements [intercept.Dialect].
func (Dialect) Canary(route intercept.Route, tool string, streamed bool) (request intercept.Envelope, answer []byte) {
	request = intercept.Envelope{Method: route.Method, Path: route.Path}
	switch {
	case route.Method == http.MethodGet && streamed:
		request.Query = "stream=true"
	case strings.HasSuffix(route.Path, history.Root):
		request.Body = fmt.Appendf(nil, `{"model":"canary","stream":%t,"input":"canary"}`, streamed)
	case strings.HasSuffix(route.Path, history.Compacting), strings.HasSuffix(route.Path, history.Counting):
		request.Body = []byte(`{"model":"canary","input":"canary"}`)
	case route.Path == history.Conversing:
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
