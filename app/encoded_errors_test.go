package app_test

import (
	"net/http"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// An answer with a call in the body of an error does not reach the agent, however it is encoded.
func TestPromise1_NoLeak_EncodedErrors(t *testing.T) {
	utf16le := func(s string) (b []byte) {
		for _, u := range utf16.Encode([]rune(s)) {
			b = append(b, byte(u), byte(u>>8))
		}
		return b
	}
	answers := map[string]string{
		"/v1/chat/completions": `{"id":"c1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_a","type":"function","function":{"name":"bash","arguments":"{\"command\":\"open sesame\"}"}}]},"finish_reason":"tool_calls"}]}`,
		"/v1/messages":         `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"tool_use","id":"toolu_1","name":"bash","input":{"command":"open sesame"}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}`,
		"/v1/responses":        `{"id":"resp_1","object":"response","created_at":1,"status":"completed","output":[{"type":"function_call","id":"fc_a","call_id":"call_a","name":"bash","arguments":"{\"command\":\"open sesame\"}","status":"completed"}]}`,
	}
	for path, answer := range answers {
		for name, body := range map[string][]byte{
			"plain":       []byte(answer),
			"utf-16":      utf16le(answer),                                                     // Python's json.loads and httpx' Response.json find this out by themselves
			"long s":      []byte(strings.Replace(answer, `"choices"`, "\"choice\u017f\"", 1)), // encoding/json folds U+017F to s
			"long s, esc": []byte(strings.Replace(answer, `"choices"`, `"choice\u017f"`, 1)),
		} {
			t.Run(path+" "+name, func(t *testing.T) {
				w := build(t, denyAll, func(*fakemodel.Request) fakemodel.Reply { return fakemodel.Whole(http.StatusBadRequest, body) })
				got := w.raw(rawPost(path, dialectRequests[path], ""))
				if strings.Contains(got, "sesame") || strings.Contains(got, string(utf16le("sesame"))) {
					t.Errorf("a call that no policy allows reaches the agent: %.60q", got)
				}
			})
		}
	}
}
