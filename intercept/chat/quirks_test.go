package chat

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// quirk is one way in which servers deviate, with the calls that are read.
type quirk struct {
	name string
	body string
	// calls are those that need a ruling, as name(arguments); one that clients may
	// read in different ways ends in a question mark.
	calls []string
	// refused answers are not released at all.
	refused bool
}

// delta renders an event of a choice without a finish reason.
func delta(choice int, d string) string {
	return strings.Replace(event(d, "null"), `"index":0,"delta"`, fmt.Sprintf(`"index":%d,"delta"`, choice), 1)
}

// entries renders an event with entries of tool_calls.
func entries(list ...string) string { return delta(0, `{"tool_calls":[`+strings.Join(list, ",")+`]}`) }

func fn(fields, name, args string) string {
	if fields != "" {
		fields += ","
	}
	return `{` + fields + `"type":"function","function":{"name":` + strictjson.Quote(name) + `,"arguments":` + strictjson.Quote(args) + `}}`
}

// part is a fragment that continues a call.
func part(fields, args string) string {
	if fields != "" {
		fields += ","
	}
	return `{` + fields + `"function":{"arguments":` + strictjson.Quote(args) + `}}`
}

var end = finish + done

// both renders an event with delta and message.
func both(delta, message string) string {
	return data(`{"id":"c1","object":"chat.completion.chunk","created":7,"model":"m1","choices":[{"index":0,"message":` + message + `,"delta":` + delta + `}]}`)
}

func callList(list string) string {
	return `{"role":"assistant","content":null,"tool_calls":[` + list + `]}`
}

var quirks = []quirk{
	// Section 1: the grammar.
	{name: "1.4 two choices interleave", body: delta(0, callList(fn(`"index":0,"id":"a"`, "x", `{"c":`))) + delta(1, callList(fn(`"index":0,"id":"b"`, "y", `{`))) +
		delta(0, callList(part(`"index":0`, `0}`))) + delta(1, callList(part(`"index":0`, `}`))) + end, calls: []string{`x({"c":0})`, `y({})`}},
	{name: "1.5 fragments of two calls interleave", body: role + entries(fn(`"index":0,"id":"a"`, "x", "")) + entries(fn(`"index":1,"id":"b"`, "y", "")) + entries(part(`"index":0`, `{"c":`), part(`"index":1`, `{`)) +
		entries(part(`"index":1`, `}`)) + entries(part(`"index":0`, `0}`)) + end, calls: []string{`x({"c":0})`, `y({})`}},
	{name: "1.6 text in the delta of a call", body: delta(0, `{"role":"assistant","content":"Look.","tool_calls":[`+fn(`"index":0,"id":"a"`, "x", "{}")+`]}`) + end, calls: []string{"x({})"}},
	{name: "1.6 text between calls", body: role + opening(0, "a", "x", "{}") + speech + opening(1, "b", "y", "{}") + finish + done, calls: []string{"x({})", "y({})"}},
	{name: "1.8 custom tool", body: role + entries(`{"index":0,"id":"a","type":"custom","custom":{"name":"x","input":"print("}}`) + entries(`{"index":0,"custom":{"input":"1)"}}`) + end, calls: []string{"x(print(1))"}},
	{name: "1.8 custom tool, whole", body: whole(`{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"custom","custom":{"name":"x","input":"1"}}]}`, "tool_calls"), calls: []string{"x(1)"}},
	{name: "1.9 legacy function_call", body: legacyStream, calls: []string{"bash({})"}},
	{name: "1.9 legacy function_call, whole", body: whole(`{"role":"assistant","content":null,"function_call":{"name":"x","arguments":"{}"}}`, "function_call"), calls: []string{"x({})"}},
	{name: "1.11 finish stop with a call", body: role + opening(0, "a", "x", "{}") + event("{}", "stop") + done, calls: []string{"x({})"}},
	{name: "legacy beside tool_calls", body: delta(0, `{"role":"assistant","tool_calls":[`+fn(`"index":0,"id":"a"`, "x", "{}")+`],"function_call":{"name":"y","arguments":"{}"}}`) + end, calls: []string{"x({})", "y({})"}},
	// Section 4: index and identity.
	{name: "4.1 all at index 0 without ids", body: role + entries(fn(`"index":0,"id":""`, "x", `{"c":0}`)) + entries(fn(`"index":0,"id":""`, "y", `{}`)) + end, calls: []string{`x({"c":0})?`, "y({})?"}},
	{name: "4.1 no index, empty ids", body: role + entries(fn(`"id":""`, "x", `{}`)) + entries(fn(`"id":""`, "x", `{}`)) + end, calls: []string{"x({})?", "x({})?"}},
	{name: "4.2 a new id at a known index", body: role + entries(fn(`"index":0,"id":"a"`, "x", `{}`)) + entries(fn(`"index":0,"id":"b"`, "x", `{}`)) + end, calls: []string{"x({})?", "x({})?"}},
	{name: "4.3 two entries of index 0 in one delta", body: role + entries(fn(`"index":0,"id":"a"`, "x", `{}`), fn(`"index":0,"id":"b"`, "y", `{}`)) + end, calls: []string{"x({})?", "y({})?"}},
	{name: "4.3 two entries of one id in one delta", body: role + entries(fn(`"index":0,"id":"a"`, "x", `{`), fn(`"index":0,"id":"a"`, "x", `}`)) + end, calls: []string{"x({})?"}},
	{name: "4.4 no index, no type, finish in the same delta", body: data(`{"id":"c1","object":"chat.completion.chunk","created":7,"model":"m1","choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"id":"aaaaaaaaa","function":{"name":"x","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"total_tokens":3}}`) + done, calls: []string{"x({})"}},
	{name: "4.5 first index 1", body: role + opening(1, "a", "x", "{") + more(1, "}") + opening(3, "b", "y", "{}") + finish + done, calls: []string{"x({})", "y({})"}},
	{name: "4.6 last fragment at another index", body: role + opening(0, "a", "x", "{") + more(1, "}") + finish + done, calls: []string{"x({})?"}},
	{name: "4.6 a new id in each fragment", body: role + opening(0, "a", "x", "{") + entries(part(`"index":0,"id":"b"`, `}`)) + finish + done, calls: []string{"x({})?"}},
	{name: "4.6 several values at one index", body: role + opening(0, "", "x", `{"c":0}`) + entries(fn(`"index":0`, "x", `{"c":1}`)) + finish + done, calls: []string{`x({"c":0})?`, `x({"c":1})?`}},
	{name: "4.6 several values in one call", body: role + opening(0, "a", "x", `{"c":0}{"c":1}`) + finish + done, calls: []string{`x({"c":0}{"c":1})?`}},
	{name: "4.7 two completions in one body", body: role + opening(0, "a", "x", "{}") + finish + strings.ReplaceAll(role+opening(0, "b", "x", "{}")+finish, `"c1"`, `"c2"`) + done, calls: []string{"x({})?", "x({})?"}},
	{name: "4.8 no id at all", body: role + entries(fn(`"index":0`, "x", "{")) + more(0, "}") + finish + done, calls: []string{"x({})"}},
	{name: "4.8 empty id in continuations", body: role + opening(0, "a", "x", "{") + entries(part(`"index":0,"id":""`, "}")) + finish + done, calls: []string{"x({})"}},
	{name: "4.8 null id, type and name in continuations", body: role + opening(0, "a", "x", "{") + entries(`{"index":0,"id":null,"type":null,"function":{"name":null,"arguments":"}"}}`) + finish + done, calls: []string{"x({})"}},
	{name: "4.9 the same id twice", body: role + opening(0, "0", "x", "{}") + opening(1, "0", "y", "{}") + finish + done, calls: []string{"x({})?", "y({})?"}},
	{name: "4.10 id and name in every fragment", body: role + opening(0, "a", "x", "{") + opening(0, "a", "x", "}") + finish + done, calls: []string{"x({})"}},
	{name: "4.11 empty name in a continuation", body: role + opening(0, "a", "x", "{") + entries(fn(`"index":0`, "", "}")) + finish + done, calls: []string{"x({})"}},
	{name: "4.11 name is not a string", body: role + entries(`{"index":0,"id":"a","function":{"name":{},"arguments":"{}"}}`) + end, refused: true},
	{name: "4.12 another name in a continuation", body: role + opening(0, "a", "ba", "{") + entries(fn(`"index":0`, "sh", "}")) + finish + done, calls: []string{"ba({})?"}},
	{name: "4.13 the opening holds a brace", body: role + opening(0, "a", "x", "{") + more(0, `"c":0}`) + finish + done, calls: []string{`x({"c":0})`}},
	// Arguments.
	{name: "4.14 null, then strings", body: role + entries(`{"index":0,"id":"a","function":{"name":"x","arguments":null}}`) + more(0, "{}") + finish + done, calls: []string{"x({})"}},
	{name: "4.14 absent", body: role + entries(`{"index":0,"id":"a","function":{"name":"x"}}`) + finish + done, calls: []string{"x()"}},
	{name: "4.14 absent, whole", body: whole(callList(`{"id":"a","type":"function","function":{"name":"x"}}`), "tool_calls"), calls: []string{"x()"}},
	{name: "4.15 an object", body: role + entries(`{"index":0,"id":"a","function":{"name":"x","arguments":{"c":0}}}`) + finish + done, calls: []string{`x({"c":0})?`}},
	{name: "4.15 an object, then text", body: role + entries(`{"index":0,"id":"a","function":{"name":"x","arguments":{"c":0}}}`) + more(0, "{}") + finish + done, calls: []string{`x({"c":0}{})?`}},
	{name: "4.15 an object, whole", body: whole(callList(`{"id":"a","type":"function","function":{"name":"x","arguments":{"c":0}}}`), "tool_calls"), calls: []string{`x({"c":0})?`}},
	{name: "4.16 pretty-printed", body: role + opening(0, "a", "x", "{\n  \"c\": 0\n}") + finish + done, calls: []string{"x({\n  \"c\": 0\n})"}},
	{name: "4.16 duplicate keys", body: role + opening(0, "a", "x", `{"c":0,"c":1}`) + finish + done, calls: []string{`x({"c":0,"c":1})?`}},
	{name: "4.17 cut by length", body: role + opening(0, "a", "x", "{}") + opening(1, "b", "y", `{"c":`) + event("{}", "length") + done, calls: []string{"x({})", `y({"c":)?`}},
	{name: "4.17 cut before the arguments", body: role + opening(0, "a", "x", "{}") + opening(1, "b", "y", "") + event("{}", "length") + done, calls: []string{"x({})", "y()?"}},
	{name: "4.18 hallucinated wrapper", body: role + opening(0, "a", "multi_tool_use.parallel", `{"tool_uses":[]}`) + finish + done, calls: []string{`multi_tool_use.parallel({"tool_uses":[]})`}},
	// The end of the stream.
	{name: "4.20 empty finish", body: role + opening(0, "a", "x", "{}") + event("{}", "") + done, calls: []string{"x({})"}},
	{name: "4.20 no finish", body: role + opening(0, "a", "x", "{}") + done, calls: []string{"x({})"}},
	{name: "4.20 finish twice", body: role + opening(0, "a", "x", "{}") + finish + finish + done, calls: []string{"x({})"}},
	{name: "4.20 null after a finish", body: role + opening(0, "a", "x", "{}") + finish + event("{}", "null") + done, calls: []string{"x({})"}},
	{name: "4.20 finish on every chunk", body: event(`{"role":"assistant","content":"Hi."}`, "tool_calls") + event(`{"tool_calls":[`+fn(`"index":0,"id":"a"`, "x", "{")+`]}`, "tool_calls") + event(`{"tool_calls":[`+part(`"index":0`, "}")+`]}`, "tool_calls") + done, calls: []string{"x({})"}},
	{name: "4.22 whole call in the first chunk", body: event(callList(fn(`"index":0,"id":"a"`, "x", "{}")), "tool_calls") + done, calls: []string{"x({})"}},
	{name: "4.23 no [DONE]", body: role + opening(0, "a", "x", "{}") + finish, calls: []string{"x({})"}},
	{name: "4.24 no last blank line", body: role + opening(0, "a", "x", "{}") + strings.TrimSuffix(finish, "\n\n"), calls: []string{"x({})"}},
	// Shape.
	{name: "4.25 message equal to delta", body: both(callList(fn(`"index":0,"id":"a"`, "x", "")), callList(fn(`"index":0,"id":"a"`, "x", ""))) + both(callList(part(`"index":0`, "{}")), callList(part(`"index":0`, "{}"))) + end, calls: []string{"x({})"}},
	{name: "4.25 message cumulative", body: both(callList(fn(`"index":0,"id":"a"`, "x", "{")), callList(fn(`"index":0,"id":"a"`, "x", "{"))) + both(callList(part(`"index":0`, "}")), callList(fn(`"index":0,"id":"a"`, "x", "{}"))) + end, calls: []string{"x({})"}},
	{name: "4.25 message different", body: both(callList(fn(`"index":0,"id":"a"`, "x", "{}")), callList(fn(`"index":0,"id":"a"`, "y", "{}"))) + end, calls: []string{"x({})?", "y({})?"}},
	{name: "4.26 call in the second choice", body: role + speech + delta(1, callList(fn(`"index":0,"id":"a"`, "x", "{}"))) + finish + done, calls: []string{"x({})"}},
	{name: "4.26 no choice index, whole", body: `{"id":"c1","choices":[{"message":{"role":"assistant","content":"Hi."},"finish_reason":"tool_calls"},{"message":` + callList(fn(`"id":"a"`, "x", "{}")) + `,"finish_reason":"tool_calls"}]}`, calls: []string{"x({})"}},
	{name: "4.26 the same choice index twice, whole", body: `{"id":"c1","choices":[{"index":0,"message":` + callList(fn(`"id":"a"`, "x", "{}")) + `},{"index":0,"message":` + callList(fn(`"id":"b"`, "y", "{}")) + `}]}`, calls: []string{"x({})", "y({})"}},
	{name: "4.26 the same choice index twice", body: data(`{"choices":[` + aChoice + `,` + aChoice + `]}`), refused: true},
	{name: "4.27 empty calls beside a real one", body: whole(`{"role":"assistant","content":"","function_call":{"name":"","arguments":""},"tool_calls":[{"id":"a","type":"function","custom":{"input":"","name":""},"function":{"name":"x","arguments":"{}"}}]}`, ""), calls: []string{"x({})"}},
	{name: "4.28 no choices, then no delta", body: data(`{"id":"","choices":[],"prompt_filter_results":[]}`) + role + opening(0, "a", "x", "{}") + finish + data(`{"id":"","choices":[{"index":0,"finish_reason":null,"content_filter_offsets":{}}]}`) + done, calls: []string{"x({})"}},
	{name: "4.29 the model changes", body: strings.ReplaceAll(role, "m1", "router") + opening(0, "a", "x", "{}") + finish + done, calls: []string{"x({})"}},
	{name: "4.31 reasoning", body: role + delta(0, `{"reasoning_content":"hm"}`) + delta(0, `{"reasoning_details":[{"type":"reasoning.text","index":0,"text":"a"}]}`) + opening(0, "a", "x", "{}") + finish + done, calls: []string{"x({})"}},
	// Framing.
	{name: "4.32 comments", body: ": OPENROUTER PROCESSING\n\n:\n\n" + role + ": keep-alive\n\n" + opening(0, "a", "x", "{") + ": ping - now\n\n" + more(0, "}") + finish + done, calls: []string{"x({})"}},
	{name: "4.33 blank lines before the body", body: "\n\n\n" + whole(callList(fn(`"id":"a"`, "x", "{}")), "tool_calls"), calls: []string{"x({})"}},
	{name: "4.34 data heartbeats", body: data(`{"type":"ping"}`) + role + opening(0, "a", "x", "{") + data(`{"type":"keepalive"}`) + data("") + more(0, "}") + finish + done, calls: []string{"x({})"}},
	{name: "4.34 events separated by one newline", body: strings.ReplaceAll(role+opening(0, "a", "x", "{")+data(`{"type":"keepalive"}`)+more(0, "}")+finish+done, "\n\n", "\n") + "\n", calls: []string{"x({})"}},
	{name: "4.35 error event", body: role + opening(0, "a", "x", "{") + "event: error\ndata: {\"error\":{\"message\":\"m\",\"type\":\"invalid_request_error\",\"code\":\"tool_use_failed\",\"failed_generation\":\"<x>\"}}\n\n"},
	{name: "4.35 error beside choices", body: role + data(`{"id":"c1","error":{"message":"m"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}`)},
	{name: "4.35 only an error, as a string", body: data(`{"error":"boom"}`)},
	{name: "4.36 CRLF", body: strings.ReplaceAll(listed, "\n", "\r\n"), calls: []string{`bash({"command":"ls"})`}},
	{name: "4.36 CR", body: strings.ReplaceAll(listed, "\n", "\r"), calls: []string{`bash({"command":"ls"})`}},
	{name: "4.36 a blank before data", body: strings.ReplaceAll(listed, "data:", " data:"), calls: []string{`bash({"command":"ls"})`}},
	{name: "4.36 no blank after data:", body: strings.ReplaceAll(listed, "data: ", "data:"), calls: []string{`bash({"command":"ls"})`}},
	{name: "4.36 byte order mark", body: "\xef\xbb\xbf" + listed, calls: []string{`bash({"command":"ls"})`}},
	{name: "4.36 data: and the JSON on the next line", body: "data:\n {\"choices\":[" + aChoice + "]}\n\n", refused: true},
	{name: "4.36 two events on one line", body: "data: {}data: " + hostileC + "\n\n", refused: true},
	{name: "4.38 compressed", body: "\x1f\x8b\x08\x00", refused: true},
}

// reading renders calls as the table does.
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
				p := play(t, request1, [][]byte{[]byte(q.body)}, sizes, intercept.Limits{}, intercepttest.ReleaseAll)
				if (p.Err != nil) != q.refused {
					t.Fatalf("refused: %v", p.Err)
				}
				if q.refused {
					if found := leak(p.Out()); found != "" {
						t.Fatalf("refused, and yet passed %q", found)
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
	streamed := !strings.Contains(q.body, `"message":`) || strings.HasPrefix(q.body, "data:")
	last := finalWord
	if !streamed {
		last = whole(`{"role":"assistant","content":"Very well."}`, "stop")
	}
	run := func(what string, rule intercepttest.Ruler, want []string) {
		t.Helper()
		p := play(t, request1, [][]byte{[]byte(q.body), []byte(last)}, sizes, intercept.Limits{}, rule)
		if p.Err != nil {
			t.Fatalf("%s: %v", what, p.Err)
		}
		// heldcall writes its events plainly, whatever it reads.
		plainly := strings.NewReplacer("\r\n", "\n", "\r", "\n", "\n data:", "\ndata:").Replace("\n" + strings.TrimPrefix(string(p.Out()), "\ufeff"))
		again := play(t, request1, [][]byte{[]byte(plainly)}, nil, intercept.Limits{}, intercepttest.ReleaseAll)
		if again.Err != nil {
			t.Fatalf("%s: cannot be read: %v in %s", what, again.Err, p.Out())
		}
		var got []string
		for i, c := range again.Calls[0] {
			if i < len(want) && strings.HasSuffix(want[i], "()") && c.Arguments == "{}" {
				c.Arguments = "" // no arguments in canonical form
			}
			got = append(got, c.Name+"("+c.Arguments+")")
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("%s (-want +got):\n%s\nin %s", what, d, p.Out())
		}
		if !streamed {
			return
		}
		m, err := foldStrict(strings.ReplaceAll(string(p.Out()), "\r", "\n"))
		if err != nil && len(want) < len(q.calls) && !looseFraming(q) {
			t.Fatalf("%s: %v in %s", what, err, p.Out())
		}
		if err == nil && len(want) == 0 && !looseFraming(q) && len(m.choices) == 1 && (m.choices[0].finish != "stop" || m.choices[0].role != "assistant") {
			t.Fatalf("%s: ends as %+v in %s", what, m.choices[0], p.Out())
		}
	}
	var plain, edited []string
	for _, c := range q.calls {
		c = strings.TrimSuffix(c, "?")
		plain = append(plain, c)
		edited = append(edited, c[:strings.IndexByte(c, '(')]+"("+intercepttest.Edited+")")
	}
	run("denied", intercepttest.DenyAll, nil)
	run("edited", func(int, intercept.Call) intercept.Ruling {
		return intercept.Ruling{Action: intercept.Edit, Arguments: intercepttest.Edited}
	}, edited)
	rest := plain[1:]
	if len(rest) == 0 {
		rest = nil
	}
	run("the first denied", func(n int, _ intercept.Call) intercept.Ruling {
		if n == 0 {
			return intercept.Ruling{ModelMessage: "No."}
		}
		return intercept.Ruling{Action: intercept.Release}
	}, rest)
}

// looseFraming lists the quirks that no strict client reads, changed or not.
func looseFraming(q quirk) bool {
	for _, name := range []string{"one newline", "blank before data", "CR", "4.7", "finish on every chunk", "heartbeats"} {
		if strings.Contains(q.name, name) {
			return true
		}
	}
	return false
}

// The first call of a group carries the signature of the whole group: it has to
// come back although that call was denied.
func TestThoughtSignatureOutlivesADenial(t *testing.T) {
	signed := `{"index":0,"id":"a","type":"function","extra_content":{"google":{"thought_signature":"sig"}},"function":{"name":"x","arguments":"{}"}}`
	body := role + delta(0, `{"reasoning_details":[{"type":"reasoning.text","index":0,"text":"be","signature":null}]}`) + delta(0, `{"reasoning_details":[{"type":"reasoning.text","index":0,"text":"cause","signature":"s1"}]}`) +
		entries(signed) + opening(1, "b", "y", "{}") + finish + done
	all := play(t, request1, [][]byte{[]byte(body), []byte(finalWord)}, nil, intercept.Limits{}, intercepttest.DenyAll)
	told := gjson.Get(all.Nexts[0], "messages.1")
	if got := told.Get("tool_calls.0.extra_content.google.thought_signature").Str; got != "sig" {
		t.Errorf("continuation: signature %q in %s", got, told.Raw)
	}
	if got, want := told.Get("reasoning_details").Raw, `[{"type":"reasoning.text","index":0,"text":"because","signature":"s1"}]`; got != want {
		t.Errorf("reasoning %s, want %s", got, want)
	}
	some := play(t, request1, [][]byte{[]byte(body)}, nil, intercept.Limits{}, func(n int, _ intercept.Call) intercept.Ruling {
		return intercept.Ruling{Action: intercept.Action(n), ModelMessage: "No."} // deny, release
	})
	r, err := parseRequest(asked(`{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"b","type":"function","function":{"name":"y","arguments":"{}"}}]},{"role":"tool","tool_call_id":"b","content":"ok"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if n := r.Splice(some.Hidden); n != 1 {
		t.Fatalf("%d spliced", n)
	}
	want := `[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"x","arguments":"{}"},"extra_content":{"google":{"thought_signature":"sig"}}},{"id":"b","type":"function","function":{"name":"y","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":"No."},{"role":"tool","tool_call_id":"b","content":"ok"}]`
	if got := string(r.Field("messages")); got != want {
		t.Errorf("spliced\n%s\nwant\n%s", got, want)
	}
}
