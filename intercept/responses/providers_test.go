package responses

import (
	"errors"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/tidwall/gjson"
)

// What providers have been seen to send.

// offeringTools is a request that offers tools.
func offeringTools(tools string) intercept.Envelope {
	return asked(`{"model":"m","stream":true,"input":"x","tools":[` + tools + `]}`)
}

// programmatic is an item as a program of the model's calls it.
func programmatic(item string) string {
	return strings.Replace(item, `"type":`, `"caller":{"type":"program","caller_id":"call_prog"},"type":`, 1)
}

const program = `{"id":"prog_1","type":"program","call_id":"call_prog","code":"const r = await tools.bash({});","fingerprint":"f1"}`

// Finding 12: calls that a program makes name it as their caller. They pass, are
// denied and are edited as other calls are.
func TestProgrammaticCalls(t *testing.T) {
	edit := func(_ int, c intercept.Call) intercept.Ruling {
		args := map[string]string{"bash": `{"command":"pwd"}`, "sql": "SELECT 2", "shell": `{"commands":["pwd"]}`, "apply_patch": `{"type":"delete_file","path":"y"}`}
		return intercept.Ruling{Action: intercept.Edit, Arguments: args[c.Name], ModelMessage: "Changed."}
	}
	for _, item := range []string{function("a", "bash", ls), custom, shell, patch} {
		item = programmatic(item)
		caller := gjson.Get(item, "caller").Raw
		entire := whole("resp_1", program, item)
		for body, want := range map[string]string{stream("resp_1", program, item): rendered("resp_1", program, item), entire: entire} {
			p := newPlayer(t, asked(request1), 77, intercept.Limits{})
			p.Turn(body, release)
			if p.Got.String() != want {
				t.Errorf("released:\n%s\nwant\n%s", p.Got.String(), want)
			}
			p = newPlayer(t, asked(request1), 77, intercept.Limits{})
			p.Turn(body, deny)
			if p.Last.Next == nil {
				t.Fatalf("%s: no continuation", item)
			}
			output := gjson.GetBytes(p.Last.Next.Body, `input.0`)
			if output.Get("caller").Raw != caller || output.Get("call_id").Raw != gjson.Get(item, "call_id").Raw || strings.Contains(p.Got.String(), "caller") {
				t.Errorf("denied: the model reads %s, the agent has\n%s", output, p.Got.String())
			}
			p = newPlayer(t, asked(request1), 77, intercept.Limits{})
			p.Turn(body, edit)
			calls := callsIn(t, p.Got.String())
			if len(calls) != 1 || calls[0].Get("caller").Raw != caller || !strings.Contains(p.Got.String(), program) {
				t.Errorf("edited: %s in\n%s", calls, p.Got.String())
			}
		}
	}
}

// A caller of another form may hold anything.
func TestCallerOfAnotherForm(t *testing.T) {
	for _, caller := range []string{`{"type":"program","caller_id":{"x":"` + mark + `"}}`, `{"type":"program","call":"` + mark + `"}`, `{"name":"bash","input":"` + mark + `"}`} {
		item := strings.Replace(function("a", "bash", "{}"), `"type":`, `"caller":`+caller+`,"type":`, 1)
		for _, body := range []string{stream("resp_1", item), whole("resp_1", item)} {
			p := newPlayer(t, asked(request1), 77, intercept.Limits{})
			if err := p.Feed(body); err == nil || strings.Contains(p.Got.String(), mark) {
				t.Errorf("%s: error %v; the agent has\n%s", caller, err, p.Got.String())
			}
		}
	}
}

// Finding 13: a shell in the provider's container streams its output.
func TestOutputOfAHostedShell(t *testing.T) {
	const tools = `{"type":"shell","environment":{"type":"container_auto"}}`
	contained := strings.Replace(shell, `"action"`, `"environment":{"type":"container_reference","container_id":"cntr_1"},"action"`, 1)
	const output = `{"id":"sho_1","type":"shell_call_output","status":"completed","call_id":"call_s","output":[{"stdout":"a","stderr":"","outcome":{"type":"exit","exit_code":0}}],"max_output_length":8912}`
	s := newScript("resp_1").begin().item(contained).
		event("response.output_item.added", `"output_index":1,"item":{"id":"sho_1","type":"shell_call_output","status":"in_progress","call_id":"call_s","output":[]}`).
		event("response.shell_call_output_content.delta", `"item_id":"sho_1","output_index":1,"command_index":0,"delta":{"stdout":"a","stderr":""}`).
		event("response.shell_call_output_content.done", `"item_id":"sho_1","output_index":1,"command_index":0,"output":[{"stdout":"a","stderr":"","outcome":{"type":"exit","exit_code":0}}]`).
		event("response.output_item.done", `"output_index":1,"item":`+output)
	s.items = append(s.items, output)
	body := s.end()
	p := newPlayer(t, offeringTools(tools), 77, intercept.Limits{})
	p.Turn(body, deny)
	if p.Got.String() != body || p.Last.Next != nil {
		t.Errorf("got\n%s\nwant\n%s", p.Got.String(), body)
	}
}

// Finding 15: calls of xAI's search run at the provider and are not held, unless the agent
// has a tool of that name.
func TestSearchesOfXAI(t *testing.T) {
	const search = `{"type":"x_search"}`
	named := func(name string) string { return strings.Replace(custom, `"sql"`, `"`+name+`"`, 1) }
	const old = `{"id":"xs_1","type":"x_search_call","status":"completed","call_id":"xs_call","name":"x_keyword_search","arguments":"{\"query\":\"q\"}"}`
	for _, tt := range []struct {
		item, tools string
		held        bool
	}{
		{named("view_x_video"), search, false},
		{named("view_image"), search, false},
		{named("x_thread_fetch"), search, false},
		{old, search, false},
		{named("view_image"), "", true},
		{old, "", true},
		{named("sql"), search, true},
		{named("view_image"), search + `,{"type":"function","name":"view_image"}`, true},
		{named("view_x_video"), search + `,{"type":"custom","name":"view_x_video"}`, true},
		{named("view_image"), search + `,{"type":"namespace","name":"fs","tools":[{"type":"function","name":"view_image"}]}`, true},
		{old, search + `,{"type":"function","name":"x_keyword_search"}`, true},
	} {
		bodies := []string{stream("resp_1", tt.item), whole("resp_1", tt.item)}
		if tt.item == old {
			bodies[0] = newScript("resp_1").begin().
				event("response.output_item.added", `"output_index":0,"item":`+old).
				event("response.x_search_call.searching", `"output_index":0,"item_id":"xs_1"`).
				event("response.output_item.done", `"output_index":0,"item":`+old).
				event("response.completed", `"response":`+whole("resp_1", old)).out.String()
		}
		for _, body := range bodies {
			p := newPlayer(t, offeringTools(tt.tools), 77, intercept.Limits{})
			if err := p.Feed(body); err != nil {
				if !tt.held {
					t.Errorf("%s with %s: %v", tt.item, tt.tools, err)
				}
				continue
			}
			if calls := p.Answer.Calls(); len(calls) > 0 != tt.held {
				t.Errorf("%s with %s: %d calls", tt.item, tt.tools, len(calls))
			}
		}
	}
}

// Finding 18: an event that ends a response has to have one.
func TestEndWithoutAResponse(t *testing.T) {
	for _, typ := range []string{"response.completed", "response.incomplete", "response.failed", "response.cancelled"} {
		for _, fields := range []string{"", `,"response":null`, `,"response":"x"`, `,"response":[]`} {
			for _, before := range []string{"", begun(), begun() + data(`{"type":"response.output_item.added","output_index":0,"item":`+aCall+`}`)} {
				p := newPlayer(t, asked(request1), 77, intercept.Limits{})
				err := p.Feed(before + data(`{"type":"`+typ+`"`+fields+`}`))
				var broken *intercept.Error
				if !errors.As(err, &broken) || broken.Code != intercept.CodeAnswerNotUnderstood {
					t.Errorf("%s%s: error %v", typ, fields, err)
				}
			}
		}
	}
}

// Finding 6: a stream without an end of its API is cut off, whatever else closes
// it. Its calls are void.
func TestStreamWithoutItsEnd(t *testing.T) {
	unfinished := listed[:strings.LastIndex(listed, "event: response.completed")]
	for _, end := range []string{"", done} {
		p := newPlayer(t, asked(request1), 77, intercept.Limits{})
		err := p.Feed(unfinished + end)
		var broken *intercept.Error
		if !errors.As(err, &broken) || broken.Code != intercept.CodeUpstreamCut {
			t.Errorf("%q: error %v", end, err)
		}
	}
}

// callsIn are the calls that a client reads in an answer, streamed or whole.
func callsIn(t *testing.T, out string) (calls []gjson.Result) {
	t.Helper()
	for _, item := range final(t, out).Get("output").Array() {
		if callForms[item.Get("type").Str] != nil {
			calls = append(calls, item)
		}
	}
	return calls
}
