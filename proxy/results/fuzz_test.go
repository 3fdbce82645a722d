package results_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/chat"
	"github.com/heldcall/heldcall/intercept/messages"
	"github.com/heldcall/heldcall/intercept/responses"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/heldcall/heldcall/intercept/toolresult"
	"github.com/heldcall/heldcall/proxy/conversation"
	"github.com/heldcall/heldcall/proxy/results"
	"github.com/heldcall/heldcall/proxy/turn"
)

// FuzzResults: whatever a request contains, upstream gets strict JSON, in which no text of a
// result has what rules deny or redact, and all bytes outside of results are the agent's. The
// same request becomes the same bytes, and what upstream gets needs no further change.
func FuzzResults(f *testing.F) {
	const file = "results:\n  - redact: ['*']\n    contains: ['zq7+']\n  - deny: ['*']\n    contains: ['deny me']\n"
	p, err := policy.Parse("policy.yaml", []byte(file))
	if err != nil {
		f.Fatal(err)
	}
	rules := judge.NewRules(p)
	dialects := []struct {
		intercept.Dialect
		path string
	}{{chat.Dialect{}, "/chat/completions"}, {messages.Dialect{}, "/messages"}, {responses.Dialect{}, "/responses"}, {messages.Dialect{}, "/messages/count_tokens"}, {responses.Dialect{}, "/responses/input_tokens"}}
	texts := []string{`"a zq77 b"`, `"deny\u0020me"`, `[{"type":"text","text":"ZQ7"},{"type":"image","data":"zq7"}]`, `[{"type":"output_text","text":"z"},{"type":"text","text":"q7"}]`, `{"a":{"b":["zq7"]}}`, "null", `""`}
	for _, content := range texts {
		f.Add(uint8(0), []byte(`{"messages":[{"role":"user","content":"zq7"},{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"x","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":`+content+`},{"role":"function","name":"x","content":`+content+`}]}`))
		f.Add(uint8(1), []byte(`{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"x","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":`+content+`}]}]}`))
		f.Add(uint8(2), []byte(`{"input":[{"type":"function_call","call_id":"c","name":"x","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":`+content+`},{"type":"computer_call_output","call_id":"d","output":`+content+`}]}`))
	}
	f.Add(uint8(3), []byte(`{"system":"zq7","messages":[{"role":"user","content":"zq7"},{"role":"assistant","content":[{"type":"text","text":"zq7"},{"type":"tool_use","id":"c","name":"x","input":{}}]}]}`))
	f.Add(uint8(4), []byte(`{"instructions":"zq7","input":"deny me"}`))
	f.Fuzz(func(t *testing.T, which uint8, body []byte) {
		d := dialects[int(which)%len(dialects)]
		sent, ok := judged(t, d.Dialect, d.path, body, rules)
		if !ok {
			return // nothing is sent
		}
		if again, _ := judged(t, d.Dialect, d.path, body, rules); !bytes.Equal(again, sent) {
			t.Fatalf("%s\nbecomes %s\nand %s", body, sent, again)
		}
		if again, _ := judged(t, d.Dialect, d.path, sent, rules); !bytes.Equal(again, sent) {
			t.Fatalf("%s\nbecomes %s\nand that %s", body, sent, again)
		}
		if err := strictjson.Strict(sent); err != nil {
			t.Fatalf("upstream gets %s: %v", sent, err)
		}
		before, now := contents(t, d.Dialect, d.path, body), contents(t, d.Dialect, d.path, sent)
		if got, want := without(sent, now), without(body, before); got != want {
			t.Fatalf("outside of results upstream gets %s, want %s", got, want)
		}
		for _, one := range now {
			var value any
			if err := json.Unmarshal([]byte(one.Raw), &value); err != nil {
				t.Fatal(err)
			}
			if text := textIn(value); hidden.MatchString(text) {
				t.Fatalf("upstream gets %s", one.Raw)
			}
		}
	})
}

var hidden = regexp.MustCompile(`(?i)zq7+|deny me`)

// judged returns what upstream gets; ok is false for a request that is refused.
func judged(t *testing.T, d intercept.Dialect, path string, body []byte, rules results.Rules) (sent []byte, ok bool) {
	t.Helper()
	var c conversation.Conversation
	shared := &conversation.Shared{Store: turn.Stateless{}, Runs: turn.Stateless{}, Log: slog.New(slog.DiscardHandler)}
	c.Init(shared, &conversation.Request{Dialect: d, Envelope: intercept.Envelope{Method: "POST", Path: path, Body: slices.Clone(body)}})
	if c.Begin(t.Context()) != nil {
		return nil, false
	}
	r := results.Results{Conversation: &c, Recorder: turn.Stateless{}, Log: shared.Log}
	if r.Judge(t.Context(), rules) != nil || r.Settle(t.Context()) != nil {
		return nil, false
	}
	return c.Parsed.Envelope().Body, true
}

func contents(t *testing.T, d intercept.Dialect, path string, body []byte) []toolresult.Content {
	t.Helper()
	r, err := d.Request(intercept.Envelope{Method: "POST", Path: path, Body: body})
	if err != nil {
		t.Fatal(err)
	}
	return r.ResultContents()
}

// without returns a body with a mark in place of each result.
func without(body []byte, list []toolresult.Content) string {
	var b strings.Builder
	at := 0
	for _, one := range list {
		b.Write(body[at:one.At.Start])
		b.WriteString("<result>")
		at = one.At.End
	}
	b.Write(body[at:])
	return b.String()
}

// textIn returns the texts of a value, each on a line, without settings and binary parts.
func textIn(value any) (text string) {
	switch v := value.(type) {
	case string:
		return v + "\n"
	case []any:
		for _, item := range v {
			text += textIn(item)
		}
	case map[string]any:
		kind, _ := v["type"].(string)
		for _, binary := range []string{"image", "audio", "screenshot", "base64"} {
			if strings.Contains(kind, binary) {
				return ""
			}
		}
		for name, item := range v {
			if !slices.Contains([]string{"type", "id", "file_id", "file_data", "media_type", "mime_type", "cache_control", "detail", "outcome"}, name) {
				text += textIn(item)
			}
		}
	}
	return text
}
