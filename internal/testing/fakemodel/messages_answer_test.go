package fakemodel_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

var padding = regexp.MustCompile(` +\}\n\n$`)

func TestMessagesStreamHasAnthropicsShape(t *testing.T) {
	a := fakemodel.Answer{
		ID: "msg_1", Model: "m", Reasoning: "hm", Fragment: 3, Usage: fakemodel.Usage{Prompt: 3, Completion: 4},
		Parts: []fakemodel.Part{
			{Reasoning: "hm"},
			{Item: `{"type": "redacted_thinking", "data": "x"}`},
			{Text: "höhö"},
			{Item: `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"q":1}}`},
			{Call: &fakemodel.Call{ID: "toolu_1", Name: "run", Arguments: `{"a":1}`}},
			{Call: &fakemodel.Call{ID: "toolu_2", Name: "stop", Arguments: `{}`}},
		},
	}
	event := func(kind, fields string) string {
		return "event: " + kind + "\ndata: " + `{"type":"` + kind + `"` + fields + "}\n\n"
	}
	start := func(i, block string) string {
		return event("content_block_start", `,"index":`+i+`,"content_block":`+block)
	}
	delta := func(i, delta string) string {
		return event("content_block_delta", `,"index":`+i+`,"delta":{"type":`+delta+`}`)
	}
	stop := func(i string) string { return event("content_block_stop", `,"index":`+i) }
	const ping = "event: ping\ndata: {\"type\": \"ping\"}\n\n"
	want := []string{
		event("message_start", `,"message":{"model":"m","id":"msg_1","type":"message","role":"assistant","content":[],"stop_reason":null,"stop_sequence":null,`+
			`"usage":{"input_tokens":3,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,`+
			`"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0},"output_tokens":1,"service_tier":"standard"}}`),
		start("0", `{"type":"thinking","thinking":"","signature":""}`), ping, delta("0", `"thinking_delta","thinking":"hm"`),
		delta("0", `"signature_delta","signature":"S"`), stop("0"),
		start("1", `{"type":"redacted_thinking","data":"x"}`), stop("1"),
		start("2", `{"type":"text","text":""}`), delta("2", `"text_delta","text":"höh"`), delta("2", `"text_delta","text":"ö"`), stop("2"),
		start("3", `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`), delta("3", `"input_json_delta","partial_json":""`),
		delta("3", `"input_json_delta","partial_json":"{\"q"`), delta("3", `"input_json_delta","partial_json":"\":1"`), delta("3", `"input_json_delta","partial_json":"}"`), stop("3"),
		start("4", `{"type":"tool_use","id":"toolu_1","name":"run","input":{},"caller":{"type":"direct"}}`), delta("4", `"input_json_delta","partial_json":""`),
		delta("4", `"input_json_delta","partial_json":"{\"a"`), delta("4", `"input_json_delta","partial_json":"\":1"`), delta("4", `"input_json_delta","partial_json":"}"`), stop("4"),
		start("5", `{"type":"tool_use","id":"toolu_2","name":"stop","input":{},"caller":{"type":"direct"}}`), delta("5", `"input_json_delta","partial_json":""`), stop("5"),
		event("message_delta", `,"delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":3,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":4}`),
		event("message_stop", ""),
	}
	var got []string
	padded := 0
	signed := regexp.MustCompile(`"signature":"Eq[^"]+"`)
	for _, e := range a.MessagesStream([]byte(`{"thinking":{"type":"adaptive"}}`)).Events() {
		plain := padding.ReplaceAllString(string(e), "}\n\n")
		if plain != string(e) {
			padded++
		}
		got = append(got, signed.ReplaceAllString(plain, `"signature":"S"`))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if padded < 10 {
		t.Errorf("%d events are padded, of %d", padded, len(got))
	}
}

func TestMessagesWhole(t *testing.T) {
	f := func(a fakemodel.Answer, request, content, reason string) {
		t.Helper()
		whole := a.MessagesStream([]byte(request)).Whole()
		if got := gjson.GetBytes(whole, "content").Raw; got != content || gjson.GetBytes(whole, "stop_reason").String() != reason || strings.Contains(string(whole), "\n") {
			t.Errorf("got %s, want content %s and stop reason %s", whole, content, reason)
		}
	}
	call := fakemodel.Call{ID: "t", Name: "n", Arguments: `{ "a": "<" }`}
	f(fakemodel.Answer{Reasoning: "hm", Text: "x"}, `{}`, `[{"type":"text","text":"x"}]`, "end_turn")
	f(fakemodel.Answer{}, `{}`, `[]`, "end_turn")
	f(fakemodel.Answer{Calls: []fakemodel.Call{call}}, `{}`, `[{"type":"tool_use","id":"t","name":"n","input":{"a":"<"},"caller":{"type":"direct"}}]`, "tool_use")
	f(fakemodel.Answer{Text: "x", Finish: "length"}, `{}`, `[{"type":"text","text":"x"}]`, "max_tokens")
	f(fakemodel.Answer{Text: "x", Finish: "content_filter"}, `{}`, `[{"type":"text","text":"x"}]`, "refusal")
	f(fakemodel.Answer{Text: "x", Finish: "pause_turn"}, `{}`, `[{"type":"text","text":"x"}]`, "pause_turn")
}
