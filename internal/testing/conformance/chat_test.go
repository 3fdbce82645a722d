package conformance_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/internal/testing/conformance"
)

func delta(d string) string {
	return `data: {"id":"a","choices":[{"index":0,"delta":` + d + `}]}` + "\n\n"
}

func TestFoldFindsTheCallsAClientFinds(t *testing.T) {
	f := func(body string, want ...conformance.Call) {
		t.Helper()
		var got []conformance.Call
		for _, call := range conformance.Fold([]byte(body)).Calls() {
			got = append(got, *call)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	}
	a, b := conformance.Call{Index: 0, ID: "1", Name: "x", Arguments: `{"a":1}`}, conformance.Call{Index: 1, ID: "2", Name: "y", Arguments: `{}`}
	f(delta(`{"tool_calls":[{"index":0,"id":"1","function":{"name":"x","arguments":""}}]}`)+
		delta(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\""}}]}`)+
		delta(`{"tool_calls":[{"index":1,"id":"2","function":{"name":"y","arguments":null}}]}`)+
		delta(`{"tool_calls":[{"index":0,"id":"","function":{"name":null,"arguments":":1}"}},{"index":1,"id":"2","function":{"arguments":"{}"}}]}`), a, b)
	// Framing that only a lenient client reads.
	f(" data:"+`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"1","function":{"name":"x","arguments":"{\"a\":1}"}}]}}]}`+"\r\n", a)
	f("data: {\"type\":\"keepalive\"}\ndata: "+`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"1","function":{"name":"x","arguments":"{\"a\":1}"}}]}}]}`, a)
	// The same index with another id is another call.
	b.Index = 0
	f(delta(`{"tool_calls":[{"index":0,"id":"1","function":{"name":"x","arguments":"{\"a\":1}"}}]}`)+
		delta(`{"tool_calls":[{"index":0,"id":"2","function":{"name":"y","arguments":"{}"}}]}`), a, b)
	// No index at all.
	a.Index, b.Index = -1, -1
	f(delta(`{"tool_calls":[{"id":"1","function":{"name":"x","arguments":"{\"a\":"}},{"id":"2","function":{"name":"y","arguments":"{}"}}]}`)+
		delta(`{"tool_calls":[{"id":"1","function":{"arguments":"1}"}}]}`), a, b)
	f(`{"choices":[{"message":{"tool_calls":[{"id":"1","function":{"name":"x","arguments":"{\"a\":1}"}},{"id":"2","function":{"name":"y","arguments":"{}"}}]}}]}`, a, b)
	f(`{"choices":[{"message":{"function_call":{"name":"x","arguments":"{\"a\":1}"}}}]}`,
		conformance.Call{Index: -1, Name: "x", Arguments: `{"a":1}`, Legacy: true})
	f(`{"choices":[{"message":{"tool_calls":[{"id":"1","type":"custom","custom":{"name":"x","input":"free text"}}]}}]}`,
		conformance.Call{Index: -1, ID: "1", Name: "x", Arguments: "free text", Custom: true})
	f(`{"choices":[{"message":{"content":"no call","function_call":{"name":""}}}]}`)
}

func TestFoldReadsTheRest(t *testing.T) {
	got := conformance.Fold([]byte(": comment\n\n" +
		`data: {"id":"a","choices":[{"index":1,"delta":{"role":"assistant","content":"he","reasoning_content":"hm"},"message":{"content":"he"}}]}` + "\n\n" +
		`data: {"id":"b","choices":[{"index":1,"delta":{"content":"llo"},"finish_reason":"stop"}]}` + "\n\n" +
		"data: {broken\n\n" +
		`data: {"error":{"code":"x"},"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}` + "\n\n" +
		"data: [DONE]\n\ndata: {}\n\n"))
	want := &conformance.Answer{
		Choices:   []*conformance.Choice{{Index: 1, Text: "hello", Reasoning: "hm", Roles: 1, Finishes: []string{"stop"}}},
		IDs:       []string{"a", "b"},
		Usage:     conformance.Usage{Prompt: 1, Completion: 2, Total: 3},
		Done:      1,
		Late:      true,
		Errors:    []string{`{"code":"x"}`},
		Malformed: []string{"{broken"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

func TestLeaksAreFound(t *testing.T) {
	upstream := delta(`{"content":"I use delete_file now"}`) +
		delta(`{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"delete_file","arguments":"{\"path\":\"/home/ann\"}"}}]}`)
	secrets := conformance.Secrets(conformance.Fold([]byte(upstream)).Calls(), nil)
	f := func(received string, want int) {
		t.Helper()
		if got := conformance.Leaks(conformance.Chat, secrets, []byte(received), []byte(upstream)); len(got) != want {
			t.Errorf("found %q in %s, want %d", got, received, want)
		}
	}
	f(delta(`{"content":"I use delete_file now"}`), 0)
	f(delta(`{"content":"I use delete_file now, delete_file"}`), 1)
	f(delta(`{"tool_calls":[{"id":"call_1"}]}`), 1)
	f(`: /home/ann`, 1)
	f(upstream, 4) // id, name, arguments and the path in them

	allowed := []*conformance.Call{{ID: "call_2", Name: "delete_file", Arguments: `{"path":"/home/bob"}`}}
	secrets = conformance.Secrets(conformance.Fold([]byte(upstream)).Calls(), allowed)
	f(delta(`{"content":"delete_file delete_file delete_file"}`), 0)
	f(`: /home/ann`, 1)
}

func TestStructuredCallsAreCounted(t *testing.T) {
	f := func(body string, want int) {
		t.Helper()
		if got := conformance.Chat.StructuredCalls([]byte(body)); got != want {
			t.Errorf("%d calls in %s, want %d", got, body, want)
		}
	}
	f(delta(`{"content":"x"}`)+"data: [DONE]\n\n", 0)
	f(delta(`{"tool_calls":[{},{}]}`)+delta(`{"function_call":{}}`), 3)
	f(`{"choices":[{"delta":{},"message":{"tool_calls":[{}]}}]}`, 1)
}

func TestCheckConversation(t *testing.T) {
	f := func(messages string, valid bool) {
		t.Helper()
		if err := conformance.CheckConversation([]byte(`{"messages":[` + messages + `]}`)); (err == nil) != valid {
			t.Errorf("%s: %v, want valid %t", messages, err, valid)
		}
	}
	user := `{"role":"user","content":"x"}`
	calls := `{"role":"assistant","tool_calls":[{"id":"1"},{"id":"2"}]}`
	one, two := `{"role":"tool","tool_call_id":"1","content":"a"}`, `{"role":"tool","tool_call_id":"2","content":"b"}`
	legacy, result := `{"role":"assistant","function_call":{"name":"f"}}`, `{"role":"function","name":"f","content":"c"}`
	f(user, true)
	f(user+","+calls+","+two+","+one+","+user, true)
	f(user+","+legacy+","+result, true)
	f(calls+","+one, false)
	f(calls+","+one+","+user+","+two, false)
	f(calls+","+one+","+two+","+two, false)
	f(user+","+one, false)
	f(legacy+","+user, false)
	f(legacy, false)
	f(user+","+result, false)
	f(`{"role":"robot"}`, false)
	f(`{"role":"assistant","tool_calls":[{"id":"1"},{"id":"1"}]},`+one+","+one, false)
}

func TestToldOf(t *testing.T) {
	_, got := conformance.ToldOf([]byte(`{"messages":[
		{"role":"assistant","tool_calls":[{"id":"0","function":{"name":"old","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"0","content":"old"},
		{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"f","arguments":"{}"}},{"id":"2","type":"custom","custom":{"name":"g","input":"text"}}]},
		{"role":"tool","tool_call_id":"2","content":[{"type":"text","text":"de"},{"type":"text","text":"nied"}]},
		{"role":"tool","tool_call_id":"1","content":"done"}]}`))
	want := []conformance.Told{
		{Call: conformance.Call{ID: "1", Name: "f", Arguments: "{}"}, Result: "done"},
		{Call: conformance.Call{ID: "2", Name: "g", Arguments: "text", Custom: true}, Result: "denied"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

func TestCheckPrefix(t *testing.T) {
	original := []byte(`{"messages":[{"role":"user", "content":"x"}]}`)
	f := func(body string, same bool) {
		t.Helper()
		if err := conformance.Chat.CheckPrefix(original, []byte(body)); (err == nil) != same {
			t.Errorf("%s: %v, want the same %t", body, err, same)
		}
	}
	f(`{"messages":[{"role":"user", "content":"x"},{"role":"assistant"}]}`, true)
	f(`{"messages":[{"role":"user","content":"x"}]}`, false)
	f(`{"messages":[]}`, false)
}
