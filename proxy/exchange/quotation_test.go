package exchange

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
)

// An error is searched only where upstream got another request than the agent's. A long
// one counts as a quotation.
func TestQuotesHidden(t *testing.T) {
	agents, sent := []byte(`{"messages":[]}`), []byte(`{"messages":[{"content":"the denial of bash"}]}`)
	for name, tt := range map[string]struct {
		body, sent []byte
		want       bool
	}{
		"nothing":                {sent: sent},
		"the agent's request":    {body: agents, sent: agents},
		"a quotation":            {body: []byte("bad value: the denial of bash"), sent: sent, want: true},
		"another text":           {body: []byte("too many tokens"), sent: sent},
		"a long text of its own": {body: bytes.Repeat([]byte("x"), maxSearched+1), sent: agents},
		"a long text":            {body: bytes.Repeat([]byte("x"), maxSearched+1), sent: sent, want: true},
	} {
		if got := quotesHidden(tt.body, tt.sent, agents); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// The error in place of a quotation has the upstream's status and its name for it, unless
// the name is a text.
func TestWithoutQuotation(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":{"code":"context_length_exceeded","type":"invalid"}}`: "Bad Request, context_length_exceeded",
		`{"error":{"code":null,"type":"invalid_request_error"}}`:        "Bad Request, invalid_request_error",
		`{"type":"overloaded"}`:                            "Bad Request, overloaded",
		`{"error":{"code":"rm -rf /srv","type":"rm -rf"}}`: "(Bad Request)",
		"not JSON": "(Bad Request)",
	} {
		e := WithoutQuotation(http.StatusBadRequest, []byte(body))
		if !strings.Contains(e.Reason, want) || strings.Contains(e.Reason, "rm -rf") || e.Status() != http.StatusBadRequest || e.Code != intercept.CodeUpstreamUnreachable {
			t.Errorf("%s: %d %s", body, e.Status(), e.Reason)
		}
	}
}

// A status without a name is its number.
func TestStatusText(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{http.StatusTooManyRequests: "Too Many Requests", 529: "status 529"} {
		if e := WithoutQuotation(status, nil); statusText(status) != want || !strings.Contains(e.Reason, "("+want+")") {
			t.Errorf("%d: %q, %s", status, statusText(status), e.Reason)
		}
	}
}

func TestMessage(t *testing.T) {
	const agents, sent = `{"content":"hello"}`, `{"content":"the hidden denial of a person"}`
	for body, want := range map[string]string{
		`{"error":{"message":"Too many tokens","type":"x"}}`:                   ": Too many tokens",
		`{"type":"error","error":{"message":"Overloaded"}}`:                    ": Overloaded",
		`{"error":{"message":"bad: the hidden denial of a person"}}`:           "",
		`{"error":{"message":"fine"},"input":"the hidden denial of a person"}`: "",
		`{"error":{"message":"` + strings.Repeat("a ", 1001) + `"}}`:           "",
		`{"error":{"message":["x"]}}`:                                          "",
		`{"error":{"message":"cut`:                                             "",
		`<html>`:                                                               "",
		"{\"error\":{\"message\":\"a\xff\"}}":                                  ": a\uFFFD",
	} {
		if got := message([]byte(body), []byte(sent), []byte(agents)); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

func TestQuotes(t *testing.T) {
	const (
		agents = `{"messages":[{"role":"user","content":"Clean up, please, and be careful about it."}]}`
		hidden = `{"role":"assistant","tool_calls":[{"id":"call_7","type":"function","function":{"name":"bash","arguments":"{\"command\":\"rm -rf /srv/data\"}"}}]}`
	)
	sent := strings.Replace(agents, "]", ","+hidden+"]", 1)
	for text, want := range map[string]bool{
		`{"error":{"message":"Your prompt is too long: 210000 tokens are more than 200000."}}`:  false,
		`{"error":{"message":"Invalid message: 'Clean up, please, and be careful about it.'"}}`: false,
		`{"detail":[{"input":` + hidden + `}]}`:                                                 true,
		`{"detail":[{"input":{"arguments": "{\"command\": \"rm -rf /srv/data\"}"}}]}`:           true,
		`{"detail":"bad value: {'command': 'rm -rf /srv/data'}"}`:                               true,
		"": false,
	} {
		if got := quotes([]byte(text), []byte(sent), []byte(agents)); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}
