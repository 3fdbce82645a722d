package app_test

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// chatEvent is an event of a streamed chat answer.
func chatEvent(delta, finish string) string {
	return `data: {"id":"c1","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + "}]}\n\n"
}

func chatOpening(arguments string) string {
	return chatEvent(`{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"bash","arguments":`+strictjson.Quote(arguments)+`}}]}`, "null")
}

func chatPiece(arguments string) string {
	return chatEvent(`{"tool_calls":[{"index":0,"function":{"arguments":`+strictjson.Quote(arguments)+`}}]}`, "null")
}

const (
	chatRole   = `{"role":"assistant","content":""}`
	chatJudged = `{"command":"rm -rf /tmp/junk"}`
	chatEnd    = "data: [DONE]\n\n"
)

// chatWhole is a whole answer with one entry of tool_calls.
func chatWhole(entry string) string {
	return `{"id":"c1","object":"chat.completion","created":7,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[` + entry + `]},"finish_reason":"tool_calls"}]}`
}

func chatEntry(arguments, more string) string {
	return `{"id":"call_1","type":"function","function":{"name":"bash","arguments":` + strictjson.Quote(arguments) + `}` + more + `}`
}

// Findings H1 and H3 through the front door: the agent gets the call that was judged,
// in canonical form.
func TestPromise9_WhatIsJudgedIsWhatRuns_Chat(t *testing.T) {
	t.Parallel()
	unlike := strings.Replace(chatPiece("tmp/junk"), `"object":"chat.completion.chunk",`, "", 1)
	streamed := chatEvent(chatRole, "null") + chatOpening(`{"command":"rm -rf /`) + unlike + chatPiece(`"}`) + chatEvent("{}", `"tool_calls"`) + chatEnd
	proto := `,"__proto__":{"function":{"arguments":"{\"command\":\"rm -rf /\"}"}}`
	edit := `{"command":"ls"}`
	for _, tt := range []struct {
		name, request, answer string
		want                  func(arguments string) string
	}{
		{"streamed", streamedRequest, streamed, func(arguments string) string {
			return chatEvent(chatRole, "null") + chatOpening(arguments) + chatEvent("{}", `"tool_calls"`) + chatEnd
		}},
		{"whole", wholeRequest, chatWhole(chatEntry(chatJudged, proto)), func(arguments string) string { return chatWhole(chatEntry(arguments, "")) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			script := func(*fakemodel.Request) fakemodel.Reply {
				if tt.request == wholeRequest {
					return fakemodel.Whole(200, []byte(tt.answer))
				}
				return fakemodel.Events(fakemodel.Write{Bytes: []byte(tt.answer)})
			}
			body := func(answer string) string {
				return strings.TrimLeft(strings.ReplaceAll(answer, ": keepalive\n", ""), "\n")
			}
			w := build(t, "default: ask\nrules:\n  - allow: [\"bash(rm -rf /tmp/*)\"]\n", script)
			if got := body(w.post("/v1/chat/completions", tt.request).rest()); got != tt.want(chatJudged) {
				t.Errorf("allowed by a rule, the agent got %s", got)
			}
			w = build(t, askAll, script)
			for _, d := range []approvals.Decision{{Action: approvals.ActionApprove}, {Action: approvals.ActionModifyArgs, ModifiedArgs: []byte(edit)}} {
				agent := w.post("/v1/chat/completions", tt.request)
				asked := w.pending(1)[0]
				if asked.Details.Doubts != nil || string(asked.Arguments) != chatJudged {
					t.Errorf("people are shown %s with %+v", asked.Arguments, asked.Details)
				}
				want := chatJudged
				if d.ModifiedArgs != nil {
					want = edit
				}
				w.decide(asked.ID, d)
				if got := body(agent.rest()); got != tt.want(want) {
					t.Errorf("%s, the agent got %s", d.Action, got)
				}
			}
		})
	}
}

// Finding H1, "Solve the class": a call that is allowed whatever its arguments and is cut by
// its length is asked about, streamed as whole.
func TestChatCallsThatAreCutAreAsked(t *testing.T) {
	t.Parallel()
	beginning := chatEvent(chatRole, "null") + chatOpening(`{"command":`)
	answer := beginning + chatEvent("{}", `"length"`) + chatEnd
	w := build(t, "default: ask\nrules:\n  - allow: [bash]\n", func(r *fakemodel.Request) fakemodel.Reply {
		if strings.Contains(string(r.Body), `"stream":true`) {
			return fakemodel.Events(fakemodel.Write{Bytes: []byte(answer)})
		}
		return fakemodel.Whole(200, []byte(strings.Replace(chatWhole(chatEntry(`{"command":`, "")), `"tool_calls"}]`, `"length"}]`, 1)))
	})
	for _, request := range []string{streamedRequest, wholeRequest} {
		agent := w.post("/v1/chat/completions", request)
		asked := w.pending(1)[0]
		if len(asked.Details.Doubts) == 0 {
			t.Errorf("people are shown no doubt: %+v", asked.Details)
		}
		w.decide(asked.ID, approvals.Decision{Action: approvals.ActionDeny})
		got := agent.rest()
		if strings.Contains(got, "tool_calls") {
			t.Errorf("denied, the agent got %s", got)
		}
	}
}

// Finding F7 through the front door: no request is made for a call of a stream without
// its API's end marker.
func TestChatStreamWithoutItsEnd(t *testing.T) {
	t.Parallel()
	w := build(t, askAll, func(*fakemodel.Request) fakemodel.Reply {
		return fakemodel.Events(fakemodel.Write{Bytes: []byte(chatEvent(chatRole, "null") + chatOpening("{}"))})
	})
	if got := w.post("/v1/chat/completions", streamedRequest).rest(); !strings.Contains(got, string(intercept.CodeUpstreamCut)) || strings.Contains(got, "bash") {
		t.Errorf("the agent got %s", got)
	}
}
