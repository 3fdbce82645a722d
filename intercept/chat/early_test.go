package chat

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
)

// A call leaves when a later one begins, or at a finish reason if no more of it can follow; what changes it after that ends the
// answer.
func TestCallsLeaveWhenTheyAreComplete(t *testing.T) {
	type steps = []intercepttest.Step
	show := func(piece string, words ...string) intercepttest.Step {
		return intercepttest.Step{Piece: piece, Shows: words}
	}
	a, b := opening(0, "call_a", "bash", `{"command":`)+more(0, `"ls"}`), opening(1, "call_b", "read", `{"path":"x"}`)
	bare := func(id, name, args string) string {
		return event(`{"tool_calls":[{"id":"`+id+`","type":"function","function":{"name":"`+name+`","arguments":"`+args+`"}}]}`, "null")
	}
	entry := func(id, name, args string) string {
		return `{"id":"` + id + `","type":"function","function":{"name":"` + name + `","arguments":"` + args + `"}}`
	}
	custom := func(index, id string) string {
		return event(`{"tool_calls":[{"index":`+index+`,"id":"`+id+`","type":"custom","custom":{"name":"sql","input":"SELECT"}}]}`, "null")
	}
	all, one := intercepttest.ReleaseAll, intercepttest.ReleaseFirst
	for name, tt := range map[string]struct {
		request string
		rule    intercepttest.Ruler
		steps   steps
		end     []string // what the agent gets at the end
		failed  string
	}{
		"a later index":                  {rule: all, steps: steps{show(role + a), show(opening(1, "call_b", "read", ""), "call_a"), show(more(1, `{"path":"x"}`)), show(finish, "call_b"), show(usage + done)}, end: []string{`"finish_reason":"tool_calls"`, `"total_tokens":15`, "[DONE]"}},
		"a finish reason":                {rule: all, steps: steps{show(role + a), show(finish, "call_a"), show(usage + done)}, end: []string{`"finish_reason":"tool_calls"`, "[DONE]"}},
		"text after it":                  {rule: all, steps: steps{show(role + a), show(opening(1, "call_b", "read", ""), "call_a"), show(event(`{"content":"So."}`, "null"), "So."), show(more(1, `{"path":"x"}`)), show(finish, "call_b"), show(done)}},
		"the second is denied":           {rule: one, steps: steps{show(role + a), show(b, "call_a"), show(finish + usage), show(done)}, end: []string{`"finish_reason":"tool_calls"`}},
		"the first is denied":            {rule: func(n int, c intercept.Call) intercept.Ruling { return intercepttest.ReleaseFirst(1-n, c) }, steps: steps{show(role + a), show(b), show(finish), show(done)}, end: []string{"call_b", `"index":0,"id":"call_b"`}},
		"no numbers":                     {rule: all, steps: steps{show(role + bare("call_a", "bash", `{\"command\":\"ls\"}`)), show(bare("call_b", "read", `{}`)), show(finish), show(done)}, end: []string{"call_a", "call_b"}}, // some clients read both as one
		"free text":                      {rule: all, steps: steps{show(role + custom("0", "call_a")), show(finish), show(done)}, end: []string{"call_a"}},
		"free text, then a call":         {rule: all, steps: steps{show(role + custom("0", "call_a")), show(b, "call_a"), show(finish, "call_b"), show(done)}},
		"interleaved":                    {rule: all, steps: steps{show(role + opening(0, "call_a", "bash", `{"command":`)), show(opening(1, "call_b", "read", "")), show(more(0, `"ls"}`) + more(1, `{"path":"x"}`)), show(finish + done)}, end: []string{"call_a", "call_b"}},
		"a finish reason in every event": {rule: all, steps: steps{show(role + strings.ReplaceAll(a, `"finish_reason":null`, `"finish_reason":"tool_calls"`)), show(finish), show(done)}, end: []string{"call_a"}},
		"more of it":                     {rule: all, steps: steps{show(role + a), show(b, "call_a"), show(more(0, " "))}, failed: "was released"},
		"more of it, a name":             {rule: all, steps: steps{show(role + a), show(b, "call_a"), show(opening(0, "call_a", "bash", `{"x":1}`))}, failed: "was released"},
		"nothing more, then more":        {rule: all, steps: steps{show(role + a), show(opening(1, "call_b", "read", ""), "call_a"), show(more(0, "")), show(more(0, " "))}, failed: "was released"},
		"its number again":               {rule: all, steps: steps{show(role + a), show(b, "call_a"), show(opening(0, "call_z", "read", `{}`), "call_b"), show(finish), show(done)}, end: []string{"call_z"}}, // two answers in one stream
		"its id again":                   {rule: all, steps: steps{show(role + a), show(b, "call_a"), show(opening(2, "call_a", "read", `{}`))}, failed: "was released"},
		"nothing more of it":             {rule: all, steps: steps{show(role + a), show(b, "call_a"), show(more(0, "")), show(finish, "call_b"), show(done)}},
		"the same message":               {rule: all, steps: steps{show(role + a), show(b, "call_a"), show(event(`{},"message":{"role":"assistant","tool_calls":[`+entry("call_a", "bash", `{\"command\":\"ls\"}`)+`,`+entry("call_b", "read", `{\"path\":\"x\"}`)+`]}`, `tool_calls`) + done)}},
		"another message":                {rule: all, steps: steps{show(role + a), show(b, "call_a"), show(event(`{},"message":{"role":"assistant","tool_calls":[`+entry("call_a", "bash", `{\"command\":\"rm\"}`)+`,`+entry("call_b", "read", `{\"path\":\"x\"}`)+`]}`, `tool_calls`) + done)}, failed: "was released"},
		"cut":                            {rule: all, steps: steps{show(role + a), show(b, "call_a")}, failed: "cut off"},
		"several choices":                {request: strings.Replace(request1, `"stream"`, `"n":2,"stream"`, 1), rule: all, steps: steps{show(role + a), show(b + finish + done)}, end: []string{"call_a", "call_b"}},
		"log probabilities":              {rule: all, steps: steps{show(role + strings.ReplaceAll(a, `"finish_reason"`, `"logprobs":{"content":[{"token":"ls","bytes":[108]}]},"finish_reason"`)), show(b), show(finish + done)}, end: []string{"call_a", "call_b"}},
		"an error of upstream":           {rule: all, steps: steps{show(role + a), show(b, "call_a"), show(data(`{"error":{"message":"overloaded"}}`), "overloaded")}},
	} {
		for _, n := range []int{1, 50, 1 << 20} {
			request := tt.request
			if request == "" {
				request = request1
			}
			r, err := parseRequest(asked(request))
			if err != nil {
				t.Fatal(err)
			}
			t.Run(name, func(t *testing.T) {
				end, failed := intercepttest.Steps(t, r, n, tt.rule, tt.steps...)
				if (failed == nil) != (tt.failed == "") || (failed != nil && !strings.Contains(failed.Error(), tt.failed)) {
					t.Fatalf("it ends with %v, want %q", failed, tt.failed)
				}
				for _, word := range tt.end {
					if !strings.Contains(end, word) {
						t.Errorf("the end has no %s: %s", word, end)
					}
				}
			})
		}
	}
}
