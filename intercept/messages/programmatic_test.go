package messages

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/tidwall/gjson"
)

// Programmatic tool calling: code that the provider runs issues the calls. The first
// of them is streamed like any other. The others are in message_start, which has the stop
// reason too; only message_stop follows.

// issued is such an answer, with blocks of results before the calls.
func issued(id string, blocks ...string) string {
	return sent("message_start", `"message":{"id":"`+id+`","type":"message","role":"assistant","model":"m1","content":[`+strings.Join(blocks, ",")+`],"container":{"id":"container_1","expires_at":"2026-04-24T00:40:16.098987Z"},"stop_reason":"tool_use","stop_sequence":null,"stop_details":null,"usage":{"input_tokens":0,"output_tokens":0,"server_tool_use":{"web_search_requests":0,"web_fetch_requests":0}}}`) + stopped
}

func issuedCall(id, input string) string {
	return `{"type":"tool_use","id":"` + id + `","name":"bash","input":` + input + `,"caller":{"type":"code_execution_20250825","tool_id":"srvtoolu_1"}}`
}

const codeResult = `{"type":"code_execution_tool_result","tool_use_id":"srvtoolu_0","content":{"type":"code_execution_result","stdout":"done\n","stderr":"","return_code":0,"content":[],"abort_reason":null}}`

// headOf is the start of an issued message as the agent gets it without its blocks.
func headOf(answer string) string {
	start := answer[:strings.Index(answer, stopped)]
	content := gjson.Get(start[strings.Index(start, "{"):], "message.content").Raw
	return strings.Replace(strings.Replace(start, content, "[]", 1), `"stop_reason":"tool_use"`, `"stop_reason":null`, 1)
}

// Finding F3: the answer is understood, allowed and approved. The calls keep their caller, and leave
// message_start, and so does the reason to stop.
func TestIssuedCallIsReleased(t *testing.T) {
	end := sent("message_delta", `"delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":0,"output_tokens":0,"server_tool_use":{"web_search_requests":0,"web_fetch_requests":0}}`) + stopped
	first := func(n int) string { return opened(n, issuedCall("toolu_a", "{}")) + more(n, `{"a":1}`) + closed(n) }
	single, several := issued("msg_1", issuedCall("toolu_a", `{"a":1}`)), issued("msg_1", codeResult, issuedCall("toolu_a", `{"a":1}`), issuedCall("toolu_b", `{}`))
	for body, want := range map[string]string{
		single:  headOf(single) + first(0) + end,
		several: headOf(several) + opened(0, codeResult) + closed(0) + first(1) + opened(2, issuedCall("toolu_b", "{}")) + more(2, "{}") + closed(2) + end,
	} {
		for _, n := range blockSizes {
			p := newPlayer(t, request1, n, intercept.Limits{})
			if err := p.Feed(body); err != nil {
				t.Fatal(err)
			}
			equal(t, "before the ruling", p.Got.String(), "")
			p = newPlayer(t, request1, n, intercept.Limits{})
			p.Turn(body, func(_ int, c intercept.Call) intercept.Ruling {
				if c.Name != "bash" || len(c.Ambiguous) > 0 || len(c.Flags) != 1 || c.Flags[0] != intercept.FlagProgram("") {
					t.Errorf("%+v", c)
				}
				return intercept.Ruling{Action: intercept.Release}
			})
			equal(t, "released", p.Got.String(), want)
		}
	}
}

// Finding F3: an edited call leaves message_start, and so does the reason to stop.
func TestIssuedCallIsEdited(t *testing.T) {
	body := issued("msg_1", codeResult, issuedCall("toolu_a", `{"a":1}`))
	end := sent("message_delta", `"delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":0,"output_tokens":0,"server_tool_use":{"web_search_requests":0,"web_fetch_requests":0}}`) + stopped
	for _, n := range blockSizes {
		p := newPlayer(t, request1, n, intercept.Limits{})
		p.Turn(body, intercepttest.EditAll)
		equal(t, "edited", p.Got.String(), headOf(body)+opened(0, codeResult)+closed(0)+
			opened(1, issuedCall("toolu_a", "{}"))+more(1, intercepttest.Edited)+closed(1)+end)
	}
	p := newPlayer(t, request1, 9, intercept.Limits{})
	two := issued("msg_1", issuedCall("toolu_a", `{"a":1}`), issuedCall("toolu_b", `{"b":1}`))
	p.Turn(two, first(intercepttest.DenyAll))
	equal(t, "the first denied", p.Got.String(), headOf(two)+opened(0, issuedCall("toolu_b", "{}"))+more(0, `{"b":1}`)+closed(0)+end)
}

// Finding F3: after a denial the start of the message does not give a reason to stop,
// because the message continues.
func TestIssuedCallIsDenied(t *testing.T) {
	body := issued("msg_1", issuedCall("toolu_a", `{"a":1}`))
	for _, n := range blockSizes {
		p := newPlayer(t, request1, n, intercept.Limits{})
		p.Turn(body, intercepttest.DenyAll)
		equal(t, "before the continuation", p.Got.String(), headOf(body))
		equal(t, "said", gjson.GetBytes(p.Last.Next.Body, "messages.1.content.0").Raw, issuedCall("toolu_a", `{"a":1}`))
		equal(t, "container", gjson.GetBytes(p.Last.Next.Body, "container").Str, "container_1")
		p.Turn(finalWord, intercepttest.ReleaseAll)
		m, err := foldStrict(p.Got.String())
		if err != nil || m.text() != "Very well." || m.stop != "end_turn" || len(m.calls()) > 0 || strings.Contains(p.Got.String(), `"tool_use"`) {
			t.Errorf("%v: %s", err, p.Got.String())
		}
	}
	// Without a continuation, and after an abort, a note is the answer.
	for _, rule := range []intercepttest.Ruler{intercepttest.AbortAll, func(int, intercept.Call) intercept.Ruling {
		return intercept.Ruling{ModelMessage: "No.", UserMessage: "The end."}
	}} {
		p := newPlayer(t, request1, 9, intercept.Limits{})
		p.Turn(body, rule)
		m, err := foldStrict(p.Got.String())
		if err != nil || m.text() == "" || m.stop != "end_turn" || strings.Contains(p.Got.String(), `"tool_use"`) {
			t.Errorf("%v: %s", err, p.Got.String())
		}
	}
}

// Finding F3: an issued call in the continuation of an answer whose start the agent
// has got already.
func TestIssuedCallInAContinuation(t *testing.T) {
	p := newPlayer(t, request1, 9, intercept.Limits{})
	p.Turn(listed, intercepttest.DenyAll)
	p.Turn(issued("msg_2", codeResult, issuedCall("toolu_b", `{"b":1}`)), intercepttest.ReleaseAll)
	m, err := foldStrict(p.Got.String())
	if err != nil || m.id != "msg_1" || m.stop != "tool_use" || len(m.calls()) != 1 || m.calls()[0] != `bash({"b":1})` {
		t.Errorf("%v: %+v in %s", err, m, p.Got.String())
	}
	if !strings.HasSuffix(p.Got.String(), opened(2, issuedCall("toolu_b", "{}"))+more(2, `{"b":1}`)+closed(2)+
		sent("message_delta", `"delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":10,"output_tokens":7,"server_tool_use":{"web_search_requests":0,"web_fetch_requests":0}}`)+stopped) {
		t.Errorf("got %s", p.Got.String())
	}
}

// A call in message_start that clients read in different ways becomes a block of
// its own.
func TestOddIssuedCall(t *testing.T) {
	for _, odd := range []func(string) string{
		with(`"input":{"a":1}`, `"input":{"a":1},"__json_buf":"{"`),
		with(`"type":"message_start",`, `"type":"message_start","x":1,`),
		with(`"role":"assistant"`, `"role":"user"`),
		with(`"usage":{"input_tokens":0,`, `"usage":{"input_tokens":null,`),
		with("data: ", "id: 1\ndata: "),
	} {
		body := odd(issued("msg_1", issuedCall("toolu_a", `{"a":1}`)))
		p := play(t, bodies(body), nil, intercept.Limits{}, intercepttest.ReleaseAll)
		m, err := foldStrict(string(p.Out()))
		if err != nil || m.stop != "tool_use" || len(m.calls()) != 1 || m.calls()[0] != `bash({"a":1})` || strings.Contains(string(p.Out()), "__json_buf") {
			t.Errorf("%v: %s", err, p.Out())
		}
	}
}

// serverCode is the block of the provider's tool with the program.
const serverCode = `{"type":"server_tool_use","id":"srvtoolu_1","name":"code_execution","input":{"code":"rows = await bash(cmd=\"ls\")\nprint(rows)"},"caller":{"type":"direct"}}`

// Finding W10: a denial fails the call of a program, in every place of the history; a denied call of the model itself and
// a question that was answered do not fail. Reviewers see the program, from the answer or from the history before it.
func TestDenialOfAProgram(t *testing.T) {
	const code = "rows = await bash(cmd=\"ls\")\nprint(rows)"
	history := with(`"messages":[`, `"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[`+serverCode+`]},`)
	for name, tt := range map[string]struct{ request, body, want string }{
		"in the answer":  {request1, issued("msg_1", serverCode, issuedCall("toolu_a", `{"a":1}`)), code},
		"in the history": {history(request1), issued("msg_1", issuedCall("toolu_a", `{"a":1}`)), code},
		"streamed":       {request1, started("msg_1") + complete(0, serverCode) + opened(1, issuedCall("toolu_a", `{}`)) + more(1, `{"a":1}`) + closed(1) + ended("tool_use"), code},
		"not known":      {request1, issued("msg_1", issuedCall("toolu_a", `{"a":1}`)), ""},
	} {
		p := newPlayer(t, tt.request, 9, intercept.Limits{})
		p.Turn(tt.body, func(_ int, c intercept.Call) intercept.Ruling {
			if len(c.Flags) != 1 || c.Flags[0] != intercept.FlagProgram(tt.want) {
				t.Errorf("%s: the flags are %q", name, c.Flags)
			}
			return intercept.Ruling{ModelMessage: "No."}
		})
		last := gjson.GetBytes(p.Last.Next.Body, "messages|@reverse|0.content.0")
		if last.Raw != `{"type":"tool_result","tool_use_id":"toolu_a","content":"No.","is_error":true}` {
			t.Errorf("%s: the model reads %s", name, last.Raw)
		}
	}
	// Beside an allowed call, the model gets the denial with the next request.
	p := newPlayer(t, request1, 9, intercept.Limits{})
	p.Turn(issued("msg_1", issuedCall("toolu_a", `{"a":1}`), issuedCall("toolu_b", `{}`)), first(intercepttest.DenyAll))
	if hidden := string(p.Last.Hidden[0]); !strings.Contains(hidden, `is_error`) {
		t.Errorf("the record is %s", hidden)
	}
	direct := strings.ReplaceAll(issuedCall("toolu_a", `{"a":1}`), `{"type":"code_execution_20250825","tool_id":"srvtoolu_1"}`, `{"type":"direct"}`)
	for _, tt := range []struct {
		call  string
		ruled intercept.Ruling
	}{{direct, intercept.Ruling{ModelMessage: "No."}}, {issuedCall("toolu_a", "{}"), intercept.Ruling{Action: intercept.Answered, ModelMessage: `{"answer":"yes"}`}}} {
		p := newPlayer(t, request1, 9, intercept.Limits{})
		p.Turn(issued("msg_1", tt.call), func(int, intercept.Call) intercept.Ruling { return tt.ruled })
		if strings.Contains(string(p.Last.Next.Body), "is_error") {
			t.Errorf("the model reads %s", p.Last.Next.Body)
		}
	}
}
