package chat

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/heldcall/heldcall/internal/testing/cost"
	"github.com/tidwall/gjson"
)

// tokens renders log probabilities of tokens.
func tokens(list ...string) string {
	var items []string
	for _, token := range list {
		items = append(items, `{"token":`+strictjson.Quote(token)+`,"logprob":-0.5,"top_logprobs":[]}`)
	}
	return `{"content":[` + strings.Join(items, ",") + `]}`
}

// scored is an event of a choice with log probabilities.
func scored(event, logprobs string) string {
	return strings.Replace(event, `,"finish_reason"`, `,"logprobs":`+logprobs+`,"finish_reason"`, 1)
}

// Finding M1: log probabilities spell the tokens of a call. They are held with it, and
// gone where it does not reach the agent as it came.
func TestLogprobsOfCalls(t *testing.T) {
	call := opening(0, "a", "x", `{"c":"secret"}`)
	words := scored(speech, tokens("Let", " me", " look."))
	beside := func(logprobs string) string {
		return strings.Replace(event("{}", "null"), `"finish_reason":null`, `"finish_reason":null,"logprobs":`+logprobs, 1)
	}
	null := func(event string) string { return scored(event, "null") }
	for _, tt := range []struct {
		name, body               string
		before                   string // what passes before the ruling
		denied, edited, released string // after it; "" for the body as it came
	}{
		{
			"beside the call", role + words + scored(call, tokens("<tool_call>", "secret")) + finish + done, role + words,
			"", opening(0, "a", "x", intercepttest.Edited) + finish + done,
			call + beside(tokens("<tool_call>", "secret")) + finish + done,
		},
		{
			"before the call", role + words + scored(event("{}", "null"), tokens("<tool_call>", "secret")) + call + finish + done, role + words,
			"", null(event("{}", "null")) + opening(0, "a", "x", intercepttest.Edited) + finish + done, "",
		},
		{
			"before the call, with text", role + scored(speech, tokens("Let", " me", " look.", "<tool_call>", "secret")) + call + finish + done, role,
			null(speech), null(speech) + opening(0, "a", "x", intercepttest.Edited) + finish + done, "",
		},
		{
			"at the end", role + words + call + scored(finish, tokens("secret", "</tool_call>")) + done, role + words,
			"", opening(0, "a", "x", intercepttest.Edited) + null(finish) + done, "",
		},
		{
			"with the role", scored(event(callList(fn(`"index":0,"id":"a"`, "x", `{"c":"secret"}`)), "null"), tokens("secret")) + finish + done, "",
			event(`{"role":"assistant"}`, "null"), event(`{"role":"assistant"}`, "null") + opening(0, "a", "x", intercepttest.Edited) + finish + done,
			event(`{"role":"assistant"}`, "null") + call + beside(tokens("secret")) + finish + done,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, n := range blocks {
				p := newPlayer(t, request1, n, intercept.Limits{})
				p.Turn(tt.body, release)
				want := tt.body
				if tt.released != "" {
					want = tt.before + tt.released
				}
				if d := cmp.Diff(want, p.Got.String()); d != "" {
					t.Fatalf("released (-want +got):\n%s", d)
				}
				p = newPlayer(t, request1, n, intercept.Limits{})
				if err := p.Feed(tt.body); err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(tt.before, p.Got.String()); d != "" {
					t.Fatalf("before the ruling (-want +got):\n%s", d)
				}
				s, err := p.Answer.Resolve([]intercept.Ruling{{ModelMessage: "No."}})
				if d := cmp.Diff(tt.denied, string(s.Bytes)); d != "" || err != nil {
					t.Fatalf("%v, denied (-want +got):\n%s", err, d)
				}
				p = newPlayer(t, request1, n, intercept.Limits{})
				p.Turn(tt.body, edit1)
				if d := cmp.Diff(tt.before+tt.edited, p.Got.String()); d != "" {
					t.Fatalf("edited (-want +got):\n%s", d)
				}
			}
		})
	}
}

// Finding M1, where one of two calls is denied, and for whole answers.
func TestLogprobsOfADeniedCallBesideAnother(t *testing.T) {
	stream := role + scored(opening(0, "a", "x", "{}"), tokens("secret")) + opening(1, "b", "y", "{}") + scored(finish, tokens("</tool_call>")) + done
	p := play(t, request1, bodies(stream), nil, intercept.Limits{}, byName("x"))
	if d := cmp.Diff(role+opening(0, "b", "y", "{}")+scored(finish, "null")+done, string(p.Out())); d != "" {
		t.Errorf("streamed (-want +got):\n%s", d)
	}
	body := strings.Replace(wholeOf(callList(fn(`"id":"a"`, "x", "{}")+","+fn(`"id":"b"`, "y", "{}"))), `,"finish_reason"`, `,"logprobs":`+tokens("secret")+`,"finish_reason"`, 1)
	want := strings.Replace(wholeOf(callList(fn(`"id":"b"`, "y", "{}"))), `,"finish_reason"`, `,"logprobs":null,"finish_reason"`, 1)
	if p = play(t, request1, bodies(body), nil, intercept.Limits{}, byName("x")); string(p.Out()) != want {
		t.Errorf("whole: %s, want %s", p.Out(), want)
	}
	if p = play(t, request1, bodies(body), nil, intercept.Limits{MaxContinuations: -1}, intercepttest.DenyAll); strings.Contains(string(p.Out()), "secret") {
		t.Errorf("whole, denied: %s", p.Out())
	}
	if p = play(t, request1, bodies(body), nil, intercept.Limits{}, intercepttest.ReleaseAll); string(p.Out()) != body {
		t.Errorf("whole, released: %s", p.Out())
	}
}

// Text with the log probabilities of its own tokens is not held.
func TestLogprobsOfText(t *testing.T) {
	for _, words := range []string{
		scored(speech, tokens("▁Let", " me", " look.")), scored(event(`{"reasoning":"Hm, well."}`, "null"), tokens("Hm", ",", " well.")),
		scored(event(`{"content":"ü"}`, "null"), `{"content":[{"token":"\\xc3\\xbc","logprob":-1,"bytes":[195,188],"top_logprobs":[]}]}`), scored(role, tokens()),
	} {
		p := newPlayer(t, request1, 1<<20, intercept.Limits{})
		p.Answer.Begin()
		if out, err := p.Answer.Write([]byte(role + words)); err != nil || string(out) != role+words {
			t.Errorf("%v, passed %s of %s", err, out, words)
		}
	}
}

// details renders reasoning details as OpenRouter streams those of Gemini.
func details(list string) string {
	return event(`{"role":"assistant","content":"","reasoning_details":[`+list+`]}`, "null")
}

// Reasoning details in another form than a list are removed if they name a denied call.
func TestReasoningDetailsInAnObject(t *testing.T) {
	message := func(details, calls string) string {
		return wholeOf(`{"role":"assistant","content":null,` + details + `"tool_calls":[` + calls + `]}`)
	}
	denied, released := fn(`"id":"a"`, "bash", "{}"), fn(`"id":"b"`, "read", "{}")
	for details, want := range map[string]string{
		`"reasoning_details":{"0":{"id":"tool_bash_1"}},`: "",
		`"reasoning_details":{"id":"tool_bash_1"},`:       "",
		`"reasoning_details":{"id":"rs_1"},`:              `"reasoning_details":{"id":"rs_1"},`,
	} {
		p := play(t, request1, bodies(message(details, denied+","+released)), nil, intercept.Limits{}, byName("bash"))
		if got := string(p.Out()); got != message(want, released) {
			t.Errorf("%s: %s", details, got)
		}
	}
}

// A part is held if the details in either of its places name a call.
func TestReasoningDetailsInTwoPlaces(t *testing.T) {
	p := newPlayer(t, request1, 1<<20, intercept.Limits{})
	part := `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"reasoning_details":[{"id":"tool_x"}]},"message":{"reasoning_details":[{"id":"rs_1"}]}}]}` + "\n\n"
	p.Answer.Begin()
	if out, err := p.Answer.Write([]byte(role + part)); err != nil || strings.Contains(string(out), "tool_x") {
		t.Errorf("%v, passed %s", err, out)
	}
}

// Finding N1 of the answers of providers: the id of a reasoning detail names the call
// that it signs. It goes out with the call; where the call is denied only the data
// goes out, which the provider wants back.
func TestReasoningThatNamesACall(t *testing.T) {
	const thought = `{"type":"reasoning.text","text":"hm","format":"google-gemini-v1","index":0}`
	signed := func(id string) string {
		return `{"type":"reasoning.encrypted","data":"s1"` + id + `,"format":"google-gemini-v1","index":1}`
	}
	named := signed(`,"id":"tool_bash_nNBv"`)
	body := role + details(thought) + details(named) + speech + opening(0, "tool_bash_nNBv", "bash", "{}") + opening(1, "b", "read", "{}") + finish + done
	for _, n := range blocks {
		p := newPlayer(t, request1, n, intercept.Limits{})
		if err := p.Feed(body); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(role+details(thought)+speech, p.Got.String()); d != "" {
			t.Fatalf("before the ruling (-want +got):\n%s", d)
		}
	}
	p := play(t, request1, bodies(body), nil, intercept.Limits{}, intercepttest.ReleaseAll)
	if want := role + details(thought) + speech + details(named) + opening(0, "tool_bash_nNBv", "bash", "{}") + opening(1, "b", "read", "{}") + finish + done; string(p.Out()) != want {
		t.Errorf("released: %s", p.Out())
	}
	p = play(t, request1, bodies(body), nil, intercept.Limits{}, byName("bash"))
	if want := role + details(thought) + speech + details(signed("")) + opening(0, "b", "read", "{}") + finish + done; string(p.Out()) != want {
		t.Errorf("one denied: %s", p.Out())
	}
	p = play(t, request1, bodies(body, finalWord), nil, intercept.Limits{}, intercepttest.DenyAll)
	if strings.Contains(string(p.Out()), "bash") || gjson.Get(p.Nexts[0], "messages.1.reasoning_details").Raw != "["+thought+","+named+"]" {
		t.Errorf("denied: %s, upstream gets %s", p.Out(), p.Nexts[0])
	}
	// No call follows.
	plain := role + details(named) + speech + event("{}", "stop") + done
	if p = play(t, request1, bodies(plain), []byte{6}, intercept.Limits{}, intercepttest.ReleaseAll); string(p.Out()) != role+speech+details(named)+event("{}", "stop")+done {
		t.Errorf("no call: %s", p.Out())
	}
	// In an event with the call, and in a whole answer.
	one := role + event(`{"reasoning_details":[`+named+`],"tool_calls":[`+fn(`"index":0,"id":"tool_bash_nNBv"`, "bash", "{}")+`,`+fn(`"index":1,"id":"b"`, "read", "{}")+`]}`, "null") + finish + done
	p = play(t, request1, bodies(one), nil, intercept.Limits{}, byName("bash"))
	if want := role + event(`{"reasoning_details":[`+signed("")+`]}`, "null") + opening(0, "b", "read", "{}") + finish + done; string(p.Out()) != want {
		t.Errorf("in one event: %s", p.Out())
	}
	message := `{"role":"assistant","content":null,"reasoning_details":[` + named + `],"tool_calls":[` + fn(`"id":"tool_bash_nNBv"`, "bash", "{}") + `,` + fn(`"id":"b"`, "read", "{}") + `]}`
	p = play(t, request1, bodies(wholeOf(message)), nil, intercept.Limits{}, byName("bash"))
	if want := wholeOf(`{"role":"assistant","content":null,"reasoning_details":[` + signed("") + `],"tool_calls":[` + fn(`"id":"b"`, "read", "{}") + `]}`); string(p.Out()) != want {
		t.Errorf("whole: %s", p.Out())
	}
}

// Finding N2 of the answers of providers: a function_call without a name is held as a
// call if it has anything.
func TestLegacyCallWithOtherFields(t *testing.T) {
	for _, body := range []string{role + event(`{"function_call":{"name":"","s":"repl"}}`, "null") + end, wholeOf(`{"role":"assistant","function_call":{"s":"repl"}}`)} {
		p := play(t, request1, bodies(body), nil, intercept.Limits{MaxContinuations: -1}, intercepttest.DenyAll)
		if len(p.Calls[0]) != 1 || p.Err != nil || strings.Contains(string(p.Out()), "repl") {
			t.Errorf("%v: %+v, %s", p.Err, p.Calls, p.Out())
		}
		if p = play(t, request1, bodies(body), nil, intercept.Limits{}, intercepttest.ReleaseAll); strings.Contains(string(p.Out()), "repl") {
			t.Errorf("released: %s", p.Out())
		}
	}
	for _, body := range []string{role + event(`{"content":"x","function_call":{"name":"","arguments":"","description":""}}`, "stop") + done, wholeOf(`{"content":"x","function_call":{"name":null}}`)} {
		if p := play(t, request1, bodies(body), nil, intercept.Limits{}, intercepttest.DenyAll); len(p.Calls[0]) > 0 || string(p.Out()) != body {
			t.Errorf("%+v, %s", p.Calls, p.Out())
		}
	}
}

// Finding F6: the agent gets the reasoning of all turns of a whole answer, as it does
// of a stream. Each turn goes back upstream with its own.
func TestReasoningOfADeniedWholeAnswer(t *testing.T) {
	signed := `{"type":"reasoning.encrypted","data":"d","id":"tool_bash_1"}`
	call := fn(`"id":"a"`, "bash", "{}")
	for _, tt := range []struct{ name, first, last, want string }{
		{"reasoning_content", `"reasoning_content":"One."`, `"reasoning_content":"Two."`, `"reasoning_content":"One.\n\nTwo."`},
		{"reasoning", `"reasoning":"One."`, `"reasoning":""`, `"reasoning":"One."`},
		{"null then", `"reasoning":"One."`, `"reasoning":null`, `"reasoning":"One."`},
		{"none then", `"reasoning":"One."`, `"x":1`, `"x":1,"reasoning":"One."`},
		{"none before", `"x":1`, `"reasoning":"Two."`, `"reasoning":"Two."`},
		{"details", `"reasoning_details":[{"text":"One."},` + signed + `]`, `"reasoning_details":[{"text":"Two."}]`, `"reasoning_details":[{"text":"One."},{"type":"reasoning.encrypted","data":"d"},{"text":"Two."}]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			first := wholeOf(`{"role":"assistant","content":"Look.",` + tt.first + `,"tool_calls":[` + call + `]}`)
			last := whole(`{"role":"assistant","content":"Well.",`+tt.last+`}`, "stop")
			p := play(t, request1, bodies(first, last), nil, intercept.Limits{}, intercepttest.DenyAll)
			got := gjson.GetBytes(p.Out(), "choices.0.message").Raw
			if d := cmp.Diff(`{"role":"assistant","content":"Look.\n\nWell.",`+tt.want+`}`, got); d != "" || p.Err != nil {
				t.Fatalf("%v (-want +got):\n%s", p.Err, d)
			}
			messages := splice(t, p, got)
			if turn := messages[1].Raw; !strings.Contains(turn, tt.first) && tt.first != `"x":1` {
				t.Errorf("the hidden turn is %s", turn)
			}
			if back := messages[3]; strings.Contains(back.Raw, "One.") || (strings.Contains(tt.last, "Two.") && !strings.Contains(back.Raw, tt.last)) {
				t.Errorf("the last turn goes back as %s", back.Raw)
			}
		})
	}
	// Denied twice.
	two := wholeOf(`{"role":"assistant","reasoning":"Two.","tool_calls":[` + call + `]}`)
	p := play(t, request1, bodies(wholeOf(`{"role":"assistant","reasoning":"One.","tool_calls":[`+call+`]}`), two, whole(`{"role":"assistant","content":"x","reasoning":"Three."}`, "stop")), nil, intercept.Limits{}, intercepttest.DenyAll)
	if got := gjson.GetBytes(p.Out(), "choices.0.message.reasoning").Str; got != "One.\n\nTwo.\n\nThree." {
		t.Errorf("three turns: %q", got)
	}
}

// Any number of reasoning details may name a denied call: each is read once.
func TestManyDetailsOfADeniedCall(t *testing.T) {
	list := func(n int, item string) string {
		return "[" + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + "]"
	}
	call := callList(fn(`"id":"call_secret"`, "x", "{}"))
	cost.Linear(t, 500, func(n int) func() {
		body := whole(strings.Replace(call, "{", `{"reasoning_details":`+list(n, `{"type":"reasoning.encrypted","id":"call_secret","data":"d"}`)+",", 1), "tool_calls")
		return func() {
			p := play(t, request1, bodies(body), nil, intercept.Limits{MaxBytes: 8 << 20}, func(int, intercept.Call) intercept.Ruling {
				return intercept.Ruling{ModelMessage: "No.", UserMessage: "Not now."}
			})
			if out := string(p.Out()); p.Err != nil || strings.Contains(out, "call_secret") || !strings.Contains(out, list(n, `{"type":"reasoning.encrypted","data":"d"}`)) {
				t.Fatalf("error %v, got %.500s", p.Err, out)
			}
		}
	})
}
