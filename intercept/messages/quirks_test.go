package messages

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
)

// quirk is one deviation of servers, with the calls that are read.
type quirk struct {
	name string
	body string
	// calls are those that need a ruling, as name(arguments); one that clients may
	// read in different ways ends in a question mark.
	calls []string
	// refused answers are not released at all.
	refused bool
}

const (
	mcpUse    = `{"type":"mcp_tool_use","id":"mcptoolu_1","name":"echo","input":{},"server_name":"echo-prod"}`
	mcpResult = `{"type":"mcp_tool_result","tool_use_id":"mcptoolu_1","is_error":false,"content":[{"type":"text","text":"hello"}]}`
	redacted  = `{"type":"redacted_thinking","data":"EmwKAhgBEgy"}`
)

// complete is a whole block that opens as it is.
func complete(index int, raw string) string { return opened(index, raw) + closed(index) }

var quirks = []quirk{
	// Section 3: the grammar.
	{name: "3.1 pings anywhere", body: ping + started("msg_1") + ping + begun(0, "a", "x") + ping + more(0, "{}") + ping + closed(0) + ping + ended("tool_use"), calls: []string{"x({})"}},
	{name: "3.1 an unknown event", body: started("msg_1") + sent("progress", `"percent":7`) + use(0, "a", "x", "{}") + ended("tool_use"), calls: []string{"x({})"}},
	{name: "3.2 no arguments, an empty piece", body: started("msg_1") + use(0, "a", "x", "") + ended("tool_use"), calls: []string{"x({})"}},
	{name: "3.2 no arguments, no piece", body: started("msg_1") + use(0, "a", "x") + ended("tool_use"), calls: []string{"x({})"}},
	{name: "3.2 no input field", body: started("msg_1") + complete(0, `{"type":"tool_use","id":"a","name":"x"}`) + ended("tool_use"), calls: []string{"x({})"}},
	{name: "3.2 input whole at the start", body: started("msg_1") + complete(0, aCall) + ended("tool_use"), calls: []string{`bash({"command":"ls"})`}},
	{name: "3.2 input at the start and in pieces", body: started("msg_1") + opened(0, aCall) + more(0, `{"b":1}`) + closed(0) + ended("tool_use"), calls: []string{`bash({"command":"ls"}{"b":1})?`}},
	{name: "3.3 blocks interleave", body: started("msg_1") + begun(0, "a", "x") + begun(1, "b", "y") + more(0, `{"c":`) + more(1, `{}`) + more(0, `0}`) + closed(0) + closed(1) + ended("tool_use"), calls: []string{`x({"c":0})?`, `y({})?`}},
	{name: "3.3 text within a call", body: started("msg_1") + begun(0, "a", "x") + text(1, "hm") + more(0, "{}") + closed(0) + ended("tool_use"), calls: []string{"x({})?"}},
	{name: "3.3 a call without an end", body: started("msg_1") + begun(0, "a", "x") + more(0, "{}") + ended("tool_use"), calls: []string{"x({})?"}},
	{name: "3.3 a call that ends twice", body: started("msg_1") + use(0, "a", "x", "{}") + closed(0) + ended("tool_use"), calls: []string{"x({})?"}},
	{name: "3.4 first index 1", body: started("msg_1") + use(1, "a", "x", "{}") + ended("tool_use"), calls: []string{"x({})"}},
	{name: "3.4 one index twice", body: started("msg_1") + use(0, "a", "x", "{}") + use(0, "b", "y", "{}") + ended("tool_use"), calls: []string{"x({})?", "y({})?"}},
	{name: "3.5 thinking between calls", body: started("msg_1") + thought(0, "hm", "s") + use(1, "a", "x", "{}") + thought(2, "ha", "s") + use(3, "b", "y", "{}") + ended("tool_use"), calls: []string{"x({})", "y({})"}},
	{name: "3.5 thinking without words", body: started("msg_1") + opened(0, `{"type":"thinking","thinking":"","signature":""}`) + added(0, `{"type":"signature_delta","signature":"s"}`) + closed(0) + use(1, "a", "x", "{}") + ended("tool_use"), calls: []string{"x({})"}},
	{name: "3.5 redacted thinking", body: started("msg_1") + complete(0, redacted) + use(1, "a", "x", "{}") + ended("tool_use"), calls: []string{"x({})"}},
	{name: "3.6 what the provider ran", body: started("msg_1") + opened(0, hosted) + more(0, `{"query":"x"}`) + closed(0) + complete(1, result) + complete(2, mcpUse) + complete(3, mcpResult) + text(4, "Found.") + ended("end_turn")},
	{name: "3.6 what the provider ran, beside a call", body: started("msg_1") + complete(0, mcpUse) + complete(1, mcpResult) + use(2, "a", "x", "{}") + ended("tool_use"), calls: []string{"x({})"}},
	{name: "3.6 called by the provider's code", body: started("msg_1") + complete(0, `{"type":"tool_use","id":"a","name":"x","input":{},"caller":{"type":"code_execution_20250825","tool_id":"srvtoolu_1"}}`) + ended("tool_use"), calls: []string{"x({})"}},
	{name: "3.6 tools listed, one of which speaks of calls", body: started("msg_1") + complete(0, `{"type":"mcp_tool_listing","mcp_server_name":"m","tools":[{"name":"dial","input_schema":{"type":"object","properties":{"callback":{"type":"string"},"name":{"type":"string"},"input":{"type":"object"}}}}]}`) +
		complete(1, `{"type":"compaction","content":"Before.","tool_changes":[{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"name":"dial","input_schema":{"properties":{"call":{"type":"string"}}}}}}]}`) + use(2, "a", "x", "{}") + ended("tool_use"), calls: []string{"x({})"}},
	{name: "3.6 a delta of an unknown type that is a call", body: started("msg_1") + opened(0, `{"type":"compaction","content":null}`) + added(0, `{"type":"compaction_delta","content":"x","then":`+aCall+`}`), refused: true},
	{name: "3.6 a delta that speaks of a call", body: started("msg_1") + opened(0, `{"type":"text","text":""}`) + added(0, `{"type":"tool_use_delta","name":"bash"}`), refused: true},
	{name: "3.6 a call among listed tools", body: started("msg_1") + complete(0, `{"type":"mcp_tool_listing","tools":[`+aCall+`]}`), refused: true},
	{name: "3.7 padded", body: strings.ReplaceAll(listed, "}\n", "       }\n"), calls: []string{`bash({"command":"ls"})`}},
	{name: "3.8 cut by max_tokens", body: started("msg_1") + begun(0, "a", "x") + more(0, `{"c":"d`) + closed(0) + ended("max_tokens"), calls: []string{`x({"c":"d)?`}},
	{name: "3.8 whole, and yet cut by max_tokens", body: started("msg_1") + use(0, "a", "x", `{}`) + use(1, "b", "y", `{}`) + ended("max_tokens"), calls: []string{"x({})", "y({})?"}},
	{name: "3.8 cut after a call", body: started("msg_1") + use(0, "a", "x", `{}`) + text(1, "and so") + ended("max_tokens"), calls: []string{"x({})"}},
	{name: "3.8 end_turn with a call", body: started("msg_1") + use(0, "a", "x", "{}") + ended("end_turn"), calls: []string{"x({})"}},
	{name: "3.8 refusal within a call", body: started("msg_1") + use(0, "a", "x", `{"c`) + ended("refusal"), calls: []string{`x({"c)?`}},
	{name: "3.8 no reason", body: started("msg_1") + use(0, "a", "x", `{}`) + stopped, calls: []string{"x({})"}},
	{name: "fine-grained streaming, no JSON", body: started("msg_1") + use(0, "a", "x", `{"c": tru`, `e, }`) + ended("tool_use"), calls: []string{`x({"c": true, })?`}},
	{name: "a name twice in the input", body: started("msg_1") + use(0, "a", "x", `{"c":1,`, `"c":2}`) + ended("tool_use"), calls: []string{`x({"c":1,"c":2})?`}},
	{name: "the input is no object", body: started("msg_1") + use(0, "a", "x", `[1]`) + ended("tool_use"), calls: []string{`x([1])?`}},
	{name: "no id", body: started("msg_1") + use(0, "", "x", `{}`) + ended("tool_use"), calls: []string{`x({})`}},
	{name: "one id twice", body: started("msg_1") + use(0, "a", "x", `{}`) + use(1, "a", "y", `{}`) + ended("tool_use"), calls: []string{`x({})?`, `y({})?`}},
	{name: "a name over 64 KiB of input", body: started("msg_1") + use(0, "a", "x", `{"c":"`, strings.Repeat("word ", 14000), `"}`) + ended("tool_use"), calls: []string{`x({"c":"` + strings.Repeat("word ", 14000) + `"})`}},
	{name: "blocks in message_start", body: strings.Replace(started("msg_1"), `"content":[]`, `"content":[`+aCall+`]`, 1) + ended("tool_use"), calls: []string{`bash({"command":"ls"})`}},
	{name: "citations", body: started("msg_1") + opened(0, `{"type":"text","text":"","citations":[]}`) + added(0, `{"type":"citations_delta","citation":{"type":"char_location","cited_text":"c","document_index":0}}`) + word(0, "c") + closed(0) + use(1, "a", "x", "{}") + ended("tool_use"), calls: []string{"x({})"}},
	// Sections 4 and 5: framing.
	{name: "4.23 [DONE]", body: listed + done, calls: []string{`bash({"command":"ls"})`}},
	{name: "4.24 no last blank line", body: strings.TrimSuffix(listed, "\n"), calls: []string{`bash({"command":"ls"})`}},
	{name: "4.32 comments", body: ": ping\n\n" + started("msg_1") + begun(0, "a", "x") + ": ping - now\n\n" + more(0, "{}") + closed(0) + ended("tool_use"), calls: []string{"x({})"}},
	{name: "4.36 CRLF", body: strings.ReplaceAll(listed, "\n", "\r\n"), calls: []string{`bash({"command":"ls"})`}},
	{name: "4.36 no blank after data", body: strings.ReplaceAll(listed, "data: ", "data:"), calls: []string{`bash({"command":"ls"})`}},
	{name: "5.12 no names", body: unnamed(listed), calls: []string{`bash({"command":"ls"})`}},
	{name: "5.12 some names", body: started("msg_1") + unnamed(one) + ended("tool_use"), calls: []string{`bash({"command":"ls"})?`}},
	{name: "5.12 some after blanks", body: started("msg_1") + strings.Replace(use(0, "a", "x", `{"c":"/`, `home`, `"}`), `data: {"type":"content_block_delta"`, ` data: {"type":"content_block_delta"`, 1) + ended("tool_use"), refused: true},
	{name: "5.12 an event within another", body: started("msg_1") + begun(0, "a", "bash") + "event: content_block_delta\n data: [\n" + strings.TrimPrefix(strings.TrimSuffix(more(0, "{}"), "\n"), "event: content_block_delta\n") + " data: ]\n\n", refused: true},
	{name: "5.12 a comment for some", body: started("msg_1") + begun(0, "a", "x") + strings.TrimSuffix(strings.ReplaceAll(": x\n"+more(0, "{}"), "\n", "\r"), "\r\r") + "\n\n", refused: true},
	{name: "3.6 a tool of the agent's own as if the provider ran it", body: started("msg_1") + complete(0, strings.Replace(aCall, "tool_use", "server_tool_use", 1)), refused: true},
	{name: "3.6 a call as a result", body: started("msg_1") + complete(0, strings.Replace(aCall, "tool_use", "bash_tool_result", 1)), refused: true},
	{name: "3.6 a block of a new type that is only read", body: started("msg_1") + complete(0, `{"type":"aside","text":"Hm."}`) + ended("end_turn")},
	{name: "3.6 a call of a new type", body: started("msg_1") + complete(0, `{"type":"bash_request","id":"t","command":"rm"}`), refused: true},
	{name: "3.6 a call of a new type, whole", body: whole(`{"type":"computer_action","id":"t","actions":[{"click":1}]}`, "tool_use"), refused: true},
	{name: "3.6 a call of a new type, in an object that others use for text", body: whole(`{"type":"run_use","id":"t","data":{"command":"bash"}}`, "tool_use"), refused: true},
	{name: "3.6 a call of a new type, in a list that others use for text", body: whole(`{"type":"run_use","id":"t","status":[{"command":"bash"}]}`, "tool_use"), refused: true},
	{name: "3.6 a call of a new type, in pieces", body: started("msg_1") + opened(0, `{"type":"run_use","id":"t"}`) + added(0, `{"type":"run_delta","command":"bash"}`), refused: true},
	{name: "3.6 a call of a new type, beside pieces of text", body: started("msg_1") + opened(0, `{"type":"run_use","id":"t"}`) + added(0, `{"type":"text_delta","text":"x","command":"bash"}`), refused: true},
	{name: "3.6 a call of a new type, begun with the message", body: strings.Replace(started("msg_1"), `"content":[]`, `"content":[{"type":"run_use","id":"t"}]`, 1) + added(0, `{"type":"run_delta","command":"bash"}`), refused: true},
	{name: "3.6 a call named as if it were thinking", body: whole(`{"type":"run_thinking","id":"t","name":"x","command":"bash"}`, "tool_use"), refused: true},
	{name: "3.6 a call named as if it were a result", body: whole(`{"type":"run_tool_result","id":"t","name":"x","command":"bash"}`, "tool_use"), refused: true},
	{name: "3.6 a call as an image", body: whole(`{"type":"image","id":"t","name":"x","command":"bash"}`, "tool_use"), refused: true},
	{name: "3.6 a block of a new type that is only read, in pieces", body: started("msg_1") + opened(0, `{"type":"aside","text":""}`) + word(0, "Hm.") + closed(0) + ended("end_turn")},
	{name: "3.6 an image", body: whole(`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBO"}}`, "end_turn")},
	{name: "3.6 a file, and another model than asked", body: started("msg_1") + complete(0, `{"type":"container_upload","file_id":"f"}`) + complete(1, `{"type":"fallback","from":{"model":"a"},"to":{"model":"b"},"trigger":{"type":"refusal"}}`) + text(2, "Done.") + ended("end_turn")},
	{name: "3.6 the results of every tool of the provider", body: whole(resultsOfAll(), "end_turn")},
	{name: "5.12 another name", body: started("msg_1") + strings.Replace(one, "event: content_block_start", "event: ping", 1), refused: true},
	// What no server has been seen to send.
	{name: "not JSON", body: "data: {\"type\":[\n\n", refused: true},
	{name: "a name twice", body: data(`{"type":"ping","type":"content_block_start","index":0,"content_block":` + aCall + `}`), refused: true},
	{name: "invalid UTF-8", body: "data: {\"type\":\"ping\",\"a\":\"\xff\"}\n\n", refused: true},
	{name: "two events on a line", body: "data: {}data: {}\n\n", refused: true},
	{name: "a misspelt field", body: data(strings.Replace(hostileC, "content_block\"", "Content_Block\"", 1)), refused: true},
	{name: "a misspelt type", body: started("msg_1") + complete(0, strings.Replace(aCall, `"type"`, `"Type"`, 1)), refused: true},
	{name: "an unknown kind of call", body: started("msg_1") + complete(0, strings.Replace(aCall, "tool_use", "browser_use", 1)), refused: true},
	{name: "a call in a result", body: started("msg_1") + complete(0, `{"type":"web_search_tool_result","tool_use_id":"s","content":[`+aCall+`]}`), refused: true},
	{name: "a call in a text block", body: started("msg_1") + complete(0, `{"type":"text","text":"","then":`+aCall+`}`), refused: true},
	{name: "a call in the usage", body: sent("message_delta", `"delta":{"stop_reason":"end_turn"},"usage":`+aCall), refused: true},
	{name: "a call in a ping", body: sent("ping", `"x":`+aCall), refused: true},
	{name: "a call in an error", body: sent("error", `"error":{"type":"x","message":"x","block":`+aCall+`}`), refused: true},
	{name: "an input of a text block", body: started("msg_1") + opened(0, `{"type":"text","text":""}`) + more(0, "{}"), refused: true},
	{name: "an input of no block", body: started("msg_1") + more(3, "{}"), refused: true},
	{name: "a call after the reason", body: started("msg_1") + sent("message_delta", `"delta":{"stop_reason":"end_turn"}`) + one, refused: true},
	{name: "a call after the end", body: finalWord + one, refused: true},
	{name: "a name that is no string", body: started("msg_1") + complete(0, `{"type":"tool_use","id":"a","name":1,"input":{}}`), refused: true},
	{name: "a block that is no object", body: started("msg_1") + opened(0, `[`+aCall+`]`), refused: true},
	{name: "an index below zero", body: started("msg_1") + opened(-1, aCall), refused: true},
	{name: "a call of Chat Completions", body: data(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"bash","arguments":"{}"}}]}}]}`), refused: true},
	{name: "a call of Responses", body: data(`{"type":"response.function_call_arguments.delta","delta":"{"}`), refused: true},
	{name: "HTML", body: "<html>bash", refused: true},
	// Whole answers.
	{name: "whole", body: whole(`{"type":"text","text":"Look."},`+aCall, "tool_use"), calls: []string{`bash({"command":"ls"})`}},
	{name: "whole, without calls", body: whole(`{"type":"text","text":"Hi."},`+hosted+`,`+result, "end_turn")},
	{name: "whole, the input as text", body: whole(`{"type":"tool_use","id":"a","name":"x","input":"{}"}`, "tool_use"), calls: []string{`x("{}")?`}},
	{name: "whole, null for an input", body: whole(`{"type":"tool_use","id":"a","name":"x","input":null}`, "tool_use"), calls: []string{`x({})`}},
	{name: "whole, in a list", body: `[` + whole(aCall, "tool_use") + `]`, refused: true},
	{name: "whole, and another", body: whole("", "end_turn") + whole(aCall, "tool_use"), refused: true},
	{name: "whole, an error with a call", body: `{"type":"error","error":{},"content":[` + aCall + `]}`, refused: true},
}

// resultsOfAll is a result of each kind that the API has.
func resultsOfAll() string {
	var blocks []string
	for _, tool := range []string{"web_search", "web_fetch", "advisor", "code_execution", "bash_code_execution", "text_editor_code_execution", "tool_search", "mcp"} {
		blocks = append(blocks, `{"type":"`+tool+`_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"x","stdout":"done"}}`)
	}
	return strings.Join(blocks, ",")
}

// reading lists calls as the quirks do.
func reading(calls []intercept.Call) (list []string) {
	for _, c := range calls {
		s := c.Name + "(" + c.Arguments + ")"
		if len(c.Ambiguous) > 0 {
			s += "?"
		}
		list = append(list, s)
	}
	return list
}

func TestQuirks(t *testing.T) {
	for _, q := range quirks {
		t.Run(q.name, func(t *testing.T) {
			for _, sizes := range [][]byte{nil, {0}, {6}, {63, 200}} {
				p := play(t, bodies(q.body), sizes, intercept.Limits{}, intercepttest.ReleaseAll)
				if (p.Err != nil) != q.refused {
					t.Fatalf("refused: %v", p.Err)
				}
				if q.refused {
					if out := string(p.Out()); leak(p.Out()) != "" || strings.Contains(out, "bash") {
						t.Fatalf("refused, and yet passed %q", out)
					}
					continue
				}
				if d := cmp.Diff(q.calls, reading(p.Calls[0])); d != "" {
					t.Fatalf("calls (-want +got):\n%s", d)
				}
				checkReleased(t, []byte(q.body), sizes)
				checkDenied(t, []byte(q.body), []byte(finalWord), sizes)
				checkRewritten(t, q, sizes)
			}
		})
	}
}

// checkRewritten denies all calls, then edits all, then denies the first, and
// reads what the agent got as its SDK does, and as heldcall does.
func checkRewritten(t *testing.T, q quirk, sizes []byte) {
	t.Helper()
	if len(q.calls) == 0 {
		return
	}
	fold, last := foldStrict, finalWord
	if strings.HasPrefix(q.body, "{") {
		fold, last = foldWhole, whole(textBlock("Very well."), "end_turn")
	}
	if strings.HasPrefix(q.name, "5.12") { // no SDK reads what has no name
		fold = nil
	}
	run := func(what string, rule intercepttest.Ruler, want []string) {
		t.Helper()
		p := play(t, bodies(q.body, last), sizes, intercept.Limits{}, rule)
		if p.Err != nil {
			t.Fatalf("%s: %v", what, p.Err)
		}
		again := play(t, [][]byte{p.Out()}, nil, intercept.Limits{}, intercepttest.ReleaseAll)
		if again.Err != nil {
			t.Fatalf("%s: cannot be read: %v in %s", what, again.Err, p.Out())
		}
		var got []string
		for _, c := range again.Calls[0] {
			got = append(got, c.Name+"("+c.Arguments+")")
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("%s (-want +got):\n%s\nin %s", what, d, p.Out())
		}
		if fold == nil || (strings.HasPrefix(q.name, "3.3") && len(want) > 0) {
			return
		}
		m, err := fold(string(p.Out()))
		if err != nil || len(m.calls()) != len(want) || (len(want) == 0 && m.stop != "end_turn") {
			t.Fatalf("%s: %v: %+v in %s", what, err, m, p.Out())
		}
	}
	var plain, edited []string
	for _, c := range q.calls {
		c = strings.TrimSuffix(c, "?")
		plain = append(plain, c)
		edited = append(edited, c[:strings.IndexByte(c, '(')]+"("+intercepttest.Edited+")")
	}
	run("denied", intercepttest.DenyAll, nil)
	run("edited", intercepttest.EditAll, edited)
	if len(plain) > 1 {
		run("the first denied", first(intercepttest.DenyAll), plain[1:])
	}
}

// A fragment that only some readers of the stream see would make up another input
// for them than was judged.
func TestFragmentsThatSomeReadersSkip(t *testing.T) {
	hidden := more(0, `"b":2,`)
	for _, part := range []string{" " + strings.Replace(hidden, "\ndata", "\n data", 1), strings.Replace(hidden, "\ndata", "\n data", 1), "\ufeff" + hidden, strings.ReplaceAll(hidden, "\n", "\r"), ": x\r" + hidden} {
		p := newPlayer(t, request1, 1<<20, intercept.Limits{})
		if err := p.Feed(started("msg_1") + begun(0, "a", "bash") + more(0, `{"a":1,`) + part + more(0, `"c":3}`) + closed(0) + ended("tool_use")); err == nil {
			t.Errorf("%q was understood", part)
		}
	}
}
