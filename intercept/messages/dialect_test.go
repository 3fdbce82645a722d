package messages

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
)

func TestGates(t *testing.T) {
	for path, want := range map[string]string{
		"/messages": "/messages", "/Messages": "/messages", "/v1/MESSAGES": "/v1/messages", "/anthropic/v1/messages": "/anthropic/v1/messages",
		"/messages/count_tokens": "/messages/count_tokens", "/v1/Messages/Count_Tokens": "/v1/messages/count_tokens", "/threads/t1/messages/count_tokens": "", "/messages/batches": "", "/threads/t1/messages": "", "/v1/Threads/t1/messages": "", "/chat/completions/c1/messages": "", "/message": "",
	} {
		got, ok := Dialect{}.Gates("POST", path)
		if got != want || ok != (want != "") {
			t.Errorf("%s: %q, %t", path, got, ok)
		}
		if _, ok := (Dialect{}).Gates("GET", path); ok {
			t.Errorf("GET %s is gated", path)
		}
	}
}

func TestBadRequests(t *testing.T) {
	for _, body := range []string{``, `[]`, `{"model":"m"}`, `{"messages":[],"messages":[]}`, `{"messages":[]}x`, "{\"messages\":[\"\xff\"]}"} {
		_, err := Dialect{}.Request(intercept.Envelope{Body: []byte(body)})
		var e *intercept.Error
		if !errors.As(err, &e) || e.Code != intercept.CodeBadRequest {
			t.Errorf("%q: %v", body, err)
		}
	}
}

func TestErrors(t *testing.T) {
	for code, want := range map[intercept.Code]string{
		intercept.CodeBadRequest: "invalid_request_error", intercept.CodeRouteNotGated: "invalid_request_error", intercept.CodeRunAborted: "permission_error",
		intercept.CodeHostedToolRefused: "permission_error", intercept.CodeForeignHost: "permission_error", intercept.CodeForeignOrigin: "permission_error", intercept.CodeRequestTooLarge: "request_too_large", intercept.CodeUpstreamCut: "api_error",
		intercept.CodeStoreUnavailable: "api_error", intercept.CodeAnswerNotUnderstood: "api_error",
	} {
		var got struct {
			Type  string
			Error struct {
				Type, Message string
				Code          intercept.Code
			}
		}
		if err := json.Unmarshal(Dialect{}.Error(&intercept.Error{Code: code, Reason: `why "so"`}), &got); err != nil {
			t.Fatal(err)
		}
		if got.Type != "error" || got.Error.Type != want || got.Error.Code != code || !strings.HasSuffix(got.Error.Message, `why "so"`) {
			t.Errorf("%s: %+v", code, got)
		}
	}
}

func TestSafeError(t *testing.T) {
	for body, want := range map[string]bool{
		`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`:                                                                           true,
		`{"type":"error","error":{"type":"invalid_request_error","message":"messages.1: ` + "`tool_use`" + ` ids were found without ` + "`tool_result`" + `"}}`: true,
		`{"type":"error","error":{"type":"invalid_request_error","message":"the content of tool_use"}}`:                                                         true,
		`<html>tool calls</html>`: true, ``: true, `{"error":"bad call"}`: true,
		whole(aCall, "tool_use"): false, listed: false, `{"type":"error","error":{},"content":[` + aCall + `]}`: false,
		strings.Replace(whole(aCall, "tool_use"), `"tool_use"`, `"tool\u005fuse"`, 1): false,
	} {
		if got := (Dialect{}).SafeError([]byte(body)); got != want {
			t.Errorf("%s: %t", body, got)
		}
	}
}
