package chat

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/heldcall/heldcall/intercept/strictjson"
)

const twoAsked = `{"model":"m","n":2,"stream":true,"messages":[{"role":"user","content":"hi"}]}`

// of renders an event of one of several choices.
func of(choice int, delta, finish string) string {
	return strings.Replace(event(delta, finish), `"index":0,"delta"`, fmt.Sprintf(`"index":%d,"delta"`, choice), 1)
}

// calls renders a choice with a text and a call.
func calls(choice int, text, id, name string) string {
	return of(choice, `{"role":"assistant","content":""}`, "null") + of(choice, `{"content":`+strictjson.Quote(text)+`}`, "null") +
		of(choice, `{"tool_calls":[`+fn(`"index":0,"id":"`+id+`"`, name, "{}")+`]}`, "null")
}

func usageOf(n int) string {
	return strings.Replace(usage, `{"prompt_tokens":10,"total_tokens":15}`, fmt.Sprintf(`{"prompt_tokens":%d,"total_tokens":%d}`, 10*n, 15*n), 1)
}

// byName denies the calls of the tools named, each time they are made.
func byName(denied ...string) intercepttest.Ruler {
	return func(_ int, c intercept.Call) intercept.Ruling {
		for _, name := range denied {
			if c.Name == name {
				return intercept.Ruling{ModelMessage: "No " + name + "."}
			}
		}
		return intercept.Ruling{Action: intercept.Release}
	}
}

var (
	twoCalls = calls(0, "One.", "a", "x") + calls(1, "Two.", "b", "y") + of(0, "{}", "tool_calls") + of(1, "{}", "tool_calls") + usage + done
	text0    = of(0, `{"role":"assistant","content":""}`, "null") + of(0, `{"content":"One."}`, "null")
	text1    = of(1, `{"role":"assistant","content":""}`, "null") + of(1, `{"content":"Two."}`, "null")
	call1    = of(1, `{"tool_calls":[`+fn(`"index":0,"id":"b"`, "y", "{}")+`]}`, "null")
)

// denialOf is the conversation that reports a denied call to the model.
func denialOf(text, id, name string) string {
	return `[{"role":"user","content":"hi"},{"role":"assistant","content":` + strictjson.Quote(text) + `,"tool_calls":[` + fn(`"id":"`+id+`"`, name, "{}") + `]},{"role":"tool","tool_call_id":"` + id + `","content":"No ` + name + `."}]`
}

// closed is the text of a choice that lost its calls.
const closed = "The tool calls of this answer were denied and not run. Please tell me how to go on."

// closing renders the end of a choice that lost its calls.
func closing(choice int) string {
	return of(choice, `{"content":`+strictjson.Quote("\n\n"+closed)+`}`, "null") + of(choice, "{}", "stop")
}

// One choice is denied: it ends with a text, and upstream is not asked again; the other one is released in the
// bytes in which it came.
func TestOneOfTwoChoicesIsDenied(t *testing.T) {
	for _, n := range blocks {
		p := newPlayer(t, twoAsked, n, intercept.Limits{})
		p.Turn(twoCalls, func(_ int, c intercept.Call) intercept.Ruling { return byName("x")(0, c) })
		want := text0 + text1 + call1 + closing(0) + of(1, "{}", "tool_calls") + usage + done
		if d := cmp.Diff(want, p.Got.String()); d != "" || p.Last.Next != nil {
			t.Fatalf("continues: %t; (-want +got):\n%s", p.Last.Next != nil, d)
		}
	}
}

// The text of another choice does not wait for a held call, nor does what
// comes before its words.
func TestWordsOfAnotherChoiceAreNotDelayed(t *testing.T) {
	thought := of(1, `{"reasoning_content":"Hm."}`, "null")
	body := opening(0, "a", "x", "{}") + of(1, `{"role":"assistant"}`, "null") + thought + text1 + call1 + thought + of(0, "{}", "tool_calls") + of(1, "{}", "tool_calls") + done
	for _, n := range blocks {
		p := newPlayer(t, twoAsked, n, intercept.Limits{})
		if err := p.Feed(body); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(of(1, `{"role":"assistant"}`, "null")+thought+text1, p.Got.String()); d != "" {
			t.Fatalf("(-want +got):\n%s", d)
		}
	}
}

// TestDeniedChoicesAreTold: with each choice that the agent continues, the model reads its denial.
func TestDeniedChoicesAreTold(t *testing.T) {
	p := play(t, twoAsked, bodies(twoCalls), []byte{6}, intercept.Limits{}, byName("x", "y"))
	if d := cmp.Diff(text0+text1+closing(0)+closing(1)+usage+done, string(p.Out())); d != "" || len(p.Nexts) > 0 {
		t.Fatalf("%d continuations, (-want +got):\n%s", len(p.Nexts), d)
	}
	for _, tt := range []struct{ text, told string }{
		{"One.", denialOf("One.", "a", "x")},
		{"Two.", denialOf("Two.", "b", "y")},
	} {
		checkTold(t, p.Hidden, tt.text+"\n\n"+closed, tt.told)
	}
	// Choices that the agent cannot tell apart are read as the first one.
	silent := strings.NewReplacer("One.", "", "Two.", "").Replace(twoCalls)
	p = play(t, twoAsked, bodies(silent), nil, intercept.Limits{}, byName("x", "y"))
	checkTold(t, p.Hidden, closed, strings.Replace(denialOf("", "a", "x"), `"content":""`, `"content":null`, 1))
}

// checkTold continues with a choice that lost its calls, as an agent has it, and compares what the model reads.
func checkTold(t *testing.T, hidden [][]byte, echo, told string) {
	t.Helper()
	r, err := parseRequest(asked(`{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":` + strictjson.Quote(echo) + `},{"role":"user","content":"Go on."}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if n := r.Splice(hidden); n != 1 {
		t.Fatalf("%d spliced", n)
	}
	want := strings.TrimSuffix(told, "]") + `,{"role":"assistant","content":` + strictjson.Quote(closed) + `},{"role":"user","content":"Go on."}]`
	if d := cmp.Diff(want, string(r.Field("messages"))); d != "" {
		t.Errorf("spliced (-want +got):\n%s", d)
	}
}

// TestNoContinuation: what cannot continue ends with a text, whatever the calls were denied for. The model reads it with the
// agent's next request.
func TestNoContinuation(t *testing.T) {
	oldForm := role + event(`{"content":"One."}`, "null") + event(`{"function_call":{"name":"x","arguments":"{}"}}`, "null") + event("{}", "function_call") + usage + done
	one := calls(0, "One.", "a", "x") + of(0, "{}", "tool_calls") + usage + done
	const oldTold = `[{"role":"user","content":"hi"},{"role":"assistant","content":"One.","function_call":{"name":"x","arguments":"{}"}},{"role":"function","name":"x","content":"No x."}]`
	for name, tt := range map[string]struct {
		request, body, told string
		ruling              intercept.Ruling
		text                string
	}{
		"the old form":           {request: request1, body: oldForm, told: oldTold, text: closed},
		"one of several choices": {request: twoAsked, body: one, told: denialOf("One.", "a", "x"), text: closed},
		"a user message":         {request: request1, body: oldForm, told: oldTold, ruling: intercept.Ruling{UserMessage: "It waits."}, text: "It waits."},
		"answered":               {request: twoAsked, body: one, told: denialOf("One.", "a", "x"), ruling: intercept.Ruling{Action: intercept.Answered}, text: "The model wrote no more text."},
	} {
		tt.ruling.ModelMessage = "No x."
		p := play(t, tt.request, bodies(tt.body), nil, intercept.Limits{MaxContinuations: 8}, func(int, intercept.Call) intercept.Ruling { return tt.ruling })
		m, err := foldStrict(string(p.Out()))
		if want := "One.\n\n" + tt.text; err != nil || len(p.Nexts) > 0 || m.choices[0].content != want || m.choices[0].finish != "stop" || len(m.choices[0].calls) > 0 || !strings.HasSuffix(string(p.Out()), usage+done) {
			t.Errorf("%s: %v, %d continuations, agent got %s", name, err, len(p.Nexts), p.Out())
			continue
		}
		if tt.text == closed {
			checkTold(t, p.Hidden, "One.\n\n"+closed, tt.told)
		}
	}
}

// The denied choices of a whole answer end with a text, beside one that is edited and one without calls.
func TestDeniedChoicesOfAWholeAnswer(t *testing.T) {
	choice := func(index int, message, finish string) string {
		return fmt.Sprintf(`{"index":%d,"message":%s,"logprobs":null,"finish_reason":%q}`, index, message, finish)
	}
	calling := func(text, id, name string) string {
		return `{"role":"assistant","content":` + strictjson.Quote(text) + `,"tool_calls":[` + fn(`"id":"`+id+`"`, name, "{}") + `]}`
	}
	ended := func(text string) string {
		return `{"role":"assistant","content":` + strictjson.Quote(text+"\n\n"+closed) + `}`
	}
	body := func(choices ...string) string {
		return fmt.Sprintf(`{"id":"c1","object":"chat.completion","created":7,"model":"m1","choices":[%s],"usage":{"total_tokens":1}}`, strings.Join(choices, ","))
	}
	last := choice(2, `{"role":"assistant","content":"Three."}`, "stop")
	first := body(choice(0, calling("One.", "a", "x"), "tool_calls"), choice(1, calling("Two.", "b", "y"), "tool_calls"), last)
	p := play(t, twoAsked, bodies(first), nil, intercept.Limits{}, intercepttest.DenyAll)
	want := body(choice(0, ended("One."), "stop"), choice(1, ended("Two."), "stop"), last)
	if d := cmp.Diff(want, string(p.After)); d != "" || len(p.Before) > 0 || len(p.Hidden) != 2 || len(p.Nexts) > 0 {
		t.Fatalf("before the ruling %q, %d records, after it (-want +got):\n%s", p.Before, len(p.Hidden), d)
	}
	p = play(t, twoAsked, bodies(first), nil, intercept.Limits{}, func(_ int, c intercept.Call) intercept.Ruling {
		if c.Name == "x" {
			return intercept.Ruling{ModelMessage: "No."}
		}
		return edit1(0, c)
	})
	want = body(choice(0, ended("One."), "stop"), choice(1, strings.Replace(calling("Two.", "b", "y"), `"{}"`, strictjson.Quote(intercepttest.Edited), 1), "tool_calls"), last)
	if d := cmp.Diff(want, string(p.After)); d != "" || len(p.Hidden) != 2 {
		t.Fatalf("one edited: %d records, (-want +got):\n%s", len(p.Hidden), d)
	}
}

// An abort ends all choices that have not ended.
func TestAbortEndsAllChoices(t *testing.T) {
	rule := func(_ int, c intercept.Call) intercept.Ruling {
		if c.Name == "y" {
			return intercept.Ruling{Action: intercept.Abort, ModelMessage: "Stopped."}
		}
		return intercept.Ruling{ModelMessage: "No."}
	}
	p := play(t, twoAsked, bodies(twoCalls), nil, intercept.Limits{}, rule)
	m, err := foldStrict(string(p.Out()))
	if err != nil {
		t.Fatalf("%v in %s", err, p.Out())
	}
	for i, want := range []string{"One.\n\nStopped.", "Two.\n\nStopped."} {
		if c := m.choices[i]; c.content != want || c.finish != "stop" || len(c.calls) > 0 {
			t.Errorf("choice %d: %+v, want the text %q", i, c, want)
		}
	}
	if len(p.Hidden) > 0 || !strings.HasSuffix(string(p.Out()), done) {
		t.Errorf("%d records, agent got %s", len(p.Hidden), p.Out())
	}
}

// Some servers answer with more choices than were asked for. In a continuation nothing of them reaches the agent.
func TestContinuationWithMoreChoices(t *testing.T) {
	second := strings.ReplaceAll(event(`{"role":"assistant","content":"Well."}`, "null")+of(1, `{"role":"assistant","tool_calls":[`+fn(`"index":0,"id":"c"`, "z", "{}")+`]}`, "tool_calls")+event("{}", "tool_calls")+usage+done, `"c1"`, `"c2"`)
	p := play(t, request1, bodies(calls(0, "One.", "a", "x")+of(0, "{}", "tool_calls")+usage+done, second), nil, intercept.Limits{}, byName("x"))
	if p.Err == nil || !strings.Contains(p.Err.Error(), "several choices") || strings.Contains(string(p.Out()), `"c"`) {
		t.Errorf("%v: agent got %s", p.Err, p.Out())
	}
}

// Text, call and end in one event: the end of a choice that continues has not gone
// out with its text.
func TestDeniedTwiceWithTheEndInOneEvent(t *testing.T) {
	body := event(`{"role":"assistant","content":"Look.","tool_calls":[`+aCall+`]}`, "tool_calls") + done
	p := play(t, request1, bodies(body, body, finalWord), nil, intercept.Limits{}, intercepttest.DenyAll)
	if len(p.Nexts) != 2 {
		t.Fatalf("%d continuations: %s", len(p.Nexts), p.Out())
	}
	m, err := foldStrict(string(p.Out()))
	if err != nil || m.choices[0].content != "Look.\n\nLook.\n\nVery well." || m.choices[0].finish != "stop" {
		t.Errorf("%v in %s", err, p.Out())
	}
}

// The role that came with a denied call stays when another call is released.
func TestRoleBesideADeniedCall(t *testing.T) {
	body := event(callList(fn(`"index":0,"id":"a"`, "x", "{}")), "null") + opening(1, "b", "y", "{}") + finish + done
	p := play(t, request1, bodies(body), nil, intercept.Limits{}, byName("x"))
	m, err := foldStrict(string(p.Out()))
	if err != nil || m.choices[0].role != "assistant" || len(m.choices[0].calls) != 1 {
		t.Errorf("%v in %s", err, p.Out())
	}
}
