package chat

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

func edit1(int, intercept.Call) intercept.Ruling {
	return intercept.Ruling{Action: intercept.Edit, Arguments: intercepttest.Edited}
}

func bodies(list ...string) (b [][]byte) {
	for _, s := range list {
		b = append(b, []byte(s))
	}
	return b
}

// A continuation that is refused at its first byte must not pass that block.
func TestContinuationInAnotherForm(t *testing.T) {
	for _, second := range []string{whole(callList(fn(`"id":"b"`, "secret", "{}")), "tool_calls"), "<html>secret"} {
		p := play(t, request1, bodies(listed, second), nil, intercept.Limits{}, intercepttest.DenyAll)
		if p.Err == nil || strings.Contains(string(p.Out()), "secret") {
			t.Errorf("error %v, agent got %s", p.Err, p.Out())
		}
	}
}

// The whole stream is one part where events are separated by one newline; its
// calls and its [DONE] are in the same part.
func TestDeniedBesideDone(t *testing.T) {
	body := strings.ReplaceAll(role+opening(0, "a", "secret", "{}")+finish+done, "\n\n", "\n") + "\n"
	p := play(t, request1, bodies(body), nil, intercept.Limits{MaxContinuations: -1}, intercepttest.DenyAll)
	m, err := foldStrict(strings.ReplaceAll(string(p.Out()), "}\ndata", "}\n\ndata"))
	if err != nil || strings.Contains(string(p.Out()), "secret") {
		t.Fatalf("%v in %s", err, p.Out())
	}
	if c := m.choices[0]; c.finish != "stop" || c.role != "assistant" || !strings.Contains(c.content, "denied") || !strings.HasSuffix(string(p.Out()), done) {
		t.Errorf("got %s", p.Out())
	}
}

func TestEditKeepsWhatLaterFragmentsBrought(t *testing.T) {
	const signature = `"extra_content":{"google":{"thought_signature":"sig"}}`
	body := role + entries(`{"index":0,"type":"function"}`) + entries(`{"index":0,"id":"a",`+signature+`,"function":{"name":"x","arguments":"{}"}}`) + finish + done
	p := play(t, request1, bodies(body), nil, intercept.Limits{}, edit1)
	want := role + entries(`{"index":0,"id":"a","type":"function","function":{"name":"x","arguments":`+strictjson.Quote(intercepttest.Edited)+`},`+signature+`}`) + finish + done
	if d := cmp.Diff(want, string(p.Out())); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestCallsOfOneNumberAreTakenApart(t *testing.T) {
	body := role + opening(0, "a", "x", "{}") + opening(0, "b", "y", "{}") + opening(0, "c", "z", "{}") + finish + done
	p := play(t, request1, bodies(body), nil, intercept.Limits{}, func(n int, _ intercept.Call) intercept.Ruling {
		if n == 0 {
			return intercept.Ruling{ModelMessage: "No."}
		}
		return edit1(0, intercept.Call{})
	})
	m, err := foldStrict(string(p.Out()))
	if err != nil || len(m.choices[0].calls) != 2 || m.choices[0].calls[1].id != "c" {
		t.Errorf("%v in %s", err, p.Out())
	}
}

func TestEditedCallsOfOneNumberAreTakenApart(t *testing.T) {
	p := play(t, request1, bodies(role+opening(0, "a", "x", "{}")+opening(0, "b", "y", "{}")+finish+done), nil, intercept.Limits{}, edit1)
	m, err := foldStrict(string(p.Out()))
	if err != nil || len(m.choices[0].calls) != 2 || m.choices[0].calls[1] != (callSeen{"b", "y", intercepttest.Edited}) {
		t.Errorf("%v in %s", err, p.Out())
	}
}

// Text stays after text, and after the role, that is held with a call.
func TestTextStaysAfterHeldText(t *testing.T) {
	for _, held := range []string{`{"role":"assistant","tool_calls":[` + aCall + `]}`, `{"content":"First.","tool_calls":[` + aCall + `]}`} {
		body := delta(0, held) + speech + speech + finish + done
		p := newPlayer(t, request1, 9, intercept.Limits{})
		if err := p.Feed(body); err != nil || p.Got.Len() > 0 {
			t.Errorf("%v: passed %q", err, p.Got.String())
		}
	}
}

// Bytes that a strict reader would join to the next event must not precede one.
func TestUnendedEvent(t *testing.T) {
	word := strings.TrimSuffix(event(`{"content":"Let me look."}`, "stop"), "\n\n")
	p := play(t, request1, bodies(role+opening(0, "a", "x", "{}")+word), nil, intercept.Limits{}, intercepttest.ReleaseAll)
	if got, want := string(p.Out()), role+opening(0, "a", "x", "{}")+word+"\n\n"; got != want {
		t.Errorf("released: got %q, want %q", got, want)
	}
	p = play(t, request1, bodies(role+opening(0, "a", "x", "{}")+word, finalWord), nil, intercept.Limits{}, intercepttest.DenyAll)
	if m, err := foldStrict(string(p.Out())); err != nil || m.choices[0].content != "Let me look.\n\nVery well." {
		t.Errorf("denied: %v in %s", err, p.Out())
	}
}

func TestFailFitsTheForm(t *testing.T) {
	e := intercept.NotUnderstood("why")
	for _, tt := range []struct{ body, want string }{
		{whole(`{"content":"x"}`, "stop"), string(Dialect{}.Error(e))},
		{role + strings.TrimSuffix(speech, "\n\n"), "\n\n" + data(string(Dialect{}.Error(e)))},
		{role + strings.TrimSuffix(speech, "\n"), "\n" + data(string(Dialect{}.Error(e)))},
		{role + speech, data(string(Dialect{}.Error(e)))},
	} {
		p := newPlayer(t, request1, 7, intercept.Limits{})
		if err := p.Feed(tt.body); err != nil {
			t.Fatal(err)
		}
		if got := string(p.Answer.Fail(e)); got != tt.want {
			t.Errorf("after %q: got %q, want %q", tt.body, got, tt.want)
		}
	}
}

// With an error that upstream reports the answer is over, for all its choices:
// nothing is asked of the model again.
func TestErrorInTheContinuation(t *testing.T) {
	fault := "data: {\"error\":{\"message\":\"boom\",\"code\":\"x\"}}\n\n"
	for _, second := range []string{fault, fault + done, strings.ReplaceAll(role+speech, `"c1"`, `"c2"`) + fault} {
		p := play(t, request1, bodies(listed, second), nil, intercept.Limits{MaxContinuations: 2}, intercepttest.DenyAll)
		if out := string(p.Out()); p.Err != nil || len(p.Nexts) != 1 || strings.Count(out, fault) != 1 || strings.Contains(out, `"finish_reason":"stop"`) {
			t.Errorf("%q: error %v, %d continuations; the agent has\n%s", second, p.Err, len(p.Nexts), out)
		}
	}
}

func TestIdsInAContinuation(t *testing.T) {
	body := role + opening(0, "0", "x", "{}") + opening(1, "0", "y", "{}") + opening(2, "", "z", "{}") + finish + done
	p := play(t, request1, bodies(body, finalWord), nil, intercept.Limits{}, intercepttest.DenyAll)
	checkAnswered(t, p.Nexts[0])
	if got := gjson.Get(p.Nexts[0], "messages.1.tool_calls.#.id").Raw; got != `["0","call_t1_1","call_t1_2"]` {
		t.Errorf("ids %s", got)
	}
}

// Usage on every chunk does not hold text back, in a continuation neither.
func TestUsageOnEveryChunk(t *testing.T) {
	word := func(s string) string {
		return data(`{"id":"c1","choices":[{"index":0,"delta":{"content":"` + s + `"}}],"usage":{"total_tokens":2}}`)
	}
	p := newPlayer(t, request1, 1<<20, intercept.Limits{})
	p.Turn(role+opening(0, "a", "x", "{}")+word("one")+finish+done, deny)
	if !strings.Contains(p.Got.String(), "one") {
		t.Error("text was held after a call")
	}
	if err := p.Feed(word("two")); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(p.Got.String(), "two") {
		t.Error("text of the continuation was held back")
	}
}

func TestWhatIsRememberedIsBounded(t *testing.T) {
	p := newPlayer(t, request1, 1<<20, intercept.Limits{MaxBytes: 1000})
	if err := p.Feed(role + strings.Repeat(speech, 200)); err == nil || !strings.Contains(err.Error(), "proxy.max_body") {
		t.Errorf("no limit: %v", err)
	}
	// A message beside the delta repeats it and is not remembered.
	p = newPlayer(t, request1, 1<<20, intercept.Limits{MaxBytes: 1000})
	if err := p.Feed(strings.Repeat(both(`{"content":"x"}`, `{"content":"`+strings.Repeat("x", 50)+`"}`), 100)); err != nil {
		t.Error(err)
	}
}
