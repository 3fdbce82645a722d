package turn

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/chat"
	"github.com/heldcall/heldcall/intercept/messages"
	"github.com/heldcall/heldcall/intercept/responses"
	"github.com/heldcall/heldcall/proxy/conversation"
	"github.com/heldcall/heldcall/proxy/hosted"
)

// longRequests are requests as coding agents send them: 40 tools with 50 KB of schemas, and a history of 150 KB.
var longRequests = []struct {
	dialect                                    intercept.Dialect
	path, history, user, call, result, toolFmt string
}{
	{
		chat.Dialect{},
		"/chat/completions", "messages", `{"role":"user","content":"Make the tests pass."}`,
		`{"role":"assistant","content":"I read it.","tool_calls":[{"id":"call_%d","type":"function","function":{"name":"read","arguments":"{\"path\":\"a.go\"}"}}]}`,
		`{"role":"tool","tool_call_id":"call_%d","content":"%s"}`,
		`{"type":"function","function":{"name":"tool_%d","description":"%s","parameters":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}}`,
	},
	{
		responses.Dialect{},
		"/responses", "input", `{"type":"message","role":"user","content":[{"type":"input_text","text":"Make the tests pass."}]}`,
		`{"type":"function_call","call_id":"call_%d","name":"read","arguments":"{\"path\":\"a.go\"}"}`,
		`{"type":"function_call_output","call_id":"call_%d","output":"%s"}`,
		`{"type":"function","name":"tool_%d","description":"%s","parameters":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}`,
	},
	{
		messages.Dialect{},
		"/messages", "messages", `{"role":"user","content":"Make the tests pass."}`,
		`{"role":"assistant","content":[{"type":"text","text":"I read it."},{"type":"tool_use","id":"call_%d","name":"read","input":{"path":"a.go"}}]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_%d","content":"%s"}]}`,
		`{"name":"tool_%d","description":"%s","input_schema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}`,
	},
}

// BenchmarkPrepare reads a long request as far as each request is read once a run has had a call, when nothing of it is hidden or judged.
func BenchmarkPrepare(b *testing.B) {
	text := strings.Repeat(`\tif err := read(path); err != nil {\n\t\treturn fmt.Errorf(\"read %s: %w\", path, err)\n\t}\n`, 16)
	for _, long := range longRequests {
		var items, tools []string
		for i := range 100 {
			items = append(items, fmt.Sprintf(long.call, i), fmt.Sprintf(long.result, i, text))
		}
		for i := range 40 {
			tools = append(tools, fmt.Sprintf(long.toolFmt, i, strings.Repeat("Reads a file. ", 80)))
		}
		body := fmt.Appendf(nil, `{"model":"m",%q:[%s,%s],"tools":[%s]}`, long.history, long.user, strings.Join(items, ","), strings.Join(tools, ","))
		b.Run(long.dialect.Name(), func(b *testing.B) {
			e := &Engine{Options: Options{Gate: Stateless{}, Judge: func(string) Judge { return judgesNothing }}}
			e.Conversations = conversation.Shared{Store: Stateless{}, Runs: Stateless{}}
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				var c conversation.Conversation
				c.Init(&e.Conversations, &Request{Dialect: long.dialect, Envelope: intercept.Envelope{Method: http.MethodPost, Path: long.path, Body: body}})
				if refusal := c.Begin(context.Background()); refusal != nil {
					b.Fatal(refusal)
				}
				e.Offers.Count(c.Request, c.Parsed, nil)
				if refusal := (&hosted.Tools{Engine: e, Conversation: &c}).Judge(context.Background(), c.Parsed); refusal != nil {
					b.Fatal(refusal)
				}
				if c.Identity().Run == "" || c.Parsed.Begins() {
					b.Fatal("the history is not read")
				}
			}
		})
	}
}
