package chat

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/tidwall/gjson"
)

// extra is a field of an answer that the provider wants back in the history.
type extra struct {
	name     string
	pieces   []string // the deltas that bring it
	whole    string   // what it is as a field of a whole message
	fields   string   // what has to come back: fields of the assistant message, in order
	wholeOut string   // the same of a whole answer, where that is other
	content  string   // of the assistant message, "null" for none
}

var extras = []extra{
	{name: "reasoning_content (DeepSeek)", pieces: []string{`{"reasoning_content":"Hm, "}`, `{"reasoning_content":"\u0041\n"}`}, whole: `"reasoning_content":"Hm, \u0041\n"`, fields: `"reasoning_content":"Hm, \u0041\n"`},
	{name: "reasoning (OpenRouter)", pieces: []string{`{"reasoning":"a"}`, `{"reasoning":"b"}`}, whole: `"reasoning":"ab"`, fields: `"reasoning":"ab"`},
	{
		name: "reasoning_details with a signature", pieces: []string{
			`{"reasoning":"a","reasoning_details":[{"type":"reasoning.text","text":"a","format":"anthropic-claude-v1","index":0}]}`,
			`{"reasoning":"b","reasoning_details":[{"type":"reasoning.text","text":"b","format":"anthropic-claude-v1","index":0}]}`,
			`{"reasoning_details":[{"type":"reasoning.text","signature":"s1","format":"anthropic-claude-v1","index":0}]}`,
			`{"reasoning_details":[{"type":"reasoning.encrypted","data":"xyz","id":"r1","format":"google-gemini-v1","index":1}]}`,
		}, whole: `"reasoning":"ab", "reasoning_details": [ {"type":"reasoning.text","text":"ab","signature":"s1"} ]`,
		fields:   `"reasoning":"ab","reasoning_details":[{"type":"reasoning.text","text":"ab","format":"anthropic-claude-v1","index":0,"signature":"s1"},{"type":"reasoning.encrypted","data":"xyz","id":"r1","format":"google-gemini-v1","index":1}]`,
		wholeOut: `"reasoning":"ab","reasoning_details":[ {"type":"reasoning.text","text":"ab","signature":"s1"} ]`,
	},
	{
		name: "thinking_blocks (LiteLLM)", pieces: []string{
			`{"thinking_blocks":[{"type":"thinking","thinking":"Step 1. ","signature":""}]}`,
			`{"thinking_blocks":[{"type":"thinking","thinking":"Step 2.","signature":""}]}`,
			`{"thinking_blocks":[{"type":"thinking","thinking":"","signature":"s1"}]}`,
			`{"thinking_blocks":[{"type":"redacted_thinking","data":"d1"}]}`,
			`{"thinking_blocks":[{"type":"thinking","thinking":"Step 3.","signature":null}]}`,
			`{"thinking_blocks":[{"type":"thinking","thinking":null,"signature":"s2"}]}`,
		}, whole: `"thinking_blocks":[{"type":"thinking","thinking":"a","signature":"s1"},{"type":"thinking","thinking":"b","signature":"s2"}]`,
		fields:   `"thinking_blocks":[{"type":"thinking","thinking":"Step 1. Step 2.","signature":"s1"},{"type":"redacted_thinking","data":"d1"},{"type":"thinking","thinking":"Step 3.","signature":"s2"}]`,
		wholeOut: `"thinking_blocks":[{"type":"thinking","thinking":"a","signature":"s1"},{"type":"thinking","thinking":"b","signature":"s2"}]`,
	},
	{
		name: "thinking parts, then text (Mistral)", pieces: []string{
			`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"a"}]}]}`,
			`{"content":""}`, `{"content":[{"type":"text","text":""}]}`,
			`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"b"}],"closed":true}]}`,
			`{"content":"Let "}`, `{"content":[{"type":"text","text":"me."}]}`,
		}, whole: `"content":[{"type":"thinking","thinking":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}, {"type":"text","text":"x"},{"type":"text","text":"y"}]`,
		content: `[{"type":"thinking","thinking":[{"type":"text","text":"ab"}],"closed":true},{"type":"text","text":"Let me."}]`,
	},
	{
		name: "text, then parts", pieces: []string{`{"content":"a"}`, `{"content":[{"type":"text","text":"b"},{"type":"reference","reference_ids":[1]}]}`, `{"content":"c"}`},
		whole: `"content":"abc"`, content: `[{"type":"text","text":"ab"},{"type":"reference","reference_ids":[1]},{"type":"text","text":"c"}]`,
	},
	{
		name: "extra_content of the message (Gemini)", pieces: []string{`{"extra_content":{"google":{"thought":true}},"content":"x"}`, `{"extra_content":{"google":{"thought_signature":"s1"}}}`, `{"extra_content":{"google":{"thought":true}}}`},
		whole: `"extra_content":{"google":{"thought_signature":"s1"}}`, fields: `"extra_content":{"google":{"thought_signature":"s1"}}`, content: `"x"`,
	},
	{name: "provider_specific_fields (LiteLLM)", pieces: []string{`{"provider_specific_fields":{"thought_signatures":["s1"]}}`}, whole: `"provider_specific_fields":{"thought_signatures":["s1"]}`, fields: `"provider_specific_fields":{"thought_signatures":["s1"]}`},
	{name: "encrypted_content (xAI)", pieces: []string{`{"encrypted_content":"e1"}`}, whole: `"encrypted_content":"e1"`, fields: `"encrypted_content":"e1"`},
	{name: "reasoning_opaque (Copilot)", pieces: []string{`{"reasoning_text":"a"}`, `{"reasoning_opaque":"o1"}`}, whole: `"reasoning_text":"a","reasoning_opaque":"o1"`, fields: `"reasoning_text":"a","reasoning_opaque":"o1"`},
	// What no provider takes in a request does not go there.
	{name: "annotations and padding", pieces: []string{`{"annotations":[{"type":"url_citation"}],"obfuscation":"xyz","content":"x"}`}, whole: `"annotations":[],"images":[]`, content: `"x"`},
}

// Calls with fields of their own, as they are on the wire, as Gemini's endpoint
// and LiteLLM sign the first of a group.
const (
	signed0 = `"id":"a","type":"function","extra_content":{"google":{"thought_signature":"s/+0="}},"function":{"name":"x","arguments":"{}","provider_specific_fields":{"thought_signature":"s1"}}`
	signed1 = `"id":"b","type":"function","function":{"name":"y","arguments":"{}"}`
	told0   = `{"id":"a","type":"function","function":{"name":"x","arguments":"{}","provider_specific_fields":{"thought_signature":"s1"}},"extra_content":{"google":{"thought_signature":"s/+0="}}}`
)

// answers renders the extra with two calls, streamed and whole.
func (e *extra) answers() (streamed, whole string) {
	streamed = role
	for _, piece := range e.pieces {
		streamed += delta(0, piece)
	}
	streamed += entries(`{"index":0,`+signed0+`}`) + entries(`{"index":1,`+signed1+`}`) + finish + usage + done
	return streamed, wholeOf(`{"role":"assistant",` + e.whole + `,"tool_calls":[{` + signed0 + `},{` + signed1 + `}]}`)
}

func wholeOf(message string) string { return whole(message, "tool_calls") }

// want is the assistant message that upstream has to get.
func (e *extra) want(streamed bool, calls string) string {
	content, fields := e.content, e.fields
	if !streamed {
		message := gjson.Parse("{" + e.whole + "}")
		if content = message.Get("content").Raw; content == "" {
			content = "null"
		}
		if e.wholeOut != "" {
			fields = e.wholeOut
		}
	}
	if content == "" {
		content = "null"
	}
	if fields != "" {
		fields = "," + fields
	}
	return `{"role":"assistant","content":` + content + fields + `,"tool_calls":[` + calls + `]}`
}

// The continuation has the fields that the provider wants back, unchanged.
func TestExtrasInTheContinuation(t *testing.T) {
	for _, e := range extras {
		streamed, whole := e.answers()
		for _, body := range []string{streamed, whole} {
			last := finalWord
			if body == whole {
				last = wholeFinal
			}
			p := play(t, request1, bodies(body, last), []byte{6, 200}, intercept.Limits{}, intercepttest.DenyAll)
			if p.Err != nil || len(p.Nexts) == 0 {
				t.Fatalf("%s: %v", e.name, p.Err)
			}
			want := e.want(body == streamed, told0+",{"+signed1+"}")
			if d := cmp.Diff(want, gjson.Get(p.Nexts[0], "messages.1").Raw); d != "" {
				t.Errorf("%s, streamed %t (-want +got):\n%s", e.name, body == streamed, d)
			}
		}
	}
}

const wholeFinalMessage = `{"role":"assistant","content":"Very well."}`

var wholeFinal = whole(wholeFinalMessage, "stop")

// The hidden turn returns with all fields that the provider wants, and the message that
// the agent saw keeps only its own.
func TestExtrasInAHiddenTurn(t *testing.T) {
	for _, e := range extras {
		for _, again := range []bool{false, true} { // the last turn brings the extra too
			second := finalWord
			if again {
				second, _ = e.answers()
				at := strings.Index(second, strings.Split(event(`{"tool_calls"`, "null"), `,"finish_reason"`)[0])
				second = second[:at] + event("{}", "stop") + usage + done
			}
			first, _ := e.answers()
			p := play(t, request1, bodies(first, second), nil, intercept.Limits{}, intercepttest.DenyAll)
			if p.Err != nil || len(p.Hidden) != 1 {
				t.Fatalf("%s: %v, %d records", e.name, p.Err, len(p.Hidden))
			}
			echo := echoOf(t, string(p.Out()))
			if d := cmp.Diff(e.splicedLast(again), spliceLast(t, p, echo)); d != "" {
				t.Errorf("%s, again %t: %s spliced (-want +got):\n%s", e.name, again, echo, d)
			}
			if got, want := spliceTurn(t, p, echo), e.want(true, told0+",{"+signed1+"}"); got != want {
				t.Errorf("%s: the hidden turn is\n%s\nwant\n%s", e.name, got, want)
			}
		}
	}
}

// splicedLast is what the message that the agent saw has to be upstream.
func (e *extra) splicedLast(again bool) string {
	if !again {
		return `{"role":"assistant","content":"Very well."}`
	}
	content, fields := e.content, e.fields
	if content == "" {
		content = "null"
	}
	if fields != "" {
		fields = "," + fields
	}
	return `{"role":"assistant","content":` + content + fields + `}`
}

// echoOf is the message that an agent makes of a stream: strings of one name are
// joined, so are elements of arrays, and parts of one index.
func echoOf(t *testing.T, stream string) string {
	t.Helper()
	u := assistantMessage{}
	for _, e := range strings.Split(stream, "\n\n") {
		gjson.Get(strings.TrimPrefix(e, "data: "), "choices.0.delta").ForEach(func(k, v gjson.Result) bool {
			if k.Str == "content" && v.Str == "" && v.Type == gjson.String {
				return true
			}
			u.add(k.Str, v)
			return true
		})
	}
	return u.render(nil, nil)
}

func splice(t *testing.T, p *intercepttest.Played, echo string) []gjson.Result {
	t.Helper()
	r, err := parseRequest(asked(`{"messages":[{"role":"user","content":"hi"},` + echo + `,{"role":"user","content":"next"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if n := r.Splice(p.Hidden); n != 1 {
		t.Fatalf("%d spliced for %s\n%s", n, echo, p.Hidden)
	}
	return r.messages().Array()
}

func spliceLast(t *testing.T, p *intercepttest.Played, echo string) string {
	messages := splice(t, p, echo)
	return messages[len(messages)-2].Raw
}

func spliceTurn(t *testing.T, p *intercepttest.Played, echo string) string {
	return splice(t, p, echo)[1].Raw
}

// The agent gets the released call as upstream sent it. The signature is that of
// the group's first call and goes back with it.
func TestSignatureOfADeniedCall(t *testing.T) {
	for _, e := range extras {
		streamed, whole := e.answers()
		for _, body := range []string{streamed, whole} {
			p := play(t, request1, bodies(body), nil, intercept.Limits{}, byName("x"))
			out := string(p.Out())
			if p.Err != nil || strings.Contains(out, "s/+0=") || !strings.Contains(out, strings.Replace(signed1, `"id"`, `"id"`, 1)) {
				t.Fatalf("%s: %v in %s", e.name, p.Err, out)
			}
			echo := `{"role":"assistant","content":` + e.echoContent(body == streamed) + `,"mine":1,"tool_calls":[{` + signed1 + `}]}`
			next := `{"messages":[{"role":"user","content":"hi"},` + echo + `,{"role":"tool","tool_call_id":"b","content":"ok"}]}`
			r, err := parseRequest(asked(next))
			if err != nil {
				t.Fatal(err)
			}
			if n := r.Splice(p.Hidden); n != 1 {
				t.Fatalf("%s: %d spliced", e.name, n)
			}
			want := strings.Replace(next, `"tool_calls":[{`, `"tool_calls":[`+told0+`,{`, 1)
			want = strings.Replace(want, `]},{"role":"tool"`, `]},`+toolResult("a", "No x.")+`,{"role":"tool"`, 1)
			if d := cmp.Diff(want, string(r.Envelope().Body)); d != "" {
				t.Errorf("%s: spliced (-want +got):\n%s", e.name, d)
			}
			// Where the turn is not found again nothing is touched.
			lost := strings.Replace(next, `"name":"y"`, `"name":"z"`, 1)
			if r, err = parseRequest(asked(lost)); err != nil || r.Splice(p.Hidden) != 0 || string(r.Envelope().Body) != lost {
				t.Errorf("%s: %v, not found and changed: %s", e.name, err, r.Envelope().Body)
			}
		}
	}
}

// echoContent is the content of the visible message as an agent shows it.
func (e *extra) echoContent(streamed bool) string {
	content := e.content
	if !streamed {
		content = gjson.Get("{"+e.whole+"}", "content").Raw
	}
	if content == "" {
		return "null"
	}
	return content
}

// A whole answer keeps the parts of its content, thoughts first, after text of an earlier
// turn.
func TestWordsBeforeParts(t *testing.T) {
	first := wholeOf(`{"role":"assistant","content":"Look.","tool_calls":[{` + signed0 + `}]}`)
	for _, tt := range []struct{ content, want string }{
		{`[{"type":"thinking","thinking":[]},{"type":"text","text":"x"}]`, `[{"type":"thinking","thinking":[]},{"type":"text","text":"Look.\n\nx"}]`},
		{`[{"type":"thinking","thinking":[]}]`, `[{"type":"thinking","thinking":[]},{"type":"text","text":"Look."}]`},
		{`"x"`, `"Look.\n\nx"`},
		{`null`, `"Look."`},
	} {
		p := play(t, request1, bodies(first, whole(`{"role":"assistant","content":`+tt.content+`}`, "stop")), nil, intercept.Limits{}, intercepttest.DenyAll)
		if got := gjson.GetBytes(p.Out(), "choices.0.message.content").Raw; got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.content, got, tt.want)
		}
		last := spliceLast(t, p, fmt.Sprintf(`{"role":"assistant","content":%s}`, tt.want))
		if got := gjson.Get(last, "content").Raw; got != tt.content {
			t.Errorf("%s: spliced as %s", tt.content, last)
		}
	}
}

// In a stream too an empty line separates text before a denial from content parts.
func TestWordsBeforePartsOfAStream(t *testing.T) {
	first := role + speech + entries(`{"index":0,`+signed0+`}`) + finish + done
	second := strings.ReplaceAll(role+event(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"a"}]}]}`, "null")+event(`{"content":[{"type":"text","text":"x"}]}`, "null")+event(`{"content":"y"}`, "null")+event("{}", "stop")+done, `"c1"`, `"c2"`)
	p := play(t, request1, bodies(first, second), nil, intercept.Limits{}, intercepttest.DenyAll)
	want := role + speech + event(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"a"}]}]}`, "null") + event(`{"content":[{"type":"text","text":"\n\nx"}]}`, "null") + event(`{"content":"y"}`, "null") + event("{}", "stop") + done
	if d := cmp.Diff(want, string(p.Out())); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
