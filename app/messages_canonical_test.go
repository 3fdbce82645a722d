package app_test

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// Calls that clients of the Messages API read in different ways as upstream sends
// them, through the front door.

const (
	oddInput = `{"command":"rm -rf /tmp/junk"}`
	oddHead  = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"stop_reason\":null,\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n"
	oddTail  = "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":7}}\n\n" +
		"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
)

// useEvents are the events of a call of bash, with more fields in its block and its
// input in pieces.
func useEvents(fields string, pieces ...string) string {
	out := "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"toolu_a\",\"name\":\"bash\",\"input\":{}" + fields + "}}\n\n"
	for _, p := range pieces {
		out += "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":" + strictjson.Quote(p) + "}}\n\n"
	}
	return out + "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n"
}

// oddMessage is a whole answer with a call of bash.
func oddMessage(input, fields string) string {
	return `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"tool_use","id":"toolu_a","name":"bash","input":` + input + fields + `}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":7}}`
}

// Findings H1 and H2 for Messages: every client runs the judged arguments, if a rule
// allows the call, a reviewer approves it or changes it.
func TestPromise9_WhatIsJudgedIsWhatRuns_Messages(t *testing.T) {
	t.Parallel()
	const edited = `{"command":"echo safe"}`
	pieces := useEvents("", `{"command":"rm -rf /`, `tmp/junk`, `"}`)
	answers := map[string]struct {
		upstream string
		want     func(input string) string
	}{
		"a piece without a type": {oddHead + strings.Replace(pieces, `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"tmp`, `{"index":0,"delta":{"type":"input_json_delta","partial_json":"tmp`, 1) + oddTail, streamedUse},
		"__json_buf":             {oddHead + useEvents(`,"__json_buf":"{\"command\":\"rm -rf /\",\"x\":"`, "", oddInput) + oddTail, streamedUse},
		"__json_buf, whole":      {oddMessage(oddInput, `,"__json_buf":"{"`), func(input string) string { return oddMessage(input, "") }},
	}
	for name, tt := range answers {
		t.Run(name, func(t *testing.T) {
			if strings.Contains(tt.upstream, `"index"`) && tt.upstream == oddHead+pieces+oddTail {
				t.Fatal("the answer is not odd")
			}
			upstream := func(*fakemodel.Request) fakemodel.Reply {
				if strings.HasPrefix(tt.upstream, "{") {
					return fakemodel.Whole(200, []byte(tt.upstream))
				}
				return fakemodel.Events(fakemodel.Write{Bytes: []byte(tt.upstream)})
			}
			w := build(t, "profiles: none\ndefault: deny\ntools:\n  bash: {resource: command, as: shell}\nrules:\n  - allow: [\"bash(rm -rf /tmp/*)\"]\n", upstream)
			if got := w.post("/v1/messages", messagesRequest, anthropicHeaders...).rest(); withoutPings(got) != tt.want(oddInput) {
				t.Errorf("allowed by a rule: got %s", got)
			}
			w = build(t, askAll, upstream)
			for _, d := range []approvals.Decision{{Action: approvals.ActionApprove}, {Action: approvals.ActionModifyArgs, ModifiedArgs: []byte(edited)}} {
				answer := make(chan string, 1)
				go func() { answer <- w.post("/v1/messages", messagesRequest, anthropicHeaders...).rest() }()
				r := w.pending(1)[0]
				if string(r.Arguments) != oddInput || len(r.Details.Doubts) > 0 {
					t.Errorf("asked about %s with %+v", r.Arguments, r.Details)
				}
				w.decide(r.ID, d)
				want := tt.want(oddInput)
				if d.Action == approvals.ActionModifyArgs {
					want = tt.want(edited)
				}
				if got := withoutPings(<-answer); got != want {
					t.Errorf("%s: got %s\nwant %s", d.Action, got, want)
				}
			}
		})
	}
}

func streamedUse(input string) string { return oddHead + useEvents("", input) + oddTail }

// withoutPings is an answer without its heartbeats.
func withoutPings(answer string) string {
	return strings.TrimLeft(strings.NewReplacer(": keepalive\n", "", "event: ping\ndata: {\"type\": \"ping\"}\n\n", "").Replace(answer), "\n")
}

// Finding F7 for Messages: no request is made for the calls of a stream without the
// end of its message.
func TestMessagesStreamWithoutItsEndIsCut(t *testing.T) {
	t.Parallel()
	w := build(t, askAll, func(*fakemodel.Request) fakemodel.Reply {
		return fakemodel.Events(fakemodel.Write{Bytes: []byte(oddHead + useEvents("", oddInput))})
	})
	got := w.post("/v1/messages", messagesRequest, anthropicHeaders...).rest()
	page, err := w.console.Requests(t.Context(), approvals.Filter{})
	if err != nil || len(page.Items) > 0 || strings.Contains(got, "toolu_a") || !strings.Contains(got, `"upstream_cut"`) {
		t.Errorf("%v: %d requests; got %s", err, len(page.Items), got)
	}
}

// Finding F3: a call that the provider's code has issued comes in message_start, with
// the reason to stop.
func TestMessagesIssuedCall(t *testing.T) {
	t.Parallel()
	const issued = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[{\"type\":\"tool_use\",\"id\":\"toolu_a\",\"name\":\"bash\",\"input\":{\"command\":\"ls\"},\"caller\":{\"type\":\"code_execution_20250825\",\"tool_id\":\"srvtoolu_1\"}}],\"container\":{\"id\":\"container_1\",\"expires_at\":\"2026-04-24T00:40:16Z\"},\"stop_reason\":\"tool_use\",\"stop_sequence\":null,\"usage\":{\"input_tokens\":0,\"output_tokens\":0}}}\n\n" +
		"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	upstream := func(r *fakemodel.Request) fakemodel.Reply {
		if strings.Contains(string(r.Body), "tool_result") {
			return fakemodel.Answer{Text: "Understood.", Fragment: 100}.Reply(r)
		}
		return fakemodel.Events(fakemodel.Write{Bytes: []byte(issued)})
	}
	const program = `"caller":{"type":"code_execution_20250825","tool_id":"srvtoolu_1"}`
	if got := build(t, allowAll, upstream).post("/v1/messages", messagesRequest, anthropicHeaders...).rest(); strings.Count(got, program) != 1 || !strings.Contains(got, `{\"command\":\"ls\"}`) || strings.Count(got, `"stop_reason":"tool_use"`) != 1 {
		t.Errorf("allowed: got %s", got)
	}
	w := build(t, denyAll, upstream)
	got := w.post("/v1/messages", messagesRequest, anthropicHeaders...).rest()
	if strings.Contains(got, "toolu_a") || strings.Contains(got, `"tool_use"`) || strings.Count(got, "event: message_start") != 1 || !strings.Contains(got, "Understood.") || !strings.Contains(got, `"stop_reason":"end_turn"`) {
		t.Errorf("denied: got %s", got)
	}
	if next := string(w.upstream.Requests()[1].Body); !strings.Contains(next, `"container":"container_1"`) || !strings.Contains(next, `"caller":{"type":"code_execution_20250825"`) {
		t.Errorf("continued with %s", next)
	}
	w = build(t, askAll, upstream)
	for _, tt := range []struct {
		approvals.Decision
		want string
	}{{approvals.Decision{Action: approvals.ActionApprove}, `{\"command\":\"ls\"}`}, {approvals.Decision{Action: approvals.ActionModifyArgs, ModifiedArgs: []byte(`{"command":"pwd"}`)}, `{\"command\":\"pwd\"}`}} {
		answer := make(chan string, 1)
		go func() { answer <- w.post("/v1/messages", messagesRequest, anthropicHeaders...).rest() }()
		w.decide(w.pending(1)[0].ID, tt.Decision)
		if got := <-answer; !strings.Contains(got, tt.want) || strings.Count(got, `"stop_reason":"tool_use"`) != 1 {
			t.Errorf("%s: got %s", tt.Action, got)
		}
	}
}
