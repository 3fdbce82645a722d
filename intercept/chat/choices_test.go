package chat

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/heldcall/heldcall/intercept/notice"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
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

// reply renders the continuation of a choice as an answer of its own.
func reply(text string) string {
	return strings.ReplaceAll(role+event(`{"content":`+strictjson.Quote(text)+`}`, "null")+event(`{}`, "stop")+usage+done, `"c1"`, `"c2"`)
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

// One choice is denied and continues; the other one is released at once, in the
// bytes in which it came.
func TestOneOfTwoChoicesContinues(t *testing.T) {
	for _, n := range blocks {
		p := newPlayer(t, twoAsked, n, intercept.Limits{})
		rule := func(_ int, c intercept.Call) intercept.Ruling { return byName("x")(0, c) }
		p.Turn(twoCalls, rule)
		want := text0 + text1 + call1 + of(1, "{}", "tool_calls")
		if d := cmp.Diff(want, p.Got.String()); d != "" {
			t.Fatalf("after the first ruling (-want +got):\n%s", d)
		}
		if p.Last.Next == nil {
			t.Fatal("the denied choice does not go on")
		}
		next := gjson.ParseBytes(p.Last.Next.Body)
		if d := cmp.Diff(denialOf("One.", "a", "x"), next.Get("messages").Raw); d != "" || next.Get("n").Raw != "1" {
			t.Fatalf("n is %s, messages (-want +got):\n%s", next.Get("n").Raw, d)
		}
		if err := p.Feed(strings.TrimSuffix(reply("Well."), event("{}", "stop")+usage+done)); err != nil {
			t.Fatal(err)
		}
		if want += of(0, `{"content":"\n\nWell."}`, "null"); !strings.HasPrefix(p.Got.String(), want) {
			t.Fatalf("text of the continuation is delayed: %s", p.Got.String())
		}
	}
	p := play(t, twoAsked, bodies(twoCalls, reply("Well.")), nil, intercept.Limits{}, byName("x"))
	want := text0 + text1 + call1 + of(1, "{}", "tool_calls") + of(0, `{"content":"\n\nWell."}`, "null") + of(0, "{}", "stop") + usageOf(2) + done
	if d := cmp.Diff(want, string(p.Out())); d != "" {
		t.Fatalf("(-want +got):\n%s", d)
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

// Denied choices go on one after the other; each ends when it is done.
func TestBothChoicesContinue(t *testing.T) {
	p := play(t, twoAsked, bodies(twoCalls, reply("Well."), reply("Fine.")), []byte{6}, intercept.Limits{}, byName("x", "y"))
	want := text0 + text1 + of(0, `{"content":"\n\nWell."}`, "null") + of(0, "{}", "stop") + of(1, `{"content":"\n\nFine."}`, "null") + of(1, "{}", "stop") + usageOf(3) + done
	if d := cmp.Diff(want, string(p.Out())); d != "" {
		t.Fatalf("(-want +got):\n%s", d)
	}
	var told []string
	for _, next := range p.Nexts {
		told = append(told, gjson.Get(next, "messages").Raw)
	}
	if d := cmp.Diff([]string{denialOf("One.", "a", "x"), denialOf("Two.", "b", "y")}, told); d != "" {
		t.Fatalf("messages to the model (-want +got):\n%s", d)
	}
	// With either choice that the agent continues, the model reads its denial.
	for _, tt := range []struct{ echo, told string }{
		{"One.\n\nWell.", strings.TrimSuffix(denialOf("One.", "a", "x"), "]") + `,{"role":"assistant","content":"Well."}]`},
		{"Two.\n\nFine.", strings.TrimSuffix(denialOf("Two.", "b", "y"), "]") + `,{"role":"assistant","content":"Fine."}]`},
	} {
		r, err := parseRequest(asked(`{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":` + strictjson.Quote(tt.echo) + `}]}`))
		if err != nil {
			t.Fatal(err)
		}
		if n := r.Splice(p.Hidden); n != 1 {
			t.Fatalf("%d spliced", n)
		}
		if d := cmp.Diff(tt.told, string(r.Field("messages"))); d != "" {
			t.Fatalf("spliced (-want +got):\n%s", d)
		}
	}
}

// A choice that continues may be denied again, and make a call that is released.
func TestAChoiceIsDeniedAgain(t *testing.T) {
	again := strings.ReplaceAll(calls(0, "Hm.", "c", "x")+event("{}", "tool_calls")+usage+done, `"c1"`, `"c2"`)
	good := strings.ReplaceAll(calls(0, "So.", "d", "z")+event("{}", "tool_calls")+usage+done, `"c1"`, `"c3"`)
	p := play(t, twoAsked, bodies(twoCalls, again, good, reply("Fine.")), nil, intercept.Limits{}, byName("x", "y"))
	want := text0 + text1 + of(0, `{"content":"\n\nHm."}`, "null") + of(0, `{"content":"\n\nSo."}`, "null") +
		of(0, `{"tool_calls":[`+fn(`"index":0,"id":"d"`, "z", "{}")+`]}`, "null") + of(0, "{}", "tool_calls") +
		of(1, `{"content":"\n\nFine."}`, "null") + of(1, "{}", "stop") + usageOf(4) + done
	if d := cmp.Diff(want, string(p.Out())); d != "" {
		t.Fatalf("(-want +got):\n%s", d)
	}
	if got := gjson.Get(p.Nexts[1], "messages.#").Int(); got != 5 {
		t.Errorf("the second continuation of the choice has %d messages", got)
	}
	if got := gjson.Get(p.Nexts[2], "messages").Raw; got != denialOf("Two.", "b", "y") {
		t.Errorf("the model reads %s of the other choice", got)
	}
}

// Each choice has its own bound.
func TestContinuationsAreBoundedByChoice(t *testing.T) {
	again := strings.ReplaceAll(calls(0, "Hm.", "c", "x")+event("{}", "tool_calls")+usage+done, `"c1"`, `"c2"`)
	p := play(t, twoAsked, bodies(twoCalls, again), nil, intercept.Limits{MaxContinuations: 2}, intercepttest.DenyAll)
	if len(p.Nexts) != 4 {
		t.Errorf("%d continuations, want 2 for each choice", len(p.Nexts))
	}
	m, err := foldStrict(string(p.Out()))
	if err != nil {
		t.Fatalf("%v in %s", err, p.Out())
	}
	for i, said := range []string{"One.", "Two."} {
		want := said + "\n\nHm.\n\nHm.\n\n" + notice.TooManyDenials(3)
		if c := m.choices[i]; c.content != want || c.finish != "stop" || c.role != "assistant" || len(c.calls) > 0 {
			t.Errorf("choice %d: %+v, want the text %q", i, c, want)
		}
	}
	if strings.Count(string(p.Out()), done) != 1 || !strings.HasSuffix(string(p.Out()), usageOf(5)+done) {
		t.Errorf("ends as %s", p.Out())
	}
}

// The end of a whole answer waits for all its choices.
func TestChoicesOfAWholeAnswerContinue(t *testing.T) {
	choice := func(index int, message, finish string) string {
		return fmt.Sprintf(`{"index":%d,"message":%s,"logprobs":null,"finish_reason":%q}`, index, message, finish)
	}
	calling := func(text, id, name string) string {
		return `{"role":"assistant","content":` + strictjson.Quote(text) + `,"tool_calls":[` + fn(`"id":"`+id+`"`, name, "{}") + `]}`
	}
	body := func(id string, total int, choices ...string) string {
		return fmt.Sprintf(`{"id":%q,"object":"chat.completion","created":7,"model":"m1","choices":[%s],"usage":{"total_tokens":%d}}`, id, strings.Join(choices, ","), total)
	}
	first := body("c1", 1, choice(0, calling("One.", "a", "x"), "tool_calls"), choice(1, calling("Two.", "b", "y"), "tool_calls"), choice(2, `{"role":"assistant","content":"Three."}`, "stop"))
	well, fine := `{"role":"assistant","content":"Well.","reasoning":"hm"}`, `{"role":"assistant","content":"Fine."}`
	p := play(t, twoAsked, bodies(first, body("c2", 10, choice(0, well, "stop")), body("c3", 100, choice(0, fine, "stop"))), nil, intercept.Limits{}, intercepttest.DenyAll)
	want := body("c1", 111, choice(0, strings.Replace(well, "Well", `One.\n\nWell`, 1), "stop"), choice(1, strings.Replace(fine, "Fine", `Two.\n\nFine`, 1), "stop"), choice(2, `{"role":"assistant","content":"Three."}`, "stop"))
	if d := cmp.Diff(want, string(p.After)); d != "" || len(p.Before) > 0 {
		t.Fatalf("before the last ruling %q, after it (-want +got):\n%s", p.Before, d)
	}
	// One continues, the other one is edited.
	p = play(t, twoAsked, bodies(first, body("c2", 10, choice(0, well, "stop"))), nil, intercept.Limits{}, func(_ int, c intercept.Call) intercept.Ruling {
		if c.Name == "x" {
			return intercept.Ruling{ModelMessage: "No."}
		}
		return edit1(0, c)
	})
	want = body("c1", 11, choice(0, strings.Replace(well, "Well", `One.\n\nWell`, 1), "stop"), choice(1, strings.Replace(calling("Two.", "b", "y"), `"{}"`, strictjson.Quote(intercepttest.Edited), 1), "tool_calls"), choice(2, `{"role":"assistant","content":"Three."}`, "stop"))
	if d := cmp.Diff(want, string(p.After)); d != "" {
		t.Fatalf("one edited (-want +got):\n%s", d)
	}
	if len(p.Hidden) != 2 {
		t.Errorf("%d records, want one for each choice that changed", len(p.Hidden))
	}
}

// An abort while a choice continues ends all choices that have not ended.
func TestAbortEndsAllChoices(t *testing.T) {
	again := strings.ReplaceAll(calls(0, "Hm.", "c", "z")+event("{}", "tool_calls")+usage+done, `"c1"`, `"c2"`)
	rule := func(_ int, c intercept.Call) intercept.Ruling {
		if c.Name == "z" {
			return intercept.Ruling{Action: intercept.Abort, ModelMessage: "Stopped."}
		}
		return intercept.Ruling{ModelMessage: "No."}
	}
	p := play(t, twoAsked, bodies(twoCalls, again), nil, intercept.Limits{}, rule)
	m, err := foldStrict(string(p.Out()))
	if err != nil {
		t.Fatalf("%v in %s", err, p.Out())
	}
	for i, want := range []string{"One.\n\nHm.\n\nStopped.", "Two.\n\nStopped."} {
		if c := m.choices[i]; c.content != want || c.finish != "stop" || len(c.calls) > 0 {
			t.Errorf("choice %d: %+v, want the text %q", i, c, want)
		}
	}
	if len(p.Nexts) != 1 || len(p.Hidden) > 0 || !strings.HasSuffix(string(p.Out()), done) {
		t.Errorf("%d continuations, %d records, agent got %s", len(p.Nexts), len(p.Hidden), p.Out())
	}
}

// What was hidden of a choice that is done is known before its bytes go out, and
// stays known.
func TestRecordsOfSeveralChoices(t *testing.T) {
	body := calls(0, "One.", "a", "x") + calls(1, "Two.", "b", "y") + of(1, `{"tool_calls":[`+fn(`"index":1,"id":"c"`, "x", "{}")+`]}`, "null") + of(0, "{}", "tool_calls") + of(1, "{}", "tool_calls") + usage + done
	rule := func(_ int, c intercept.Call) intercept.Ruling { return byName("x")(0, c) }
	p := newPlayer(t, twoAsked, 64, intercept.Limits{})
	p.Turn(body, rule)
	if len(p.Last.Hidden) != 1 || p.Last.Next == nil {
		t.Fatalf("%d records with the first bytes", len(p.Last.Hidden))
	}
	first := string(p.Last.Hidden[0])
	p.Turn(reply("Well."), rule)
	if len(p.Last.Hidden) != 2 || string(p.Last.Hidden[0]) != first {
		t.Fatalf("%d records at the end", len(p.Last.Hidden))
	}
}

// Some servers answer with more choices than were asked for. Those of a
// continuation get places of their own.
func TestContinuationWithMoreChoices(t *testing.T) {
	second := strings.ReplaceAll(event(`{"role":"assistant","content":"Well."}`, "null")+of(1, `{"role":"assistant","tool_calls":[`+fn(`"index":0,"id":"c"`, "z", "{}")+`]}`, "tool_calls")+event("{}", "tool_calls")+usage+done, `"c1"`, `"c2"`)
	p := play(t, twoAsked, bodies(twoCalls, second), nil, intercept.Limits{}, byName("x"))
	m, err := foldStrict(string(p.Out()))
	if err != nil {
		t.Fatalf("%v in %s", err, p.Out())
	}
	if m.choices[0].content != "One.\n\nWell." || len(m.choices[1].calls) != 1 || len(m.choices) != 3 || len(m.choices[2].calls) != 1 || m.choices[2].role != "assistant" {
		t.Errorf("agent got %s", p.Out())
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
