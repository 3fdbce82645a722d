package fakemodel_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

var (
	wholeResponse = regexp.MustCompile(`"response":\{.*\},"sequence`)
	longID        = regexp.MustCompile(`"(rs|msg|fc|ctc|lsh|sh|apc|mcpr|ws|call)_[0-9a-f]{24,}"`)
	madeUpText    = regexp.MustCompile(`"(obfuscation|encrypted_content)":"[^"]+"`)
)

// brief returns a stream's events without generated values and repetitions.
func brief(events [][]byte) []string {
	var lines []string
	for _, event := range events {
		name, data, _ := strings.Cut(strings.TrimSuffix(string(event), "\n\n"), "\ndata: ")
		data = wholeResponse.ReplaceAllString(data, `"response":{},"sequence`)
		data = madeUpText.ReplaceAllString(longID.ReplaceAllString(data, `"${1}_"`), `"$1":""`)
		lines = append(lines, strings.TrimPrefix(name, "event: ")+" "+data)
	}
	return lines
}

func TestResponsesStreamHasOpenAIsShape(t *testing.T) {
	a := fakemodel.Answer{
		Reasoning: "hm", Text: "höhö", Fragment: 3,
		Calls: []fakemodel.Call{{ID: "call_1", Name: "run", Arguments: `{"a":1}`}, {Name: "sql", Arguments: "<>", Custom: true}},
	}
	request := `{"stream":true,"include":["reasoning.encrypted_content"],"reasoning":{"summary":"auto"}}`
	want := []string{
		`response.created {"type":"response.created","response":{},"sequence_number":0}`,
		`response.in_progress {"type":"response.in_progress","response":{},"sequence_number":1}`,
		`response.output_item.added {"type":"response.output_item.added","item":{"id":"rs_","type":"reasoning","encrypted_content":"","summary":[]},"output_index":0,"sequence_number":2}`,
		`response.reasoning_summary_part.added {"type":"response.reasoning_summary_part.added","item_id":"rs_","output_index":0,"part":{"type":"summary_text","text":""},"sequence_number":3,"summary_index":0}`,
		`response.reasoning_summary_text.delta {"type":"response.reasoning_summary_text.delta","delta":"hm","item_id":"rs_","obfuscation":"","output_index":0,"sequence_number":4,"summary_index":0}`,
		`response.reasoning_summary_text.done {"type":"response.reasoning_summary_text.done","item_id":"rs_","output_index":0,"sequence_number":5,"summary_index":0,"text":"hm"}`,
		`response.reasoning_summary_part.done {"type":"response.reasoning_summary_part.done","item_id":"rs_","output_index":0,"part":{"type":"summary_text","text":"hm"},"sequence_number":6,"summary_index":0}`,
		`response.output_item.done {"type":"response.output_item.done","item":{"id":"rs_","type":"reasoning","encrypted_content":"","summary":[{"type":"summary_text","text":"hm"}]},"output_index":0,"sequence_number":7}`,
		`response.output_item.added {"type":"response.output_item.added","item":{"id":"msg_","type":"message","status":"in_progress","content":[],"phase":"commentary","role":"assistant"},"output_index":1,"sequence_number":8}`,
		`response.content_part.added {"type":"response.content_part.added","content_index":0,"item_id":"msg_","output_index":1,"part":{"type":"output_text","annotations":[],"logprobs":[],"text":""},"sequence_number":9}`,
		`response.output_text.delta {"type":"response.output_text.delta","content_index":0,"delta":"höh","item_id":"msg_","logprobs":[],"obfuscation":"","output_index":1,"sequence_number":10}`,
		`response.output_text.delta {"type":"response.output_text.delta","content_index":0,"delta":"ö","item_id":"msg_","logprobs":[],"obfuscation":"","output_index":1,"sequence_number":11}`,
		`response.output_text.done {"type":"response.output_text.done","content_index":0,"item_id":"msg_","logprobs":[],"output_index":1,"sequence_number":12,"text":"höhö"}`,
		`response.content_part.done {"type":"response.content_part.done","content_index":0,"item_id":"msg_","output_index":1,"part":{"type":"output_text","annotations":[],"logprobs":[],"text":"höhö"},"sequence_number":13}`,
		`response.output_item.done {"type":"response.output_item.done","item":{"id":"msg_","type":"message","status":"completed","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":"höhö"}],"phase":"commentary","role":"assistant"},"output_index":1,"sequence_number":14}`,
		`response.output_item.added {"type":"response.output_item.added","item":{"id":"fc_","type":"function_call","status":"in_progress","arguments":"","call_id":"call_1","name":"run"},"output_index":2,"sequence_number":15}`,
		`response.function_call_arguments.delta {"type":"response.function_call_arguments.delta","delta":"{\"a","item_id":"fc_","obfuscation":"","output_index":2,"sequence_number":16}`,
		`response.function_call_arguments.delta {"type":"response.function_call_arguments.delta","delta":"\":1","item_id":"fc_","obfuscation":"","output_index":2,"sequence_number":17}`,
		`response.function_call_arguments.delta {"type":"response.function_call_arguments.delta","delta":"}","item_id":"fc_","obfuscation":"","output_index":2,"sequence_number":18}`,
		`response.function_call_arguments.done {"type":"response.function_call_arguments.done","arguments":"{\"a\":1}","item_id":"fc_","output_index":2,"sequence_number":19}`,
		`response.output_item.done {"type":"response.output_item.done","item":{"id":"fc_","type":"function_call","status":"completed","arguments":"{\"a\":1}","call_id":"call_1","name":"run"},"output_index":2,"sequence_number":20}`,
		`response.output_item.added {"type":"response.output_item.added","item":{"id":"ctc_","type":"custom_tool_call","status":"in_progress","input":"","name":"sql","call_id":"call_"},"output_index":3,"sequence_number":21}`,
		`response.custom_tool_call_input.delta {"type":"response.custom_tool_call_input.delta","delta":"<>","item_id":"ctc_","obfuscation":"","output_index":3,"sequence_number":22}`,
		`response.custom_tool_call_input.done {"type":"response.custom_tool_call_input.done","input":"<>","item_id":"ctc_","output_index":3,"sequence_number":23}`,
		`response.output_item.done {"type":"response.output_item.done","item":{"id":"ctc_","type":"custom_tool_call","status":"completed","input":"<>","name":"sql","call_id":"call_"},"output_index":3,"sequence_number":24}`,
		`response.completed {"type":"response.completed","response":{},"sequence_number":25}`,
	}
	s := a.ResponsesStream([]byte(request))
	if diff := cmp.Diff(want, brief(s.Events())); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// Items that others than functions are made of are streamed in their own way.
func TestResponsesItemsAreStreamedByType(t *testing.T) {
	f := func(item string, want ...string) {
		t.Helper()
		a := fakemodel.Answer{Parts: []fakemodel.Part{{Item: item}}, Fragment: 100}
		got := brief(a.ResponsesStream([]byte(`{"stream_options":{"include_obfuscation":false}}`)).Events())
		var events []string
		for _, line := range got[2 : len(got)-1] {
			name, data, _ := strings.Cut(line, " ")
			data = strings.NewReplacer(`"type":"`+name+`",`, "", `"output_index":0,`, "").Replace(data)
			events = append(events, name+" "+data)
		}
		if diff := cmp.Diff(want, events); diff != "" {
			t.Errorf("%s (-want +got):\n%s", item, diff)
		}
	}
	f(`{"type":"local_shell_call","status":"completed","action":{"type":"exec","command":["ls"],"env":{}},"call_id":"call_1"}`,
		`response.output_item.added {"item":{"id":"lsh_","type":"local_shell_call","status":"in_progress","action":{"type":"exec","command":[],"env":{}},"call_id":"call_1"},"sequence_number":2}`,
		`response.output_item.done {"item":{"id":"lsh_","type":"local_shell_call","status":"completed","action":{"type":"exec","command":["ls"],"env":{}},"call_id":"call_1"},"sequence_number":3}`)
	f(`{"id":"sh_1","type":"shell_call","status":"completed","action":{"commands":["ls"]},"call_id":"call_1"}`,
		`response.output_item.added {"item":{"id":"sh_1","type":"shell_call","status":"in_progress","action":{"commands":[]},"call_id":"call_1"},"sequence_number":2}`,
		`response.shell_call_command.added {"command":"","command_index":0,"sequence_number":3}`,
		`response.shell_call_command.delta {"command_index":0,"delta":"ls","sequence_number":4}`,
		`response.shell_call_command.done {"command":"ls","command_index":0,"sequence_number":5}`,
		`response.output_item.done {"item":{"id":"sh_1","type":"shell_call","status":"completed","action":{"commands":["ls"]},"call_id":"call_1"},"sequence_number":6}`)
	f(`{"id":"apc_1","type":"apply_patch_call","status":"completed","call_id":"c","operation":{"type":"create_file","diff":"+x","path":"p"}}`,
		`response.output_item.added {"item":{"id":"apc_1","type":"apply_patch_call","status":"in_progress","call_id":"c","operation":{"type":"create_file","diff":"","path":"p"}},"sequence_number":2}`,
		`response.apply_patch_call_operation_diff.delta {"delta":"+x","item_id":"apc_1","sequence_number":3}`,
		`response.apply_patch_call_operation_diff.done {"diff":"+x","item_id":"apc_1","sequence_number":4}`,
		`response.output_item.done {"item":{"id":"apc_1","type":"apply_patch_call","status":"completed","call_id":"c","operation":{"type":"create_file","diff":"+x","path":"p"}},"sequence_number":5}`)
	f(`{"type":"mcp_approval_request","arguments":"{}","name":"n","server_label":"s"}`,
		`response.output_item.added {"item":{"id":"mcpr_","type":"mcp_approval_request","arguments":"{}","name":"n","server_label":"s"},"sequence_number":2}`,
		`response.output_item.done {"item":{"id":"mcpr_","type":"mcp_approval_request","arguments":"{}","name":"n","server_label":"s"},"sequence_number":3}`)
	f(`{"type":"web_search_call","status":"completed","action":{"type":"search"}}`,
		`response.output_item.added {"item":{"id":"ws_","type":"web_search_call","status":"in_progress","action":{"type":"search"}},"sequence_number":2}`,
		`response.web_search_call.in_progress {"item_id":"ws_","sequence_number":3}`,
		`response.web_search_call.searching {"item_id":"ws_","sequence_number":4}`,
		`response.web_search_call.completed {"item_id":"ws_","sequence_number":5}`,
		`response.output_item.done {"item":{"id":"ws_","type":"web_search_call","status":"completed","action":{"type":"search"}},"sequence_number":6}`)
	f(`{"id":"x","type":"from_the_future","action":{}}`,
		`response.output_item.added {"item":{"id":"x","type":"from_the_future","action":{}},"sequence_number":2}`,
		`response.output_item.done {"item":{"id":"x","type":"from_the_future","action":{}},"sequence_number":3}`)
}

func TestResponsesRepeatWhatTheRequestSays(t *testing.T) {
	a := fakemodel.Answer{ID: "resp_1", Text: "x", Usage: fakemodel.Usage{Prompt: 3, Completion: 4}}
	s := a.ResponsesStream([]byte("{\"model\":\"m\",\"tools\": [ {\"type\":\n\"function\"} ],\"metadata\":{\"a\":\"<\"}}"))
	for i, event := range s.Events() {
		data := strings.SplitAfter(string(event), "data: ")[1]
		if !json.Valid([]byte(data)) || strings.Count(string(event), "\n") != 3 {
			t.Errorf("event %d is %q", i, event)
		}
	}
	closing := gjson.Get(strings.SplitAfter(string(s.Events()[len(s.Events())-1]), "data: ")[1], "response")
	f := func(path, want string) {
		t.Helper()
		if got := closing.Get(path).Raw; got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
		if got := gjson.GetBytes(s.Whole(), path+"|@ugly").Raw; got != want {
			t.Errorf("whole: %s is %s, want %s", path, got, want)
		}
	}
	f("id", `"resp_1"`)
	f("model", `"m"`)
	f("tools", `[{"type":"function"}]`)
	f("metadata", `{"a":"<"}`)
	f("store", `true`)
	f("status", `"completed"`)
	f("output.0.content.0.text", `"x"`)
	f("usage.total_tokens", `7`)
	f("conversation", "")
}

func TestResponsesEnd(t *testing.T) {
	f := func(a fakemodel.Answer, event, status, item string) {
		t.Helper()
		s := a.ResponsesStream(nil)
		last := string(s.Events()[len(s.Events())-1])
		got := fmt.Sprint(gjson.GetBytes(s.Whole(), "status"), " ", gjson.GetBytes(s.Whole(), "incomplete_details.reason"))
		if !strings.HasPrefix(last, "event: "+event+"\n") || got != status || gjson.GetBytes(s.Whole(), "output.0.status").String() != item {
			t.Errorf("ends with %s as %q: %s", last, got, s.Whole())
		}
	}
	f(fakemodel.Answer{Text: "x"}, "response.completed", "completed ", "completed")
	f(fakemodel.Answer{Calls: []fakemodel.Call{{Name: "a", Arguments: `{"x`}}, Finish: "length"}, "response.incomplete", "incomplete max_output_tokens", "incomplete")
	f(fakemodel.Answer{Text: "x", Finish: "content_filter"}, "response.incomplete", "incomplete content_filter", "completed")
	s := (&fakemodel.ResponsesStream{}).Begin().Keepalive().Fail("server_error", "no")
	want := []string{"response.created", "response.in_progress", "keepalive", "error", "response.failed"}
	var got []string
	for _, line := range brief(s.Events()) {
		name, _, _ := strings.Cut(line, " ")
		got = append(got, name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a failed stream (-want +got):\n%s", diff)
	}
}
