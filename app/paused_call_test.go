package app_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// numberedEvent is an event of Responses with the next number.
func numberedEvent(seq *int, typ, fields string) string {
	*seq++
	return "event: " + typ + "\n" + fmt.Sprintf(`data: {"type":"%s","sequence_number":%d,%s}`, typ, *seq-1, fields) + "\n\n"
}

// A held turn is continued for the agent that repeats its request, also if upstream pauses for longer than a keepalive
// between the beginning of an allowed call and its first delta.
func TestPromise12_AskedOnce_PauseInACall(t *testing.T) {
	for name, pause := range map[string]time.Duration{"no pause": 0, "a pause": 300 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			const a, b = `{"type":"function_call","id":"fc_%s","call_id":"call_%s","name":"%s","arguments":"%s","status":"%s"}`, `{}`
			item := func(id, tool, args, status string) string { return fmt.Sprintf(a, id, id, tool, args, status) }
			w := build(t, "default: ask\nrules: [{allow: [bash]}]\n", func(r *fakemodel.Request) fakemodel.Reply {
				n := 0
				seq := &n
				first := numberedEvent(seq, "response.created", `"response":{"id":"resp_1","object":"response","created_at":1,"status":"in_progress","output":[]}`) +
					numberedEvent(seq, "response.output_item.added", `"output_index":0,"item":`+item("a", "bash", "", "in_progress"))
				rest := numberedEvent(seq, "response.function_call_arguments.delta", `"item_id":"fc_a","output_index":0,"delta":"{}"`) +
					numberedEvent(seq, "response.function_call_arguments.done", `"item_id":"fc_a","output_index":0,"arguments":"{}"`) +
					numberedEvent(seq, "response.output_item.done", `"output_index":0,"item":`+item("a", "bash", "{}", "completed")) +
					numberedEvent(seq, "response.output_item.added", `"output_index":1,"item":`+item("b", "read", "", "in_progress")) +
					numberedEvent(seq, "response.function_call_arguments.delta", `"item_id":"fc_b","output_index":1,"delta":"{}"`) +
					numberedEvent(seq, "response.function_call_arguments.done", `"item_id":"fc_b","output_index":1,"arguments":"{}"`) +
					numberedEvent(seq, "response.output_item.done", `"output_index":1,"item":`+item("b", "read", "{}", "completed")) +
					numberedEvent(seq, "response.completed", `"response":{"id":"resp_1","object":"response","created_at":1,"status":"completed","output":[`+item("a", "bash", "{}", "completed")+","+item("b", "read", "{}", "completed")+`]}`)
				return fakemodel.Events(fakemodel.Write{Bytes: []byte(first)}, fakemodel.Write{Bytes: []byte(rest), Delay: pause})
			})
			const body = `{"model":"m","stream":true,"input":[{"role":"user","content":"hi"}],"tools":[{"type":"function","name":"bash","parameters":{"type":"object"}},{"type":"function","name":"read","parameters":{"type":"object"}}]}`
			leave := w.ask("/v1/responses", body)
			r := w.pending(1)[0]
			leave()
			w.agent(r.ID, approvals.AgentDetached)
			w.event("turn_detached")
			again := w.begin("/v1/responses", body, retried...)
			w.event("turn_reattached")
			if n := len(w.upstream.Requests()); n != 1 {
				t.Errorf("upstream was asked %d times", n)
			}
			for _, q := range w.pending(1) {
				if q.ID != r.ID {
					t.Errorf("people are asked again: request %s after %s", q.ID, r.ID)
				}
				w.decide(q.ID, approvals.Decision{Action: approvals.ActionApprove})
			}
			got := <-again
			if got.turn != r.TurnID {
				t.Errorf("the agent gets turn %s, not %s", got.turn, r.TurnID)
			}
			if log := w.log.String(); strings.Contains(log, "cannot be continued") {
				t.Errorf("...%.300s", log[strings.Index(log, "a held turn cannot"):])
			}
		})
	}
}
