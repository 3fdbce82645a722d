package app_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/tidwall/gjson"
)

// TestErrorsQuoteNothingHidden: servers that check requests quote in their errors
// what they got, and so what heldcall has put into it.
func TestErrorsQuoteNothingHidden(t *testing.T) {
	t.Parallel()
	const call = `{"id":"call_1","type":"function","function":{"name":"bash","arguments":"{\"command\":\"cat /srv/secret\"}"}}`
	quoting := false
	w := build(t, denyAll, func(r *fakemodel.Request) fakemodel.Reply {
		switch {
		case strings.Contains(string(r.Body), "policy refused") && quoting:
			return fakemodel.Whole(http.StatusBadRequest, []byte(`{"detail":[{"type":"missing","input":`+gjson.GetBytes(r.Body, "messages").Raw+`}],"type":"invalid_request_error"}`))
		case strings.Contains(string(r.Body), "policy refused"):
			return fakemodel.Answer{Text: "Very well."}.Reply(r)
		}
		return fakemodel.Whole(http.StatusOK, []byte(`{"id":"c1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hm.","tool_calls":[`+call+`]},"finish_reason":"tool_calls"}]}`))
	}, silent)
	first := w.post("/v1/chat/completions", wholeRequest, "X-Heldcall-Session", "s").rest()
	quoting = true
	follow := `{"model":"m","messages":[{"role":"user","content":"do it"},` + gjson.Get(first, "choices.0.message").Raw + `,{"role":"user","content":"go on"}]}`
	for what, body := range map[string]string{"in the continuation": wholeRequest, "later": follow} {
		c := w.post("/v1/chat/completions", body, "X-Heldcall-Session", "s")
		if got := c.rest(); c.resp.StatusCode != http.StatusBadRequest || strings.Contains(got, "secret") || !strings.Contains(got, "invalid_request_error") {
			t.Errorf("%s: %d %s", what, c.resp.StatusCode, got)
		}
	}
}

// TestNothingLeadsPastHeldcall: an agent that polls an address in an answer, or that asks for
// a part of an answer, would get calls that were not judged.
func TestNothingLeadsPastHeldcall(t *testing.T) {
	t.Parallel()
	const away = "https://elsewhere.example/openai/responses/resp_1"
	status := http.StatusAccepted
	w := build(t, allowAll, func(*fakemodel.Request) fakemodel.Reply {
		return fakemodel.Reply{Status: status, Framing: fakemodel.ContentLength, Header: []fakemodel.Field{
			{Name: "Content-Type", Value: "application/json"},
			{Name: "Alt-Svc", Value: `h2="elsewhere.example:443"`},
			{Name: "Refresh", Value: "1; url=" + away},
			{Name: "Location", Value: away},
			{Name: "Operation-Location", Value: away},
			{Name: "Content-Location", Value: "//elsewhere.example/x"},
			{Name: "Azure-AsyncOperation", Value: "/v1/responses/resp_1"},
		}, Body: []fakemodel.Write{{Bytes: []byte(`{"id":"resp_1","object":"response","status":"queued","output":[]}`)}}}
	})
	get := "GET /v1/responses/resp_1 HTTP/1.1\r\nHost: localhost\r\nRange: bytes=40-\r\nIf-Range: x\r\nConnection: close\r\n\r\n"
	if got := w.raw(get); strings.Contains(got, "elsewhere") || !strings.Contains(got, "Azure-AsyncOperation: /v1/responses/resp_1") || !strings.HasPrefix(got, "HTTP/1.1 202") {
		t.Errorf("the agent got %s", got)
	}
	if r := w.upstream.Requests()[0]; r.Get("Range")+r.Get("If-Range") != "" {
		t.Errorf("upstream was asked for a part: %v", r.Header)
	}
	status = http.StatusPartialContent
	if got := w.raw(get); !strings.HasPrefix(got, "HTTP/1.1 502") || strings.Contains(got, "queued") {
		t.Errorf("of a part the agent got %s", got)
	}
}
