package chat

import (
	"fmt"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/heldcall/heldcall/intercept/notice"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

const request1 = `{"model":"m","stream":true,"tool_choice":"required","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"bash","description":"runs","parameters":{"type":"object"}}}]}`

// event renders one streamed chunk.
func event(delta, finish string) string {
	if finish != "null" {
		finish = `"` + finish + `"`
	}
	return fmt.Sprintf(`data: {"id":"c1","object":"chat.completion.chunk","created":7,"model":"m1","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`+"\n\n", delta, finish)
}

func opening(index int, id, name, args string) string {
	return event(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%q,"type":"function","function":{"name":%q,"arguments":%q}}]}`, index, id, name, args), "null")
}

func more(index int, args string) string {
	return event(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%q}}]}`, index, args), "null")
}

const (
	usage = `data: {"id":"c1","object":"chat.completion.chunk","created":7,"model":"m1","choices":[],"usage":{"prompt_tokens":10,"total_tokens":15}}` + "\n\n"
	done  = "data: [DONE]\n\n"
)

var (
	role   = event(`{"role":"assistant","content":""}`, "null")
	speech = event(`{"content":"Let me look."}`, "null")
	finish = event(`{}`, "tool_calls")
	listed = role + speech + opening(0, "call_a", "bash", "") + more(0, `{"command":`) + more(0, `"ls"}`) + finish + usage + done
	two    = role + opening(0, "call_a", "bash", `{"command":"ls"}`) + opening(1, "call_b", "read", `{"path":"x"}`) + finish + usage + done
)

func newPlayer(t *testing.T, body string, n int, limits intercept.Limits) *intercepttest.Player {
	t.Helper()
	r, err := Dialect{}.Request(asked(body))
	if err != nil {
		t.Fatal(err)
	}
	return intercepttest.NewPlayer(t, r, n, limits)
}

func release(int, intercept.Call) intercept.Ruling {
	return intercept.Ruling{Action: intercept.Release}
}

func deny(_ int, c intercept.Call) intercept.Ruling {
	return intercept.Ruling{Action: intercept.Deny, ModelMessage: notice.DeniedByPerson(c.Name, "no")}
}

var blocks = []int{1, 7, 64, 1 << 20}

// A call goes out in canonical form, all else as it came.
func TestReleased(t *testing.T) {
	rendered := role + speech + opening(0, "call_a", "bash", `{"command":"ls"}`) + finish + usage + done
	returns := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
	for body, want := range map[string]string{
		listed: rendered, two: two, ": hello\n\n" + listed: ": hello\n\n" + rendered, "\xef\xbb\xbf" + listed: "\xef\xbb\xbf" + rendered,
		returns(listed): returns(role+speech) + opening(0, "call_a", "bash", `{"command":"ls"}`) + returns(finish+usage+done),
	} {
		for _, n := range blocks {
			p := newPlayer(t, request1, n, intercept.Limits{})
			p.Turn(body, release)
			if got := p.Got.String(); got != want {
				t.Fatalf("blocks of %d: got\n%s\nwant\n%s", n, got, want)
			}
			if p.Last.Hidden != nil || p.Last.Next != nil {
				t.Error("something is remembered of an answer that did not change")
			}
		}
	}
}

func TestNothingOfAHeldCallPasses(t *testing.T) {
	for _, n := range blocks {
		p := newPlayer(t, request1, n, intercept.Limits{})
		if err := p.Feed(listed); err != nil {
			t.Fatal(err)
		}
		if got, want := p.Got.String(), role+speech; got != want {
			t.Fatalf("before the ruling: got %q, want %q", got, want)
		}
		calls := p.Answer.Calls()
		if len(calls) != 1 || calls[0].Name != "bash" || calls[0].Arguments != `{"command":"ls"}` || calls[0].ID != "call_a" || calls[0].Ambiguous != nil {
			t.Fatalf("calls: %+v", calls)
		}
	}
}

func TestDeniedIsContinued(t *testing.T) {
	for _, n := range blocks {
		p := newPlayer(t, request1, n, intercept.Limits{})
		p.Turn(listed, deny)
		if p.Last.Next == nil {
			t.Fatal("no continuation")
		}
		next := gjson.ParseBytes(p.Last.Next.Body)
		wantMessages := `[{"role":"user","content":"hi"},{"role":"assistant","content":"Let me look.","tool_calls":[{"id":"call_a","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}}]},` +
			`{"role":"tool","tool_call_id":"call_a","content":` + strictjson.Quote(notice.DeniedByPerson("bash", "no")) + `}]`
		if got := next.Get("messages").Raw; got != wantMessages {
			t.Fatalf("messages:\n%s\nwant\n%s", got, wantMessages)
		}
		if next.Get("tool_choice").Str != "auto" {
			t.Errorf("tool_choice: %s", next.Get("tool_choice").Raw)
		}
		second := strings.ReplaceAll(role+event(`{"content":"Very well."}`, "null")+event(`{}`, "stop")+usage+done, `"c1"`, `"c2"`)
		p.Turn(second, release)
		want := role + speech + event(`{"content":"\n\nVery well."}`, "null") + event(`{}`, "stop") + strings.Replace(usage, `{"prompt_tokens":10,"total_tokens":15}`, `{"prompt_tokens":20,"total_tokens":30}`, 1) + done
		if got := p.Got.String(); got != want {
			t.Fatalf("agent got\n%s\nwant\n%s", got, want)
		}
		if len(p.Last.Hidden) != 1 {
			t.Fatal("nothing is remembered")
		}
		follow := `{"model":"m","messages":[{"role":"user","content":"hi"}, {"role":"assistant","content":"Let me look.\n\nVery well."}, {"role":"user","content":"next"}]}`
		r, err := parseRequest(asked(follow))
		if err != nil {
			t.Fatal(err)
		}
		if n := r.Splice(p.Last.Hidden); n != 1 {
			t.Fatalf("%d spliced", n)
		}
		wantMessages = wantMessages[:len(wantMessages)-1] + `,{"role":"assistant","content":"Very well."}, {"role":"user","content":"next"}]`
		wantMessages = strings.Replace(wantMessages, `"hi"},{`, `"hi"}, {`, 1)
		if got := gjson.GetBytes(r.Envelope().Body, "messages").Raw; got != wantMessages {
			t.Fatalf("spliced:\n%s\nwant\n%s", got, wantMessages)
		}
	}
}

func TestMixedIsRenumbered(t *testing.T) {
	p := newPlayer(t, request1, 50, intercept.Limits{})
	p.Turn(two, func(_ int, c intercept.Call) intercept.Ruling {
		if c.Name == "bash" {
			return deny(0, c)
		}
		return release(0, c)
	})
	want := role + opening(0, "call_b", "read", `{"path":"x"}`) + finish + usage + done
	if got := p.Got.String(); got != want {
		t.Fatalf("got\n%s\nwant\n%s", got, want)
	}
	follow := `{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_b","type":"function","function":{"name":"read","arguments":"{\"path\":\"x\"}"}}]},{"role":"tool","tool_call_id":"call_b","content":"data"}]}`
	r, err := parseRequest(asked(follow))
	if err != nil {
		t.Fatal(err)
	}
	if n := r.Splice(p.Last.Hidden); n != 1 {
		t.Fatalf("%d spliced", n)
	}
	wantBody := `{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_a","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}},{"id":"call_b","type":"function","function":{"name":"read","arguments":"{\"path\":\"x\"}"}}]},{"role":"tool","tool_call_id":"call_a","content":` +
		strictjson.Quote(notice.DeniedByPerson("bash", "no")) + `},{"role":"tool","tool_call_id":"call_b","content":"data"}]}`
	if got := string(r.Envelope().Body); got != wantBody {
		t.Fatalf("spliced\n%s\nwant\n%s", got, wantBody)
	}
}

func TestEditedReplacesTheArguments(t *testing.T) {
	p := newPlayer(t, request1, 50, intercept.Limits{})
	p.Turn(listed, func(_ int, c intercept.Call) intercept.Ruling {
		return intercept.Ruling{Action: intercept.Edit, Arguments: `{"command":"pwd"}`, ModelMessage: notice.ArgumentsChanged("bash", "")}
	})
	want := role + speech + opening(0, "call_a", "bash", `{"command":"pwd"}`) + finish + usage + done
	if got := p.Got.String(); got != want {
		t.Fatalf("got\n%s\nwant\n%s", got, want)
	}
	follow := `{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"Let me look.","tool_calls":[{"id":"call_a","type":"function","function":{"name":"bash","arguments":"{\"command\":\"pwd\"}"}}]},{"role":"tool","tool_call_id":"call_a","content":"/tmp"}]}`
	r, err := parseRequest(asked(follow))
	if err != nil {
		t.Fatal(err)
	}
	r.Splice(p.Last.Hidden)
	got := gjson.GetBytes(r.Envelope().Body, "messages.2.content").Str
	if want := notice.ArgumentsChanged("bash", "") + "\n/tmp"; got != want {
		t.Fatalf("tool result %q, want %q", got, want)
	}
}

func TestHeldCallDoesNotDelayText(t *testing.T) {
	p := newPlayer(t, request1, 1<<20, intercept.Limits{})
	late := event(`{"content":" And more."}`, "null")
	if err := p.Feed(role + speech + opening(0, "call_a", "bash", "{}") + late + finish + done); err != nil {
		t.Fatal(err)
	}
	if got := p.Got.String(); got != role+speech+late {
		t.Fatalf("got %q", got)
	}
}

func TestWhole(t *testing.T) {
	body := `{"id":"c1","object":"chat.completion","created":7,"model":"m1","choices":[{"index":0,"message":{"role":"assistant","content":"Look.","tool_calls":[{"id":"call_a","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}},{"id":"call_b","type":"function","function":{"name":"read","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"total_tokens":5}}`
	p := newPlayer(t, request1, 11, intercept.Limits{})
	p.Turn(body, release)
	if p.Got.String() != body {
		t.Errorf("released: %s", p.Got.String())
	}
	p = newPlayer(t, request1, 11, intercept.Limits{})
	p.Turn(body, deny)
	if p.Got.Len() != 0 || p.Last.Next == nil {
		t.Fatalf("denied: %s", p.Got.String())
	}
	p.Turn(`{"id":"c2","object":"chat.completion","created":9,"model":"m2","choices":[{"index":0,"message":{"role":"assistant","content":"Fine."},"finish_reason":"stop"}],"usage":{"total_tokens":7}}`, release)
	want := `{"id":"c1","object":"chat.completion","created":7,"model":"m1","choices":[{"index":0,"message":{"role":"assistant","content":"Look.\n\nFine."},"finish_reason":"stop"}],"usage":{"total_tokens":12}}`
	if p.Got.String() != want {
		t.Errorf("continued:\n%s\nwant\n%s", p.Got.String(), want)
	}
	p = newPlayer(t, request1, 11, intercept.Limits{})
	p.Turn(body, func(_ int, c intercept.Call) intercept.Ruling {
		if c.Name == "bash" {
			return deny(0, c)
		}
		return intercept.Ruling{Action: intercept.Edit, Arguments: `{"p":1}`}
	})
	want = strings.Replace(strings.Replace(body, `{"id":"call_a","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}},`, "", 1), `"{}"`, `"{\"p\":1}"`, 1)
	if p.Got.String() != want {
		t.Errorf("mixed:\n%s\nwant\n%s", p.Got.String(), want)
	}
}

func TestAborted(t *testing.T) {
	p := newPlayer(t, request1, 64, intercept.Limits{})
	p.Turn(listed, func(int, intercept.Call) intercept.Ruling {
		return intercept.Ruling{Action: intercept.Abort, ModelMessage: "stopped"}
	})
	want := role + speech + event(`{"content":"\n\nstopped"}`, "null") + event(`{}`, "stop") + usage + done
	if got := p.Got.String(); got != want {
		t.Fatalf("got\n%s\nwant\n%s", got, want)
	}
}

func TestContinuationsAreBounded(t *testing.T) {
	p := newPlayer(t, request1, 64, intercept.Limits{MaxContinuations: 2})
	for i := 0; ; i++ {
		p.Turn(strings.ReplaceAll(listed, "call_a", fmt.Sprint("call_", i)), deny)
		if p.Last.Next == nil {
			break
		}
		if i > 2 {
			t.Fatal("no bound")
		}
	}
	if out := p.Got.String(); !strings.Contains(out, "denied 3 times") || (strings.Contains(out, "call_") && strings.Contains(out, "bash")) || !strings.HasSuffix(out, done) || strings.Count(out, `"finish_reason":"stop"`) != 1 {
		t.Fatalf("got\n%s", out)
	}
}

// An answer that is not understood is not released.
func TestFailsClosed(t *testing.T) {
	bad := map[string]string{
		"not JSON":                 "data: {\"choices\":[\n\n",
		"duplicate names":          event(`{"content":"x","content":"y"}`, "null"),
		"two values":               "data: {}{}\n\n",
		"two events on a line":     "data: {}data: {}\n\n",
		"invalid UTF-8":            "data: {\"a\":\"\xff\"}\n\n",
		"unknown call key":         event(`{"browser_call":{"url":"x"}}`, "null"),
		"misspelt":                 event(`{"Tool_Calls":[{"index":0}]}`, "null"),
		"misspelt choices":         "data: {\"CHOICES\":[]}\n\n",
		"unknown object":           event(`{"thing":{"name":"bash","arguments":"{}"}}`, "null"),
		"the delta is a call":      event(`{"name":"bash","input":{}}`, "null"),
		"call of another API":      "data: {\"type\":\"content_block_start\",\"content_block\":{\"type\":\"tool_use\",\"name\":\"bash\",\"input\":{}}}\n\n",
		"responses event":          "data: {\"type\":\"response.function_call_arguments.delta\",\"delta\":\"{\"}\n\n",
		"unknown line":             "tool: {\"choices\":[]}\n\n",
		"object in a comment":      ": data: {\"choices\":[]}\n\n",
		"name is a number":         event(`{"tool_calls":[{"index":0,"id":"a","function":{"name":1}}]}`, "null"),
		"calls are an object":      event(`{"tool_calls":{"0":{"function":{"name":"bash"}}}}`, "null"),
		"HTML":                     "<html>",
		"object in an event line":  "event: data: " + hostileC + "\n\n",
		"call in logprobs":         data(`{"choices":[{"logprobs":` + hostileC + `}]}`),
		"call in usage":            data(`{"usage":` + hostileC + `}`),
		"call in the id":           data(`{"id":` + hostileC + `}`),
		"call over several lines":  "data: {\"choices\":[{\"logprobs\":\ndata: " + hostileC + "\ndata: }]}\n\n",
		"name beside the function": entries(`{"index":0,"id":"a","name":"bash","arguments":"{}"}`),
		"index below zero":         entries(fn(`"index":-1,"id":"a"`, "bash", "{}")),
		"index is a fraction":      data(`{"choices":[{"index":0.5,"delta":{"tool_calls":[` + aCall + `]}}]}`),
		"function and custom":      entries(`{"index":0,"id":"a","type":"custom","function":{"name":"bash","arguments":"{}"}}`),
		"deeply nested":            data(`{"x":` + strings.Repeat(`[`, 100) + `{"action":1}` + strings.Repeat(`]`, 100) + `}`),
		"call after the end":       done + opening(0, "a", "bash", "{}"),
		"whole with duplicates":    `{"choices":[],"choices":[{"message":{"tool_calls":[{"function":{"name":"bash"}}]}}]}`,
		"whole followed by second": `{"choices":[]}{"choices":[{"message":{"tool_calls":[{"function":{"name":"bash"}}]}}]}`,
	}
	for name, body := range bad {
		for _, n := range blocks {
			p := newPlayer(t, request1, n, intercept.Limits{})
			if err := p.Feed(body); err == nil {
				t.Errorf("%s in blocks of %d: understood; passed %q", name, n, p.Got.String())
			}
			if strings.Contains(p.Got.String(), "bash") {
				t.Errorf("%s: leaked %q", name, p.Got.String())
			}
		}
	}
}

func TestErrorInsideVoidsTheCall(t *testing.T) {
	fault := "data: {\"error\":{\"message\":\"boom\",\"code\":\"x\"}}\n\n"
	p := newPlayer(t, request1, 16, intercept.Limits{})
	p.Turn(role+opening(0, "call_a", "bash", `{"a":`)+fault, release)
	if got := p.Got.String(); got != role+fault {
		t.Fatalf("got %q", got)
	}
}

func TestCutIsNoEnd(t *testing.T) {
	p := newPlayer(t, request1, 1<<20, intercept.Limits{})
	p.Answer.Begin()
	if _, err := p.Answer.Write([]byte(role + opening(0, "call_a", "bash", `{}`))); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Answer.End(false); err == nil {
		t.Error("a stream that was cut counts as ended")
	}
}

// asked is an agent's request with a body.
func asked(body string) intercept.Envelope {
	return intercept.Envelope{Method: "POST", Path: route, Body: []byte(body)}
}

// A fragment that only some readers of the stream see would make up other
// arguments for them than were judged.
func TestFragmentsThatSomeReadersSkip(t *testing.T) {
	hidden := more(0, `"b":2,`)
	for _, part := range []string{" " + hidden, "\ufeff" + hidden, strings.ReplaceAll(hidden, "\n", "\r"), ": x\r" + hidden} {
		p := play(t, request1, bodies(role+opening(0, "call_a", "bash", `{"a":1,`)+part+more(0, `"c":3}`)+finish+done), nil, intercept.Limits{}, intercepttest.ReleaseAll)
		if p.Err == nil {
			t.Errorf("%q was understood", part)
		}
	}
}
