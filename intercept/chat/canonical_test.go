package chat

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/heldcall/heldcall/intercept/strictjson"
)

// The arguments come in three fragments. Without the middle one they are valid too.
const (
	before, hidden, after = `{"cmd":"rm -rf /`, `tmp/junk`, `"}`
	judged                = before + hidden + after
)

var (
	middle    = more(0, hidden)
	canonical = opening(0, "call_a", "bash", judged)
	lead      = role + opening(0, "call_a", "bash", before)
	tail      = more(0, after) + finish + done
)

// with is an event in which one text is replaced by another.
func replaced(t *testing.T, event, old, with string) string {
	t.Helper()
	if !strings.Contains(event, old) {
		t.Fatalf("%q is not in %s", old, event)
	}
	return strings.Replace(event, old, with, 1)
}

// skipped are events that some clients skip, or do not read as a part of the call.
// Each is the middle event with a text replaced by another.
var skipped = []struct{ name, old, with string }{
	{"no object (openai-python)", `"object":"chat.completion.chunk",`, ``},
	{"empty object", `chat.completion.chunk`, ``},
	{"another object", `chat.completion.chunk`, `chat.completion`},
	{"object null", `"chat.completion.chunk"`, `null`},
	{"no id (openai-go)", `"id":"c1",`, ``},
	{"empty id", `"id":"c1"`, `"id":""`},
	{"another id", `"id":"c1"`, `"id":"c2"`},
	{"id is a number (AI SDK)", `"id":"c1"`, `"id":1`},
	{"event line (openai-python, openai-go, langchain)", `data: `, "event: thread.x\ndata: "},
	{"event line after", "\n\n", "\nevent: thread.x\n\n"},
	{"two event lines", `data: `, "event: x\nevent: thread.x\ndata: "},
	{"id line", `data: `, "id: 7\ndata: "},
	{"retry line", `data: `, "retry: 7\ndata: "},
	{"comment", `data: `, "id: 1\n: x\ndata: "},
	{"two data lines", `,"choices"`, ",\ndata: \"choices\""},
	{"role user (langchain)", `"delta":{`, `"delta":{"role":"user",`},
	{"empty role", `"delta":{`, `"delta":{"role":"",`},
	{"role is a number", `"delta":{`, `"delta":{"role":5,`},
	{"content is a number", `"delta":{`, `"delta":{"content":5,`},
	{"content is an object", `"delta":{`, `"delta":{"content":{},`},
	{"content is an array", `"delta":{`, `"delta":{"content":[],`},
	{"no number of the call (openai-node)", `{"index":0,"function"`, `{"function"`},
	{"number of the call null", `{"index":0,"function"`, `{"index":null,"function"`},
	{"no number of the choice", `{"index":0,"delta"`, `{"delta"`},
	{"number of the choice null", `{"index":0,"delta"`, `{"index":null,"delta"`},
	{"no time", `"created":7,`, ``},
	{"time is a string (AI SDK)", `"created":7`, `"created":"7"`},
	{"time is a fraction (Go)", `"created":7`, `"created":7.5`},
	{"time beyond a double (AI SDK)", `"created":7`, `"created":1e999`},
	{"model is a number (AI SDK)", `"model":"m1"`, `"model":5`},
	{"no model", `"model":"m1",`, ``},
	{"usage is a string (AI SDK)", `"choices":`, `"usage":"x","choices":`},
	{"usage of strings (AI SDK)", `"choices":`, `"usage":{"prompt_tokens":"1"},"choices":`},
	{"error null", `"choices":`, `"error":null,"choices":`},
	{"reasoning is a number (AI SDK)", `"delta":{`, `"delta":{"reasoning":5,`},
	{"reasoning_content is a number (AI SDK)", `"delta":{`, `"delta":{"reasoning_content":5,`},
	{"refusal is a number (AI SDK)", `"delta":{`, `"delta":{"refusal":5,`},
	{"annotations (AI SDK)", `"delta":{`, `"delta":{"annotations":[{}],`},
	{"extra_content is a number (AI SDK)", `{"index":0,"function"`, `{"extra_content":5,"index":0,"function"`},
	{"signature is a number (AI SDK)", `{"index":0,"function"`, `{"extra_content":{"google":{"thought_signature":5}},"index":0,"function"`},
	{"logprobs is a number (AI SDK)", `"finish_reason"`, `"logprobs":5,"finish_reason"`},
	{"logprobs without numbers (AI SDK)", `"finish_reason"`, `"logprobs":{"content":[{}]},"finish_reason"`},
	{"unknown field of the event", `"choices":`, `"x":1,"choices":`},
	{"unknown field of the choice", `"delta":`, `"x":1,"delta":`},
	{"unknown field of the delta", `"delta":{`, `"delta":{"x":1,`},
	{"unknown field of the entry", `{"index":0,"function"`, `{"x":1,"index":0,"function"`},
	{"unknown field of the function", `"arguments"`, `"x":1,"arguments"`},
	{"arguments twice (N3)", `"arguments"`, `"args":{"cmd":"x"},"arguments"`},
	{"__proto__ of the event", `"choices":`, `"__proto__":{},"choices":`},
	{"__proto__ of the choice", `"delta":`, `"__proto__":{"x":1},"delta":`},
	{"__proto__ of the delta", `"delta":{`, `"delta":{"__proto__":{},`},
	{"__proto__ of the entry (openai-node)", `{"index":0,"function"`, `{"__proto__":{"function":{"arguments":"x"}},"index":0,"function"`},
	{"__proto__ of the function", `"arguments"`, `"__proto__":{},"arguments"`},
	{"__proto__ in a known extra", `{"index":0,"function"`, `{"provider_specific_fields":{"a":{"__proto__":{}}},"index":0,"function"`},
	{"constructor in a known extra", `"delta":{`, `"delta":{"reasoning_details":[{"constructor":{}}],`},
	{"id repeated (openai-python)", `{"index":0,"function"`, `{"index":0,"id":"call_a","function"`},
	{"name repeated (openai-python, openai-go; N1)", `"arguments"`, `"name":"bash","arguments"`},
	{"another choice beside (AI SDK)", `"finish_reason":null}]`, `"finish_reason":null},{"index":1,"delta":{},"finish_reason":null}]`},
	{"message beside the delta (openai-node)", `"delta":`, `"message":{"role":"assistant"},"delta":`},
}

// Finding H1: an event that some clients skip is not released. The call that was
// judged goes out in canonical form.
func TestFragmentsThatClientsSkip(t *testing.T) {
	for _, tt := range skipped {
		t.Run(tt.name, func(t *testing.T) {
			body := lead + replaced(t, middle, tt.old, tt.with) + tail
			for _, sizes := range [][]byte{nil, {6, 200}} {
				p := play(t, request1, bodies(body), sizes, intercept.Limits{}, intercepttest.ReleaseAll)
				if p.Err != nil {
					t.Fatal(p.Err)
				}
				if c := p.Calls[0][0]; len(p.Calls[0]) != 1 || c.Arguments != judged || c.Ambiguous != nil || c.Flags != nil {
					t.Fatalf("shown %+v", p.Calls[0])
				}
				if d := cmp.Diff(role+canonical+finish+done, withoutRest(string(p.Out()))); d != "" {
					t.Errorf("released (-want +got):\n%s", d)
				}
				p = play(t, request1, bodies(body), sizes, intercept.Limits{}, intercepttest.EditAll)
				if d := cmp.Diff(role+opening(0, "call_a", "bash", intercepttest.Edited)+finish+done, withoutRest(string(p.Out()))); d != "" {
					t.Errorf("edited (-want +got):\n%s", d)
				}
			}
		})
	}
}

// withoutRest is a stream without the events in which heldcall keeps the other fields of
// events with calls.
func withoutRest(stream string) string {
	for _, rest := range []string{event(`{"role":"assistant"}`, "null"), event(`{"content":[]}`, "null"), event(`{"annotations":[{}]}`, "null"), replacedAll(event("{}", "null"), `null}]`, `null}],"usage":{"prompt_tokens":"1"}`), replacedAll(event("{}", "null"), `null}]`, `null}],"x":1`), replacedAll(event("{}", "null"), `null}]`, `null,"x":1}]`), replacedAll(event("{}", "null"), `null}]`, `null,"logprobs":{"content":[{}]}}]`), event(`{"x":1}`, "null")} {
		stream = strings.Replace(stream, rest, "", 1)
	}
	return stream
}

// Findings H1, H3, N1, N2: whatever makes the events of a call unlike those that
// every client reads, the agent gets it in canonical form.
func TestCallsInOddForms(t *testing.T) {
	proto := `"__proto__":{"function":{"arguments":"{\"cmd\":\"rm -rf /\"}"}}`
	signature := `"extra_content":{"google":{"thought_signature":"s"}}`
	for _, tt := range []struct{ name, body, want string }{
		{"__proto__ in the opening", role + entries(`{"index":0,"id":"a","type":"function","function":{"name":"bash","arguments":"{}"},`+proto+`}`) + end, role + opening(0, "a", "bash", "{}") + end},
		{"__proto__ without arguments", role + entries(`{"index":0,"id":"a","type":"function","function":{"name":"bash","arguments":""},`+proto+`}`) + end, role + opening(0, "a", "bash", "{}") + end},
		{"known extras stay", role + entries(`{"index":0,"id":"a","type":"function","x":1,`+signature+`,"function":{"name":"x","arguments":"{}","thought_signature":"s"}}`) + end, role + entries(`{"index":0,"id":"a","type":"function","function":{"name":"x","arguments":"{}","thought_signature":"s"},`+signature+`}`) + end},
		{"first number 1, then 0", role + opening(1, "a", "ba", "{}") + opening(0, "b", "sh", "{}") + end, role + opening(0, "a", "ba", "{}") + opening(1, "b", "sh", "{}") + end},
		{"no numbers", role + entries(fn(`"id":"a"`, "x", "{}"), fn(`"id":"b"`, "y", "{}")) + end, role + opening(0, "a", "x", "{}") + opening(1, "b", "y", "{}") + end},
		{"fragments interleave", role + opening(0, "a", "x", "{") + opening(1, "b", "y", "{") + more(0, "}") + more(1, "}") + end, role + opening(0, "a", "x", "{}") + opening(1, "b", "y", "{}") + end},
		{"choices interleave", role + opening(0, "a", "x", "{") + of(1, `{"tool_calls":[`+fn(`"index":0,"id":"b"`, "y", "{")+`]}`, "null") + more(0, "}") + of(1, `{"tool_calls":[`+part(`"index":0`, "}")+`]}`, "null") + end, role + opening(0, "a", "x", "{}") + of(1, `{"tool_calls":[`+fn(`"index":0,"id":"b"`, "y", "{}")+`]}`, "null") + end},
		{"a fragment after the finish", role + opening(0, "a", "x", "{") + finish + more(0, "}") + end, role + opening(0, "a", "x", "{}") + end},
		{"arguments are an object", role + entries(`{"index":0,"id":"a","type":"function","function":{"name":"x","arguments":{"c": 0}}}`) + end, role + opening(0, "a", "x", `{"c": 0}`) + end},
		{"empty custom part beside", role + entries(`{"index":0,"id":"a","type":"function","custom":{"name":"","input":""},"function":{"name":"x","arguments":"{}"}}`) + end, role + opening(0, "a", "x", "{}") + end},
		{
			"text, end and usage in the event", role + replacedAll(event(`{"x":1,"content":"Hm.","reasoning":"r","y":2,"tool_calls":[`+fn(`"index":0,"id":"a"`, "x", "{}")+`]}`, "stop"), `"stop"}]`, `"stop","logprobs":{"content":[]}}],"usage":{"total_tokens":1}`) + done,
			role + event(`{"x":1,"content":"Hm.","reasoning":"r","y":2}`, "null") + opening(0, "a", "x", "{}") + replacedAll(event("{}", "stop"), `"stop"}]`, `"stop","logprobs":{"content":[]}}],"usage":{"total_tokens":1}`) + done,
		},
		{"message beside delta", role + both(callList(fn(`"index":0,"id":"a"`, "x", "{")), callList(fn(`"index":0,"id":"a"`, "x", "{"))) + both(callList(part(`"index":0`, "}")), callList(fn(`"index":0,"id":"a"`, "x", "{}"))) + end, role + opening(0, "a", "x", "{}") + end},
		{"a message after", role + speech + opening(0, "a", "x", "{}") + both(`{}`, `{"role":"assistant","tool_calls":null}`) + end, role + speech + opening(0, "a", "x", "{}") + replacedAll(both(`{}`, ``), `"message":,`, ``) + end},
		{"legacy with another field", role + event(`{"function_call":{"name":"x","arguments":"{}","y":1}}`, "null") + end, role + event(`{"function_call":{"name":"x","arguments":"{}"}}`, "null") + end},
		{"custom with another field", role + entries(`{"index":0,"id":"a","type":"custom","custom":{"name":"x","input":"1","y":1}}`) + end, role + entries(`{"index":0,"id":"a","type":"custom","custom":{"name":"x","input":"1"}}`) + end},
		{"the last event lacks its end", role + event(`{"tool_calls":[`+fn(`"index":0,"id":"a"`, "x", "{}")+`]}`, "stop")[:len(event(`{"tool_calls":[`+fn(`"index":0,"id":"a"`, "x", "{}")+`]}`, "stop"))-1], role + opening(0, "a", "x", "{}") + event("{}", "stop")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := play(t, request1, bodies(tt.body), []byte{6, 200}, intercept.Limits{}, intercepttest.ReleaseAll)
			if p.Err != nil {
				t.Fatal(p.Err)
			}
			if d := cmp.Diff(tt.want, string(p.Out())); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			for _, rule := range []intercepttest.Ruler{intercepttest.EditAll, intercepttest.DenyAll} {
				p = play(t, request1, bodies(tt.body, finalWord), nil, intercept.Limits{}, rule)
				for _, own := range []string{"__proto__", `"x":1`, `"y":1`, `"logprobs":{`} {
					if strings.Contains(string(p.Out()), own) {
						t.Errorf("%s of the call is in %s", own, p.Out())
					}
				}
			}
		})
	}
}

func replacedAll(s, old, with string) string { return strings.ReplaceAll(s, old, with) }

// Finding H1 for whole answers: an entry with an unknown field is rendered in canonical form.
func TestWholeCallsInOddForms(t *testing.T) {
	good := fn(`"id":"a"`, "x", "{}")
	for _, tt := range []struct{ name, message, want string }{
		{"__proto__", callList(`{"id":"a","__proto__":{"function":{"arguments":"y"}},"type":"function","function":{"name":"x","arguments":"{}"}}`), callList(good)},
		{"unknown fields", callList(`{"id":"a","x":1,"type":"function","function":{"name":"x","arguments":"{}","y":{}}}`), callList(good)},
		{"no arguments", callList(`{"id":"a","type":"function","function":{"name":"x"}}`), callList(good)},
		{"arguments are an object", callList(`{"id":"a","type":"function","function":{"name":"x","arguments":{"c":0}}}`), callList(fn(`"id":"a"`, "x", `{"c":0}`))},
		{"another role", strings.Replace(callList(good), `"assistant"`, `0`, 1), callList(good)},
		{"another number", callList(`{"index":4,"id":"a","type":"function","function":{"name":"x","arguments":"{}"}}`), callList(good)},
		{"empty parts beside", `{"role":"assistant","content":null,"function_call":{"name":"","arguments":""},"tool_calls":[{"id":"a","type":"function","custom":{"input":"","name":""},"function":{"name":"x","arguments":"{}"}}]}`, callList(good)},
		{"legacy", `{"role":"assistant","function_call":{"name":"x","arguments":"{}","y":1}}`, `{"role":"assistant","function_call":{"name":"x","arguments":"{}"}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := play(t, request1, bodies(wholeOf(tt.message)), nil, intercept.Limits{}, intercepttest.ReleaseAll)
			if len(p.Calls[0]) != 1 {
				t.Errorf("shown %+v", p.Calls[0])
			}
			if d := cmp.Diff(wholeOf(tt.want), string(p.Out())); d != "" || p.Err != nil {
				t.Errorf("%v, released (-want +got):\n%s", p.Err, d)
			}
			p = play(t, request1, bodies(wholeOf(tt.message)), nil, intercept.Limits{}, intercepttest.EditAll)
			want := wholeOf(replacedAll(replacedAll(tt.want, `"{}"`, "ARGS"), `"{\"c\":0}"`, "ARGS"))
			if d := cmp.Diff(replacedAll(want, "ARGS", strictjson.Quote(intercepttest.Edited)), string(p.Out())); d != "" || p.Err != nil {
				t.Errorf("%v, edited (-want +got):\n%s", p.Err, d)
			}
		})
	}
}

// Finding F7: a stream that ends in HTTP without its API's own end was cut. Its calls
// are void.
func TestStreamWithoutItsEndIsCut(t *testing.T) {
	for _, body := range []string{
		role + opening(0, "a", "bash", "{}"), role + opening(0, "a", "bash", "") + more(0, `{"c"`), role + opening(0, "a", "bash", "{}") + usage,
		of(0, `{"content":"x"}`, "stop") + of(1, `{"tool_calls":[`+aCall+`]}`, "null"),
	} {
		p := play(t, twoAsked, bodies(body), []byte{6, 200}, intercept.Limits{}, intercepttest.ReleaseAll)
		var e *intercept.Error
		if !errors.As(p.Err, &e) || e.Code != intercept.CodeUpstreamCut || len(p.Calls) > 0 || strings.Contains(string(p.Out()), "bash") {
			t.Errorf("%v, asked %d times, %s", p.Err, len(p.Calls), p.Out())
		}
	}
	p := play(t, request1, bodies(role+speech), nil, intercept.Limits{}, intercepttest.ReleaseAll)
	if p.Err != nil || string(p.Out()) != role+speech {
		t.Errorf("text without an end: %v, %s", p.Err, p.Out())
	}
}

// Two function calls of the old form are one for clients: they are refused.
func TestTwoLegacyCallsInAChoice(t *testing.T) {
	body := role + both(`{"function_call":{"name":"x","arguments":"{}"}}`, `{"function_call":{"name":"y","arguments":"{}"}}`) + end
	for _, b := range []string{body, wholeOf(`{"function_call":` + aLegacy + `},"delta":{"function_call":{"name":"x","arguments":"{}"}}`)} {
		if p := play(t, request1, bodies(b), nil, intercept.Limits{}, intercepttest.ReleaseAll); p.Err == nil {
			t.Errorf("released as %s", p.Out())
		}
	}
}

// An answer with many calls is numbered through.
func TestCanonicalNumbers(t *testing.T) {
	body, want := role, role
	for i := range 12 {
		body += entries(fn(fmt.Sprintf(`"id":"c%d"`, i), "x", "{}"))
		if i%3 != 1 {
			want += opening(i-(i+1)/3, fmt.Sprint("c", i), "x", "{}")
		}
	}
	p := play(t, request1, bodies(body+end), nil, intercept.Limits{}, func(n int, _ intercept.Call) intercept.Ruling {
		if n%3 == 1 {
			return intercept.Ruling{ModelMessage: "No."}
		}
		return intercept.Ruling{Action: intercept.Release}
	})
	if d := cmp.Diff(want+end, string(p.Out())); d != "" || p.Err != nil {
		t.Errorf("%v (-want +got):\n%s", p.Err, d)
	}
}

// Near miss N4: the AI SDK reads all choices as one, and gives the arguments of a call
// in another choice to one that has none.
func TestCallsOfSeveralChoices(t *testing.T) {
	none, some := opening(0, "a", "deploy", ""), of(1, `{"tool_calls":[`+fn(`"index":0,"id":"b"`, "bash", `{"c":0}`)+`]}`, "null")
	ends := finish + of(1, "{}", "tool_calls") + done
	p := play(t, twoAsked, bodies(role+none+some+ends), []byte{6}, intercept.Limits{}, intercepttest.ReleaseAll)
	if d := cmp.Diff(role+opening(0, "a", "deploy", "{}")+some+ends, string(p.Out())); d != "" || p.Err != nil {
		t.Errorf("%v (-want +got):\n%s", p.Err, d)
	}
}

// A call without a name is read, by the AI SDK, as a part of the one before.
func TestCallWithoutANameBesideAnother(t *testing.T) {
	nameless := entries(fn(`"index":1,"id":"b"`, "", `{"c":0}`))
	for _, body := range []string{role + opening(0, "a", "x", "{}") + nameless + end, wholeOf(callList(fn(`"id":"a"`, "x", "{}") + "," + fn(`"id":"b"`, "", "{}")))} {
		if p := play(t, request1, bodies(body), nil, intercept.Limits{}, intercepttest.ReleaseAll); p.Err == nil {
			t.Errorf("released as %s", p.Out())
		}
	}
}
