package responses

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/heldcall/heldcall/intercept/notice"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

const request1 = `{"model":"m","stream":true,"tool_choice":"required","input":[{"role":"user","content":"hi"}],"tools":[{"type":"function","name":"bash","description":"runs","parameters":{"type":"object"}}]}`

var (
	speech = message("msg_1", "Let me look.")
	listed = stream("resp_1", reasoning("rs_1"), speech, function("a", "bash", ls))
	two    = stream("resp_1", function("a", "bash", ls), function("b", "read", `{"path":"x"}`))
)

// asked is a POST of a body.
func asked(body string) intercept.Envelope {
	return intercept.Envelope{Method: http.MethodPost, Path: rootPath, Body: []byte(body)}
}

func newPlayer(t *testing.T, e intercept.Envelope, n int, limits intercept.Limits, records ...[]byte) *intercepttest.Player {
	t.Helper()
	r, err := Dialect{}.Request(e)
	if err != nil {
		t.Fatal(err)
	}
	if len(records) > 0 && r.Splice(records) == 0 {
		t.Fatal("nothing was spliced")
	}
	return intercepttest.NewPlayer(t, r, n, limits)
}

func release(int, intercept.Call) intercept.Ruling {
	return intercept.Ruling{Action: intercept.Release}
}

func deny(_ int, c intercept.Call) intercept.Ruling {
	return intercept.Ruling{Action: intercept.Deny, ModelMessage: notice.DeniedByPerson(c.Name, "no")}
}

// denying denies the calls of one tool.
func denying(name string) func(int, intercept.Call) intercept.Ruling {
	return func(_ int, c intercept.Call) intercept.Ruling {
		if c.Name == name {
			return deny(0, c)
		}
		return release(0, c)
	}
}

var blocks = []int{1, 7, 64, 1 << 20}

// A call goes out in canonical form, all else as it came, but for its numbers.
func TestReleased(t *testing.T) {
	one, both := rendered("resp_1", reasoning("rs_1"), speech, function("a", "bash", ls)), rendered("resp_1", function("a", "bash", ls), function("b", "read", `{"path":"x"}`))
	entire := whole("resp_1", speech, function("a", "bash", ls))
	call := strings.LastIndex(one[:strings.Index(one, `"fc_a"`)], "event: ")
	for body, want := range map[string]string{
		listed: one, two: both, ": hello\n\n" + listed: ": hello\n\n" + one, "\xef\xbb\xbf" + listed: "\xef\xbb\xbf" + one, listed + "data: [DONE]\n\n": one + "data: [DONE]\n\n",
		strings.ReplaceAll(listed, "\n", "\r\n"): strings.ReplaceAll(one[:call], "\n", "\r\n") + one[call:], unstored(listed): unstored(one), entire: entire,
	} {
		for _, n := range blocks {
			p := newPlayer(t, asked(request1), n, intercept.Limits{})
			p.Turn(body, release)
			if got := p.Got.String(); got != want {
				t.Fatalf("blocks of %d: got\n%s\nwant\n%s", n, got, want)
			}
			if p.Last.Hidden != nil || p.Last.Next != nil {
				t.Error("something is remembered of an answer that did not change")
			}
			if stored := strings.Contains(body, `"store":true`); stored != (p.Last.AnswerRecord != nil) {
				t.Errorf("stored %t, but for later requests %q is remembered", stored, p.Last.AnswerRecord)
			}
			if len(p.Last.Refers) != 1 || p.Last.Refers[0] != "resp_1" {
				t.Errorf("refers to %q", p.Last.Refers)
			}
		}
	}
}

func TestNothingOfAHeldCallPasses(t *testing.T) {
	before := listed[:strings.Index(listed, "event: response.output_item.added\ndata: {\"type\":\"response.output_item.added\",\"sequence_number\":11")]
	for _, n := range blocks {
		p := newPlayer(t, asked(request1), n, intercept.Limits{})
		if err := p.Feed(listed); err != nil {
			t.Fatal(err)
		}
		if got := p.Got.String(); got != before || !strings.Contains(before, "msg_1") || strings.Contains(got, "bash\",\"arg") {
			t.Fatalf("before the ruling: got %q, want %q", got, before)
		}
		calls := p.Answer.Calls()
		if len(calls) != 1 || calls[0].Name != "bash" || calls[0].Arguments != ls || calls[0].ID != "call_a" || calls[0].Ambiguous != nil {
			t.Fatalf("calls: %+v", calls)
		}
		if p.Answer.Text() != "Let me look." {
			t.Errorf("text %q", p.Answer.Text())
		}
	}
}

func TestKindsOfCalls(t *testing.T) {
	for _, tt := range []struct{ item, name, args string }{
		{custom, "sql", "SELECT 1"},
		{local, "local_shell", `{"type":"exec","command":["ls","-a"],"env":{}}`},
		{shell, "shell", `{"commands":["ls -a","pwd"],"max_output_length":8912,"timeout_ms":null}`},
		{patch, "apply_patch", `{"type":"create_file","diff":"+a\n+b","path":"x.md"}`},
		{computer, "computer", `{"type":"click","x":1,"y":2,"pending_safety_checks":[{"id":"sc_1","code":"c","message":"m"}]}`},
		{search, "tool_search", `{"goal":"find"}`},
		{approval, "mcp__zip__shorten", `{"url":"x"}`},
	} {
		for _, body := range []string{stream("resp_1", reasoning("rs_1"), tt.item, web), whole("resp_1", tt.item)} {
			p := newPlayer(t, asked(request1), 9, intercept.Limits{})
			if err := p.Feed(body); err != nil {
				t.Fatal(err)
			}
			calls := p.Answer.Calls()
			if len(calls) != 1 || calls[0].Name != tt.name || calls[0].Arguments != tt.args || len(calls[0].Ambiguous) > 0 || strings.Contains(p.Got.String(), gjson.Get(tt.item, "id").Str) {
				t.Errorf("%s: %+v\n%s", tt.name, calls, p.Got.String())
			}
		}
	}
}

func TestDeniedIsContinued(t *testing.T) {
	denied := strictjson.Quote(notice.DeniedByPerson("bash", "no"))
	output := `{"type":"function_call_output","call_id":"call_a","output":` + denied + "}"
	for _, n := range blocks {
		for _, stored := range []bool{true, false} {
			first, then := listed, stream("resp_2", reasoning("rs_2"), message("msg_2", "Very well."))
			want := `{"model":"m","stream":true,"tool_choice":"auto","input":[` + output + `],"tools":[{"type":"function","name":"bash","description":"runs","parameters":{"type":"object"}}],"previous_response_id":"resp_1"}`
			if !stored {
				first, then = unstored(first), unstored(then)
				want = `{"model":"m","stream":true,"tool_choice":"auto","input":[{"role":"user","content":"hi"},` + strings.Join([]string{reasoning("rs_1"), speech, function("a", "bash", ls), output}, ",") + `],"tools":[{"type":"function","name":"bash","description":"runs","parameters":{"type":"object"}}]}`
			}
			p := newPlayer(t, asked(request1), n, intercept.Limits{})
			p.Turn(first, deny)
			if p.Last.Next == nil {
				t.Fatal("no continuation")
			}
			if got := string(p.Last.Next.Body); got != want {
				t.Fatalf("continuation:\n%s\nwant\n%s", got, want)
			}
			p.Turn(then, release)
			s := newScript("resp_1").begin().item(reasoning("rs_1")).item(speech).item(reasoning("rs_2")).item(message("msg_2", "Very well."))
			whole := strings.Replace(s.end(), `"input_tokens":10,"output_tokens":5,"total_tokens":15`, `"input_tokens":20,"output_tokens":10,"total_tokens":30`, 1)
			if !stored {
				whole = unstored(whole)
			}
			if got := p.Got.String(); got != whole {
				t.Fatalf("agent got\n%s\nwant\n%s", got, whole)
			}
			if len(p.Last.Hidden) != 1 {
				t.Fatal("nothing is remembered")
			}
		}
	}
}

func TestMixedIsRenumbered(t *testing.T) {
	p := newPlayer(t, asked(request1), 50, intercept.Limits{})
	p.Turn(two, denying("bash"))
	if want := rendered("resp_1", function("b", "read", `{"path":"x"}`)); p.Got.String() != want {
		t.Fatalf("got\n%s\nwant\n%s", p.Got.String(), want)
	}
	follow := `{"input":[{"role":"user","content":"hi"},` + function("b", "read", `{"path":"x"}`) + `,{"type":"function_call_output","call_id":"call_b","output":"data"}]}`
	r, err := parseRequest(asked(follow))
	if err != nil {
		t.Fatal(err)
	}
	if n := r.Splice(p.Last.Hidden); n != 1 {
		t.Fatalf("%d spliced", n)
	}
	want := `{"input":[{"role":"user","content":"hi"},` + function("a", "bash", ls) + "," + function("b", "read", `{"path":"x"}`) +
		`,{"type":"function_call_output","call_id":"call_a","output":` + strictjson.Quote(notice.DeniedByPerson("bash", "no")) + `},{"type":"function_call_output","call_id":"call_b","output":"data"}]}`
	if got := string(r.Envelope().Body); got != want {
		t.Fatalf("spliced\n%s\nwant\n%s", got, want)
	}
}

func TestEditedReplacesTheArguments(t *testing.T) {
	edit := func(args string) func(int, intercept.Call) intercept.Ruling {
		return func(_ int, c intercept.Call) intercept.Ruling {
			return intercept.Ruling{Action: intercept.Edit, Arguments: args, ModelMessage: notice.ArgumentsChanged(c.Name, "")}
		}
	}
	for _, tt := range []struct{ item, args, field, want string }{
		{function("a", "bash", ls), `{"command":"pwd"}`, "arguments", `"{\"command\":\"pwd\"}"`},
		{custom, "SELECT 2", "input", `"SELECT 2"`},
		{local, `{"command":["pwd"]}`, "action", `{"command":["pwd"]}`},
		{shell, `{"commands":["pwd"]}`, "action", `{"commands":["pwd"]}`},
		{patch, `{"type":"create_file","diff":"+c","path":"y"}`, "operation", `{"type":"create_file","diff":"+c","path":"y"}`},
		{computer, `{"type":"wait","pending_safety_checks":[]}`, "action", `{"type":"wait"}`},
		{search, `{"goal":"x"}`, "arguments", `{"goal":"x"}`},
	} {
		for _, body := range []string{stream("resp_1", speech, tt.item), whole("resp_1", speech, tt.item)} {
			p := newPlayer(t, asked(request1), 50, intercept.Limits{})
			p.Turn(body, edit(tt.args))
			again := newPlayer(t, asked(request1), 50, intercept.Limits{})
			if err := again.Feed(p.Got.String()); err != nil {
				t.Fatalf("%s: %v in\n%s", tt.item, err, p.Got.String())
			}
			calls := again.Answer.Calls()
			if len(calls) != 1 || len(calls[0].Ambiguous) > 0 || strings.Contains(p.Got.String(), "SELECT 1") || (strings.Contains(p.Got.String(), "ls") && tt.field != "x" && strings.Contains(p.Got.String(), `ls\"`)) {
				t.Fatalf("%+v in\n%s", calls, p.Got.String())
			}
			final := gjson.Parse(p.Got.String())
			if body[0] == 'e' {
				at := strings.LastIndex(p.Got.String(), "data: ")
				final = gjson.Get(p.Got.String()[at+6:], "response")
			}
			if got := final.Get("output.1." + tt.field).Raw; got != tt.want {
				t.Errorf("%s: %s, want %s", tt.field, got, tt.want)
			}
		}
	}
}

func TestWhole(t *testing.T) {
	body := whole("resp_1", reasoning("rs_1"), function("a", "bash", ls), function("b", "read", `{}`))
	p := newPlayer(t, asked(request1), 11, intercept.Limits{})
	p.Turn(body, deny)
	if p.Got.Len() != 0 || p.Last.Next == nil {
		t.Fatalf("denied: %s", p.Got.String())
	}
	p.Turn(whole("resp_2", message("msg_2", "Fine.")), release)
	want := strings.Replace(whole("resp_1", reasoning("rs_1"), message("msg_2", "Fine.")), `"input_tokens":10,"output_tokens":5,"total_tokens":15`, `"input_tokens":20,"output_tokens":10,"total_tokens":30`, 1)
	if p.Got.String() != want {
		t.Errorf("continued:\n%s\nwant\n%s", p.Got.String(), want)
	}
	p = newPlayer(t, asked(request1), 11, intercept.Limits{})
	p.Turn(body, denying("bash"))
	if want := whole("resp_1", reasoning("rs_1"), function("b", "read", `{}`)); p.Got.String() != want {
		t.Errorf("mixed:\n%s\nwant\n%s", p.Got.String(), want)
	}
}

func TestAborted(t *testing.T) {
	for _, body := range []string{listed, whole("resp_1", reasoning("rs_1"), speech, function("a", "bash", ls))} {
		p := newPlayer(t, asked(request1), 64, intercept.Limits{})
		p.Turn(body, func(int, intercept.Call) intercept.Ruling {
			return intercept.Ruling{Action: intercept.Abort, ModelMessage: "stopped"}
		})
		want := whole("resp_1", reasoning("rs_1"), speech, message("msg_heldcall_t1", "stopped"))
		if body == listed {
			want = stream("resp_1", reasoning("rs_1"), speech, message("msg_heldcall_t1", "stopped"))
		}
		if got, want := happenings(p.Got.String()), happenings(want); got != want {
			t.Fatalf("got\n%s\nwant\n%s\nin %s", got, want, p.Got.String())
		}
	}
}

// happenings are what happens in a stream, without the fragments of its texts.
func happenings(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		v := gjson.Parse(strings.TrimPrefix(line, "data: "))
		if !v.IsObject() || v.Get("type").Str == "response.output_text.delta" {
			continue
		}
		fmt.Fprintln(&b, v.Get("type").Str, v.Get("output_index").Raw, v.Get("item.type").Str, v.Get("item.content.0.text").Str, v.Get("response.status").Str, v.Get("response.output.#.content.0.text").Raw, v.Get("output.#.content.0.text").Raw)
	}
	return b.String()
}

// An error that upstream reports ends the answer: heldcall does not continue it.
func TestErrorInTheContinuation(t *testing.T) {
	fault := data(`{"type":"error","code":"x","message":"boom"}`)
	failed := strings.ReplaceAll(finale("", `"status":"failed","error":{"code":"x","message":"boom"}`, ""), "response.completed", "response.failed")
	for _, second := range []string{fault, begun() + fault, failed} {
		p := play(t, asked(request1), bodies(listed, second), nil, intercept.Limits{MaxContinuations: 2}, intercepttest.DenyAll)
		if out := string(p.Out()); p.Err != nil || len(p.Nexts) != 1 || strings.Count(out, "boom") != 1 || strings.Contains(out, "response.completed") {
			t.Errorf("then %q: error %v, %d continuations; the agent has\n%s", second, p.Err, len(p.Nexts), out)
		}
	}
}

func TestContinuationsAreBounded(t *testing.T) {
	p := newPlayer(t, asked(request1), 64, intercept.Limits{MaxContinuations: 2})
	for i := 0; ; i++ {
		p.Turn(stream(fmt.Sprint("resp_", i), function(fmt.Sprint(i), "bash", ls)), deny)
		if p.Last.Next == nil {
			break
		}
		if i > 2 {
			t.Fatal("no bound")
		}
	}
	if out := p.Got.String(); !strings.Contains(out, "denied 3 times") || strings.Contains(out, "call_0") || strings.Count(out, "response.created") != 2 || strings.Count(out, "event: response.completed") != 1 {
		t.Fatalf("got\n%s", out)
	}
}
