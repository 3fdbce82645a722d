package chat

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
)

// What lies beside a released call and clients or providers use reaches the agent: fields of the
// event, of its choice, of its message and of the call. Of a denied call only known fields do.
func TestWhatLiesBesideACall(t *testing.T) {
	choice := func(fields string) string {
		return strings.Replace(event("{}", "null"), `"delta":{},"finish_reason":null`, fields, 1)
	}
	call := fn(`"index":0,"id":"a"`, "x", "{}")
	signed := `{"index":0,"id":"a","type":"function","function":{"name":"x","arguments":"{}"},"extra_content":{"google":{"thought_signature":"s/+0=","more":1}}}`
	rendered := opening(0, "a", "x", "{}")
	for name, tt := range map[string]struct{ answer, released, denied string }{
		"vLLM's stop_reason": {
			choice(`"delta":{"tool_calls":[` + call + `]},"finish_reason":"tool_calls","stop_reason":128008,"logprobs":null`),
			rendered + choice(`"delta":{},"finish_reason":"tool_calls","stop_reason":128008`),
			"",
		},
		"tokens of the call": {
			choice(`"delta":{"tool_calls":[`+call+`]},"finish_reason":null,"token_ids":[1,2]`) + finish,
			rendered + choice(`"delta":{},"finish_reason":null,"token_ids":[1,2]`) + finish,
			"",
		},
		"a tier in the only event": {
			strings.Replace(choice(`"delta":{"tool_calls":[`+call+`]},"finish_reason":"tool_calls"`), `"choices"`, `"service_tier":"default","x_groq":{"id":"r"},"choices"`, 1),
			rendered + strings.Replace(finish, `"finish_reason":"tool_calls"}]`, `"finish_reason":"tool_calls"}],"x_groq":{"id":"r"},"service_tier":"default"`, 1),
			"",
		},
		"metadata of the message": {
			event(`{"content":"Hm.","metadata":{"a":1},"reasoning_opaque":"o","tool_calls":[`+call+`]}`, "null") + finish,
			event(`{"content":"Hm.","metadata":{"a":1},"reasoning_opaque":"o"}`, "null") + rendered + finish,
			event(`{"content":"Hm.","reasoning_opaque":"o"}`, "null"),
		},
		"signatures of Gemini": {
			event(`{"role":"assistant","extra_content":{"google":{"thought_signature":"m"}},"tool_calls":[`+signed+`]}`, "stop"),
			event(`{"extra_content":{"google":{"thought_signature":"m"}}}`, "null") + event(`{"tool_calls":[`+signed+`]}`, "null") + event("{}", "stop"),
			event(`{"extra_content":{"google":{"thought_signature":"m"}}}`, "null"),
		},
		"what every event has": {
			strings.Replace(event(`{"tool_calls":[`+call+`]}`, "null"), `"choices"`, `"service_tier":"default","provider":"p","obfuscation":"xy","usage":null,"choices"`, 1) + finish,
			rendered + finish,
			"",
		},
	} {
		for _, sizes := range [][]byte{nil, {6, 200}} {
			p := play(t, request1, bodies(role+tt.answer+done), sizes, intercept.Limits{}, intercepttest.ReleaseAll)
			if d := cmp.Diff(role+tt.released+done, string(p.Out())); d != "" || p.Err != nil {
				t.Errorf("%s: %v (-want +got):\n%s", name, p.Err, d)
			}
			p = play(t, request1, bodies(role+tt.answer+done), sizes, intercept.Limits{MaxContinuations: -1}, intercepttest.DenyAll)
			if want := role + tt.denied; p.Err != nil || !strings.HasPrefix(string(p.Out()), want) {
				t.Errorf("%s, denied: %v, %s, want %s", name, p.Err, p.Out(), want)
			}
			for _, own := range []string{"stop_reason", "token_ids", "x_groq", "metadata"} {
				if strings.Contains(string(p.Out()), own) {
					t.Errorf("%s, denied: %s is in %s", name, own, p.Out())
				}
			}
		}
	}
}

// A whole answer keeps all but its calls as it came.
func TestWhatLiesBesideAWholeCall(t *testing.T) {
	const call = `{"id":"a","type":"function","function":{"name":"x","arguments":"{}","thought_signature":"t"},"extra_content":{"google":{"thought_signature":"s"}}}`
	body := strings.Replace(wholeOf(`{"role":"assistant","content":null,"metadata":{"a":1},"function_call":null,"annotations":[],"tool_calls":[`+call+`]}`), `"finish_reason"`, `"stop_reason":128008,"token_ids":[1],"finish_reason"`, 1)
	p := play(t, request1, bodies(body), nil, intercept.Limits{}, intercepttest.ReleaseAll)
	if d := cmp.Diff(body, string(p.Out())); d != "" || p.Err != nil {
		t.Errorf("%v (-want +got):\n%s", p.Err, d)
	}
}
