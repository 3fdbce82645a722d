package app_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// base64Key is a key of an upstream with characters that encoders of JSON escape.
const base64Key = "Zm9v+YmFy/cXV4MTIzNDU2Nzg5MA=="

// escapedKey is the key as other encoders than Go's write it in JSON.
var escapedKey = strings.NewReplacer("+", `\u002B`, "=", `\u003D`).Replace(base64Key)

func withBase64Key(c *app.Config) { c.Proxy.Upstreams[0].APIKey = base64Key }

func keyChunk(delta, finish string) string {
	return `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + `}]}` + "\n\n"
}

var (
	keyRole  = keyChunk(`{"role":"assistant","content":"Hm."}`, "null")
	keyOpens = keyChunk(`{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"bash","arguments":""}}]}`, "null")
	keyEnd   = keyChunk("{}", `"tool_calls"`) + "data: [DONE]\n\n"
)

func keyPiece(s string) string {
	return keyChunk(`{"tool_calls":[{"index":0,"function":{"arguments":"`+s+`"}}]}`, "null")
}

// Errors of heldcall that quote upstream's decoded message are without the key, for the agent and in the log.
func TestPromise8_SecretsStay_KeyInOwnError(t *testing.T) {
	n := 0
	w := build(t, denyAll, func(r *fakemodel.Request) fakemodel.Reply {
		if n++; n > 1 {
			return fakemodel.Whole(http.StatusUnauthorized, []byte(`{"error":{"message":"Incorrect API key provided: `+escapedKey+`","code":"invalid_api_key"}}`))
		}
		return fakemodel.Events(fakemodel.Write{Bytes: []byte(keyRole + keyOpens + keyPiece("{}") + keyEnd)})
	}, silent, withBase64Key)
	got := w.post("/v1/chat/completions", streamedRequest).rest()
	if strings.Contains(got, base64Key) {
		t.Errorf("the agent gets the key in the clear: %s", got)
	}
	if log := w.log.String(); strings.Contains(log, base64Key) {
		t.Errorf("the log has the key in the clear: ...%s", log[max(strings.Index(log, base64Key)-160, 0):strings.Index(log, base64Key)+len(base64Key)])
	}
}

// The agent gets the escaped key neither in an error nor in an answer.
func TestPromise8_SecretsStay_EscapedKey(t *testing.T) {
	for status, body := range map[int]string{
		401: `{"error":{"message":"Incorrect API key provided: ` + escapedKey + `"}}`,
		200: `{"id":"c1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"` + escapedKey + `"},"finish_reason":"stop"}]}`,
	} {
		w := build(t, denyAll, func(r *fakemodel.Request) fakemodel.Reply { return fakemodel.Whole(status, []byte(body)) }, silent, withBase64Key)
		if got := w.post("/v1/chat/completions", wholeRequest).rest(); strings.Contains(got, escapedKey) {
			t.Errorf("%d: the agent gets the key: %s", status, got)
		}
	}
}

// The text of the answer that people read is without the key, escaped or in two events.
func TestPromise8_SecretsStay_KeyInRequest(t *testing.T) {
	for name, reply := range map[string]fakemodel.Reply{
		"escaped":    fakemodel.Whole(200, []byte(`{"id":"c1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"debug: `+escapedKey+`","tool_calls":[{"id":"call_1","type":"function","function":{"name":"bash","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`)),
		"two events": fakemodel.Events(fakemodel.Write{Bytes: []byte(keyRole + keyChunk(`{"content":"`+base64Key[:12]+`"}`, "null") + keyChunk(`{"content":"`+base64Key[12:]+`"}`, "null") + keyOpens + keyPiece("{}") + keyEnd)}),
	} {
		t.Run(name, func(t *testing.T) {
			w := build(t, askAll, func(r *fakemodel.Request) fakemodel.Reply { return reply }, silent, withBase64Key)
			body := streamedRequest
			if name == "escaped" {
				body = wholeRequest
			}
			go w.tryPost("/v1/chat/completions", body)
			r := w.pending(1)[0]
			if strings.Contains(r.Context.AssistantText, base64Key) {
				t.Errorf("the reviewers read the key: %q", r.Context.AssistantText)
			}
			w.decide(r.ID, approvals.Decision{Action: approvals.ActionApprove})
		})
	}
}

// The event of an allowed call is without the key, which the call had in pieces.
func TestPromise8_SecretsStay_KeyInAuditLog(t *testing.T) {
	w := build(t, "default: ask\nrules: [{allow: [bash]}]\n", func(r *fakemodel.Request) fakemodel.Reply {
		return fakemodel.Events(fakemodel.Write{Bytes: []byte(keyRole + keyOpens + keyPiece(`{\"command\":\"echo `+base64Key[:12]) + keyPiece(base64Key[12:]+`\"}`) + keyEnd)})
	}, silent, withBase64Key)
	w.post("/v1/chat/completions", streamedRequest).rest()
	for _, e := range w.eventsOf(approvals.EventCallReleased) {
		if b, _ := json.Marshal(e); strings.Contains(string(b), base64Key) {
			t.Errorf("the event has the key: %s", b)
		}
	}
}
