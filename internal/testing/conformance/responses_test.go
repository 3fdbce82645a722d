package conformance_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/internal/testing/conformance"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// numbered are events of Responses with sequence numbers. Each is given as its
// type and the fields after it.
func numbered(events ...string) []byte {
	var b strings.Builder
	for i, e := range events {
		kind, fields, _ := strings.Cut(e, " ")
		if fields != "" {
			fields = "," + fields
		}
		fmt.Fprintf(&b, "event: %s\ndata: {\"type\":%q,\"sequence_number\":%d%s}\n\n", kind, kind, i, fields)
	}
	return []byte(b.String())
}

const (
	created   = `response.created "response":{"id":"r","status":"in_progress","output":[]}`
	itemCall  = `{"id":"fc_1","type":"function_call","call_id":"c1","name":"run","arguments":"{\"a\":1}"}`
	addedCall = `response.output_item.added "output_index":0,"item":{"id":"fc_1","type":"function_call","call_id":"c1","name":"run","arguments":""}`
	deltaCall = `response.function_call_arguments.delta "output_index":0,"item_id":"fc_1","delta":"{\"a\":1}"`
	toldCall  = `response.function_call_arguments.done "output_index":0,"item_id":"fc_1","arguments":"{\"a\":1}"`
	doneCall  = `response.output_item.done "output_index":0,"item":` + itemCall
	completed = `response.completed "response":{"id":"r","status":"completed","output":[` + itemCall + `],"usage":{"input_tokens":1,"output_tokens":2,"total_tokens":3}}`
)

func TestResponsesFoldFindsTheCallsAClientFinds(t *testing.T) {
	f := func(body []byte, want ...conformance.Call) {
		t.Helper()
		var got []conformance.Call
		for _, call := range conformance.Responses.Fold(body).Calls() {
			got = append(got, *call)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("calls in %s (-want +got):\n%s", body, diff)
		}
	}
	call := conformance.Call{ID: "c1", Name: "run", Arguments: `{"a":1}`, Item: "fc_1"}
	f(numbered(created, addedCall, deltaCall, toldCall, doneCall, completed), call)
	f(numbered(created, addedCall, deltaCall), call) // cut off
	f(numbered(created, addedCall, toldCall), call)  // as LM Studio does
	f(numbered(created, completed), call)
	f([]byte(`{"object":"response","output":[`+itemCall+`]}`), call)

	item := func(item string) []byte { return []byte(`{"object":"response","output":[` + item + `]}`) }
	special := func(kind, name, arguments string) conformance.Call {
		return conformance.Call{ID: "c", Name: name, Arguments: arguments, Kind: kind, Item: "i"}
	}
	sql := special("custom_tool_call", "sql", "SELECT 1")
	sql.Custom = true
	f(item(`{"id":"i","type":"custom_tool_call","call_id":"c","name":"sql","input":"SELECT 1"}`), sql)
	f(item(`{"id":"i","type":"local_shell_call","call_id":"c","action":{"command":["ls"]}}`), special("local_shell_call", "local_shell", `{"command":["ls"]}`))
	f(item(`{"id":"i","type":"shell_call","call_id":"c","action":{"commands":["ls"]}}`), special("shell_call", "shell", `{"commands":["ls"]}`))
	f(item(`{"id":"i","type":"apply_patch_call","call_id":"c","operation":{"type":"x"}}`), special("apply_patch_call", "apply_patch", `{"type":"x"}`))
	f(item(`{"id":"i","type":"computer_call","call_id":"c","action":{"type":"x"}}`), special("computer_call", "computer", `{"type":"x"}`))
	f(item(`{"id":"i","type":"tool_search_call","execution":"client","call_id":"c","arguments":{"q":1}}`), special("tool_search_call", "tool_search", `{"q":1}`))
	approval := special("mcp_approval_request", "mcp__s__n", "{}")
	approval.ID = "i"
	f(item(`{"id":"i","type":"mcp_approval_request","server_label":"s","name":"n","arguments":"{}"}`), approval)

	// What the provider runs itself is no call.
	f(item(`{"type":"shell_call","call_id":"c","environment":{"type":"container_auto"},"action":{}}`))
	f(item(`{"type":"tool_search_call","execution":"server","arguments":{}}`))
	f(item(`{"type":"mcp_call","name":"n","arguments":"{}"}`))
	f(item(`{"type":"web_search_call","action":{}}`))
	f([]byte(`{"object":"response","tools":[{"type":"x_search"}],"output":[{"type":"custom_tool_call","name":"x_keyword_search","input":""}]}`))
}

func TestResponsesFoldReadsTheRest(t *testing.T) {
	got := conformance.Responses.Fold(numbered(created,
		`response.output_item.added "output_index":0,"item":{"id":"rs","type":"reasoning","summary":[]}`,
		`response.reasoning_summary_text.delta "output_index":0,"delta":"hm"`,
		`response.output_item.done "output_index":0,"item":{"id":"rs","type":"reasoning","summary":[{"text":"hm"}]}`,
		`response.output_item.added "output_index":1,"item":{"id":"m","type":"message","content":[]}`,
		`response.output_text.delta "output_index":1,"delta":"he"`,
		`response.output_text.delta "output_index":1,"delta":"llo"`,
		`error "error":{"code":"x"}`,
		`response.incomplete "response":{"id":"r","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[],"usage":{"input_tokens":1,"output_tokens":2,"total_tokens":3}}`))
	want := &conformance.Answer{
		Choices: []*conformance.Choice{{
			Text: "hello", Reasoning: "hm", Finishes: []string{"incomplete: max_output_tokens"},
			Items: []string{`{"id":"rs","type":"reasoning","summary":[{"text":"hm"}]}`, `{"id":"m","type":"message","content":[]}`},
		}},
		IDs: []string{"r"}, Errors: []string{`{"code":"x"}`}, Usage: conformance.Usage{Prompt: 1, Completion: 2, Total: 3},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

func TestResponsesCheckAnswer(t *testing.T) {
	f := func(body []byte, want ...string) {
		t.Helper()
		var got []string
		for _, p := range conformance.Responses.CheckAnswer(body) {
			got = append(got, p.Kind)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("problems of %s (-want +got):\n%s", body, diff)
		}
	}
	change := func(event, from, to string) string {
		t.Helper()
		if !strings.Contains(event, from) {
			t.Fatalf("%s does not hold %s", event, from)
		}
		return strings.ReplaceAll(event, from, to)
	}
	const added1 = `response.output_item.added "output_index":1,"item":{"id":"m","type":"message","content":[]}`
	good := []string{created, addedCall, deltaCall, toldCall, doneCall, completed}
	f(numbered(good...))
	f(numbered(created, addedCall, doneCall, completed))
	f(numbered(good[:5]...), "open")
	f(numbered(good[1:]...), "first event")
	f(numbered(append(good, `keepalive`)...), "after the end")
	f(numbered(created, created, addedCall, doneCall, completed), "created twice")
	f(numbered(created, change(addedCall, `"output_index":0`, `"output_index":1`), change(doneCall, `"output_index":0`, `"output_index":1`), completed), "output index")
	f(numbered(created, deltaCall, addedCall, doneCall, completed), "no such item")
	f(numbered(created, addedCall, doneCall, deltaCall, completed), "item ended")
	f(numbered(created, addedCall, completed), "item open", "closing output differs")
	f(numbered(created, addedCall, doneCall, added1, change(doneCall, `0,"item":`+itemCall, `1,"item":{"id":"m","type":"message"}`), completed), "closing output length")
	f(numbered(created, addedCall, change(doneCall, "fc_1", "fc_2"), completed), "item id changes", "closing output differs")
	f(numbered(created, addedCall, change(deltaCall, "fc_1", "fc_2"), doneCall, completed), "item id changes")
	f(numbered(created, addedCall, change(deltaCall, ":1", ":2"), toldCall, doneCall, completed), "pieces")
	f(numbered(created, addedCall, change(deltaCall, ":1", ":2"), doneCall, completed), "pieces")
	f(numbered(created, addedCall, doneCall, change(completed, `:1}`, `:2}`)), "closing output differs")
	f(numbered(created, addedCall, doneCall, change(completed, `"id":"r"`, `"id":"s"`)), "response id")
	f(numbered(created, addedCall, doneCall, change(completed, `"status":"completed"`, `"status":"failed"`)), "status")
	f(numbered(created, addedCall, doneCall, `response.completed "response":{"id":"r","status":"completed","output":[]}`), "closing output empty")
	f([]byte(change(string(numbered(good...)), `"sequence_number":4`, `"sequence_number":1`)), "sequence number back", "sequence number gap")
	f([]byte(change(string(numbered(good...)), `"sequence_number":5`, `"sequence_number":6`)), "sequence number gap")
	f([]byte(change(string(numbered(good...)), `"sequence_number":3,`, ``)))
	f([]byte(change(string(numbered(good...)), "event: response.created", "event: response.queued")), "event line")
	f(append(numbered(good[:5]...), "data: {\"type\"\n\n"...), "not JSON", "open")
	f([]byte(`{"object":"response","output":[` + itemCall + `]}`))
	f([]byte(`{"object":"response","output":[{"type":"function_call"}]}`), "call id")

	// The scripted model's output is right, item by item.
	for _, item := range []string{
		`{"type":"shell_call","status":"completed","action":{"commands":["ls","pwd"]}}`, `{"type":"local_shell_call","action":{"command":["ls"]}}`,
		`{"type":"apply_patch_call","operation":{"type":"create_file","diff":"+x\n"}}`, `{"type":"custom_tool_call","name":"sql","input":"SELECT"}`,
		`{"type":"mcp_call","arguments":"{}"}`, `{"type":"reasoning","encrypted_content":"","summary":[{"type":"summary_text","text":"hm"}]}`,
	} {
		f((&fakemodel.ResponsesStream{}).Begin().Item(item).Item(`{"type":"message","content":[{"type":"output_text","text":"hm"}]}`).Complete(fakemodel.Usage{}).Bytes())
	}
}

func TestResponsesLeaks(t *testing.T) {
	message := `{"id":"m","type":"message","content":[{"type":"output_text","text":"I run it"}]}`
	upstream := numbered(created, addedCall, deltaCall, toldCall, doneCall, `response.completed "response":{"id":"r","status":"completed","output":[`+message+`,`+itemCall+`]}`)
	secrets := conformance.Secrets(conformance.Responses.Fold(upstream).Calls(), nil)
	f := func(received []byte, leaks, calls int) {
		t.Helper()
		if got := conformance.Leaks(conformance.Responses, secrets, received, upstream); len(got) != leaks {
			t.Errorf("found %q in %s, want %d", got, received, leaks)
		}
		if got := conformance.Responses.StructuredCalls(received); got != calls {
			t.Errorf("%d calls in %s, want %d", got, received, calls)
		}
	}
	f(upstream, 3, 5) // item id, name ("run" in quotes), arguments
	f(numbered(created, `response.completed "response":{"id":"r","status":"completed","output":[`+message+`]}`), 0, 0)
	f(numbered(created, `response.output_item.added "output_index":0,"item":{"type":"shell_call"}`), 0, 1)
	f(numbered(created, `response.shell_call_command.delta "output_index":0`), 0, 1)
	f(numbered(created, `response.completed "response":{"output":[`+itemCall+`]}`), 3, 1)
}

func TestResponsesCheckConversation(t *testing.T) {
	f := func(input string, valid bool) {
		t.Helper()
		if err := conformance.Responses.CheckConversation([]byte(`{"input":[` + input + `]}`)); (err == nil) != valid {
			t.Errorf("%s: %v, want valid %t", input, err, valid)
		}
	}
	call := func(id string) string { return `{"type":"function_call","call_id":"` + id + `"}` }
	output := func(id string) string { return `{"type":"function_call_output","call_id":"` + id + `","output":"x"}` }
	const (
		user      = `{"role":"user","content":"x"}`
		says      = `{"type":"message","role":"assistant","content":"x"}`
		reasoning = `{"type":"reasoning","id":"rs"}`
	)
	f(user, true)
	f(user+","+reasoning+","+says+","+call("1")+","+call("2")+","+output("2")+","+output("1")+","+says, true)
	f(user+","+call("1")+","+output("1")+","+call("2")+","+output("2"), true) // as some agents replay parallel calls
	f(user+","+call("1")+","+call("2")+","+output("1"), false)
	f(user+","+call("1")+","+user+","+output("1"), false)
	f(user+","+call("1")+","+call("2")+","+output("1")+","+says+","+output("2"), false)
	f(user+","+call("1")+","+output("1")+","+output("1"), false)
	f(user+","+output("1"), false)
	f(user+","+output("1")+","+call("1"), false)
	f(user+","+call("1")+","+call("1")+","+output("1"), false)
	f(user+","+call("")+","+output(""), false)
	f(user+","+reasoning, false)
	f(user+","+reasoning+","+user, false)
	f(reasoning+","+says+","+reasoning+","+says, false)
	f(`{"role":"robot"}`, false)
	f(call("1")+`,{"type":"shell_call_output","call_id":"1"}`, false)
	f(`{"type":"local_shell_call","call_id":"1"},`+output("1"), true)
	f(`{"type":"custom_tool_call","call_id":"1"},{"type":"custom_tool_call_output","call_id":"1"},{"type":"custom_tool_call_output","call_id":"1"}`, true)
	f(`{"type":"mcp_approval_request","id":"1"},`+user, true)
	f(`{"type":"mcp_approval_request","id":"1"},{"type":"mcp_approval_response","approval_request_id":"1","approve":true}`, true)
	f(`{"type":"mcp_approval_response","approval_request_id":"1","approve":true}`, false)
}

func TestResponsesMemory(t *testing.T) {
	var m conformance.Memory
	expand := func(body string) (string, error) {
		expanded, err := m.Expand([]byte(body))
		return string(expanded), err
	}
	first := []byte(`{"input":"hi","conversation":"conv"}`)
	expanded, err := m.Expand(first)
	if err != nil {
		t.Fatal(err)
	}
	m.Keep(first, expanded, []byte(`{"object":"response","id":"r","output":[{"id":"m","type":"message","role":"assistant","content":"ho"}]}`))
	m.Keep([]byte(`{"input":"x","store":false}`), []byte(`{"input":"x"}`), []byte(`{"object":"response","id":"u","output":[]}`))
	const said = `{"input":[{"type":"message","role":"user","content":"hi"},{"id":"m","type":"message","role":"assistant","content":"ho"}`
	f := func(body, want string) {
		t.Helper()
		got, err := expand(body)
		if (want == "" && err == nil) || (want != "" && (err != nil || got != want)) {
			t.Errorf("%s became %s, %v, want %s", body, got, err, want)
		}
	}
	f(`{"input":[1],"previous_response_id":"r"}`, said+`,1]}`)
	f(`{"input":[1],"conversation":{"id":"conv"}}`, said+`,1]}`)
	f(`{"input":[{"type":"item_reference","id":"m"}]}`, `{"input":[{"id":"m","type":"message","role":"assistant","content":"ho"}]}`)
	f(`{"input":[],"previous_response_id":"u"}`, "")
	f(`{"input":[{"type":"item_reference","id":"x"}]}`, "")
	f(`{"input":[],"previous_response_id":"r","conversation":"conv"}`, "")
}

func TestResponsesTold(t *testing.T) {
	got := conformance.Responses.Told([]byte(`{"input":[
		{"type":"function_call","call_id":"0","name":"old","arguments":"{}"},{"type":"function_call_output","call_id":"0","output":"old"},
		{"role":"user","content":"x"},
		{"type":"function_call","call_id":"1","name":"f","arguments":"{}"},
		{"type":"local_shell_call","id":"i","call_id":"2","action":{"command":["ls"]}},
		{"type":"mcp_approval_request","id":"3","server_label":"s","name":"n","arguments":"{}"},
		{"type":"mcp_approval_response","approval_request_id":"3","approve":false,"reason":"no"},
		{"type":"local_shell_call_output","id":"2","output":"denied"},
		{"type":"function_call_output","call_id":"1","output":[{"type":"input_text","text":"done"}]}]}`))
	want := []conformance.Told{
		{Call: conformance.Call{ID: "1", Name: "f", Arguments: "{}"}, Result: "done"},
		{Call: conformance.Call{ID: "2", Name: "local_shell", Arguments: `{"command":["ls"]}`, Kind: "local_shell_call", Item: "i"}, Result: "denied"},
		{Call: conformance.Call{ID: "3", Name: "mcp__s__n", Arguments: "{}", Kind: "mcp_approval_request", Item: "3"}, Result: "false no"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

func TestResponsesThoughts(t *testing.T) {
	reasoning := `{"id":"rs","type":"reasoning","encrypted_content":"one","summary":[]}`
	answer := numbered(created,
		`response.output_item.added "output_index":0,"item":`+strings.Replace(reasoning, "one", "two", 1),
		`response.output_item.done "output_index":0,"item":`+reasoning, strings.ReplaceAll(addedCall, `"output_index":0`, `"output_index":1`))
	f := func(input string, valid bool) {
		t.Helper()
		if err := conformance.Responses.CheckThoughts(answer, []byte(`{"input":[`+input+`]}`)); (err == nil) != valid {
			t.Errorf("%s: %v, want valid %t", input, err, valid)
		}
	}
	f(reasoning+","+itemCall, true)
	f(strings.Replace(reasoning, "one", "two", 1)+","+itemCall, true)
	f(strings.Replace(reasoning, "one", "three", 1)+","+itemCall, false)
	f(strings.Replace(reasoning, "[]", `[{"text":"x"}]`, 1)+","+itemCall, false)
	f(itemCall, false)
	f(itemCall+","+reasoning, false)
	f(strings.Replace(itemCall, `"id":"fc_1",`, "", 1), true) // dropped together, as far as ids show
	f(`{"role":"user"}`, true)

	unsealed := []byte(strings.ReplaceAll(strings.ReplaceAll(string(answer), "one", ""), "two", ""))
	for store, valid := range map[string]bool{"true": false, "false": true} {
		body := []byte(`{"store":` + store + `,"input":[` + itemCall + `]}`)
		if err := conformance.Responses.CheckThoughts(unsealed, body); (err == nil) != valid {
			t.Errorf("store %s: %v, want valid %t", store, err, valid)
		}
	}
}
