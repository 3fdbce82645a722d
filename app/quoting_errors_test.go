package app_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// An error that upstream reports inside a good answer quotes nothing that is hidden from the
// agent, and another one passes unchanged.
func TestErrorsInAnswersDoNotQuoteOfferedTools(t *testing.T) {
	t.Parallel()
	const tools = `"tools":[{"type":"function","name":"request_clarification"}]`
	for path, events := range map[string][]string{
		"/v1/chat/completions": {`data: {"error":{"message":%q,"type":"x","code":"y"}}` + "\n\n", `{"error":{"message":%q,"code":500}}`},
		"/v1/messages":         {`event: error` + "\n" + `data: {"type":"error","error":{"type":"api_error","message":%q}}` + "\n\n", `{"type":"error","error":{"type":"api_error","message":%q}}`},
		"/v1/responses": {
			`event: error` + "\n" + `data: {"type":"error","code":"x","message":%q,"param":null,"sequence_number":0}` + "\n\n",
			`event: response.failed` + "\n" + `data: {"type":"response.failed","sequence_number":0,"response":{"id":"resp_1","object":"response","status":"failed",` + tools + `,"output":[],"error":{"code":"server_error","message":%q}}}` + "\n\n",
			`{"id":"resp_1","object":"response","created_at":1,"model":"m","status":"failed",` + tools + `,"output":[],"error":{"code":"server_error","message":%q}}`,
		},
	} {
		for i, event := range events {
			for message, withheld := range map[string]bool{"Invalid schema for function 'request_clarification'": true, "Overloaded, please wait": false} {
				t.Run(fmt.Sprintf("%s %d withheld=%t", path, i, withheld), func(t *testing.T) {
					t.Parallel()
					kind := "text/event-stream"
					if event[0] == '{' {
						kind = "application/json"
					}
					w := build(t, offersAll+allowAll, func(*fakemodel.Request) fakemodel.Reply {
						return fakemodel.Reply{Header: []fakemodel.Field{{Name: "Content-Type", Value: kind}}, Body: []fakemodel.Write{{Bytes: fmt.Appendf(nil, event, message)}}}
					})
					got := w.post(path, dialectRequests[path]).rest()
					if strings.Contains(strings.ReplaceAll(got, tools, ""), "request_clarification") || strings.Contains(got, "withheld") != withheld || strings.Contains(got, message) == withheld || !strings.Contains(got, `"error"`) {
						t.Errorf("the agent gets %s", got)
					}
				})
			}
		}
	}
}
