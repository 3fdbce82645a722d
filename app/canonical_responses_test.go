package app_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/tidwall/gjson"
)

// oddCall is an answer of the Responses API whose call some clients read in another
// way: its second fragment has no type, its item a prototype.
func oddCall(streamed bool) fakemodel.Script {
	const head = `"id":"resp_1","object":"response","created_at":1,"model":"m","store":false`
	const item = `{"id":"fc_1","type":"function_call","status":"%s","call_id":"call_1","name":"bash","arguments":"%s","__proto__":{"arguments":"{}"}}`
	done := fmt.Sprintf(item, "completed", `{\"command\":\"rm -rf /tmp/junk\"}`)
	whole := `{` + head + `,"status":"completed","output":[` + done + `],"usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}}`
	return func(*fakemodel.Request) fakemodel.Reply {
		if !streamed {
			return fakemodel.Whole(200, []byte(whole))
		}
		var writes []fakemodel.Write
		for i, event := range [][2]string{
			{"response.created", `"response":{` + head + `,"status":"in_progress","output":[]}`},
			{"response.output_item.added", `"output_index":0,"item":` + fmt.Sprintf(item, "in_progress", "")},
			{"response.function_call_arguments.delta", `"item_id":"fc_1","output_index":0,"delta":"{\"command\":\"rm -rf /"`},
			{"", `"item_id":"fc_1","output_index":0,"delta":"tmp/junk"`},
			{"response.function_call_arguments.delta", `"item_id":"fc_1","output_index":0,"delta":"\"}"`},
			{"response.function_call_arguments.done", `"item_id":"fc_1","output_index":0,"arguments":"{\"command\":\"rm -rf /tmp/junk\"}"`},
			{"response.output_item.done", `"output_index":0,"item":` + done},
			{"response.completed", `"response":` + whole},
		} {
			typ := `"type":"` + event[0] + `",`
			if event[0] == "" {
				event[0], typ = "response.function_call_arguments.delta", ""
			}
			writes = append(writes, fakemodel.Write{Bytes: fmt.Appendf(nil, "event: %s\ndata: {%s\"sequence_number\":%d,%s}\n\n", event[0], typ, i, event[1])})
		}
		return fakemodel.Events(writes...)
	}
}

// Finding 1 for Responses, through the front door: a call that clients read in
// different ways reaches the agent in canonical form alone, whether a rule allows it,
// people approve it or they edit it.
func TestPromise9_WhatIsJudgedIsWhatRuns_Responses(t *testing.T) {
	t.Parallel()
	for _, streamed := range []bool{true, false} {
		body := fmt.Sprintf(`{"model":"m","stream":%t,"input":"do it","tools":[{"type":"function","name":"bash","parameters":{"type":"object"}}]}`, streamed)
		for name, tt := range map[string]struct {
			policy string
			decide *approvals.Decision
			want   string
		}{
			"allowed":  {"default: deny\nrules:\n- allow: [\"bash(rm -rf /tmp/*)\"]\n", nil, `{"command":"rm -rf /tmp/junk"}`},
			"approved": {"default: ask\n", &approvals.Decision{Action: approvals.ActionApprove}, `{"command":"rm -rf /tmp/junk"}`},
			"edited":   {"default: ask\n", &approvals.Decision{Action: approvals.ActionModifyArgs, ModifiedArgs: []byte(`{"command":"ls"}`)}, `{"command":"ls"}`},
		} {
			t.Run(fmt.Sprintf("%s, streamed=%t", name, streamed), func(t *testing.T) {
				w := build(t, tt.policy, oddCall(streamed))
				agent := w.postLater("/v1/responses", body)
				if tt.decide != nil {
					r := w.pending(1)[0]
					w.decide(r.ID, *tt.decide)
				}
				checkCanonical(t, <-agent, tt.want)
			})
		}
	}
}

// postLater sends a request whose head may wait for a decision.
func (w *world) postLater(path, body string) <-chan string {
	answer := make(chan string, 1)
	go func() {
		got := "no answer"
		if c, err := w.tryPost(path, body); err == nil {
			got = c.rest()
		}
		answer <- got
	}()
	return answer
}

func checkCanonical(t *testing.T, got, want string) {
	t.Helper()
	last, deltas := got, ""
	for line := range strings.Lines(got) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			if last = gjson.Get(data, "response").Raw; gjson.Get(data, "type").Str == "response.function_call_arguments.delta" {
				deltas += gjson.Get(data, "delta").Str
			}
		}
	}
	if args := gjson.Get(last, "output.0.arguments").Str; args != want || strings.Contains(got, "__proto__") {
		t.Errorf("arguments %s, want %s, in\n%s", args, want, got)
	}
	if strings.HasPrefix(got, "event:") && deltas != want {
		t.Errorf("fragments %s, want %s, in\n%s", deltas, want, got)
	}
}
