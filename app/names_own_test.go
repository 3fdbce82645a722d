package app_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// The tools of heldcall under names that agents mend, and in calls of other tools.

// TestQuestionUnderOtherNames: people are asked the question, and the agent sees nothing of it.
func TestQuestionUnderOtherNames(t *testing.T) {
	t.Parallel()
	eachTalk(t, func(t *testing.T, talkTo func(*world) *talk) {
		for _, name := range []string{
			"functions.request_decision", "functions/request_decision", "Request_Decision", "requestDecision", "request-decision", "REQUEST_DECISION", "request_decision:0",
			"functions.request_decision:2", "request_decision_tool", "default_api.request_decision", "mcp__request_decision", "request_decision<|channel|>commentary", "request_decision ", "mcp__heldcall__request_decision", "functions_request_decision",
		} {
			w := build(t, offersAll+"default: allow\nrules:\n  - allow: ['*']\n", inOrder(asking(name, whichSesame), fakemodel.Answer{Text: "I take it.", Fragment: 100}))
			k := talkTo(w).withTools("bash")
			answer := k.begin("do it")
			r := w.pending(1)[0]
			if r.Kind != approvals.KindDecision || len(r.Details.Questions) != 1 || len(r.Details.Questions[0].Options) != 2 {
				t.Errorf("%q: the request is %+v", name, r)
				w.decide(r.ID, approvals.Decision{Action: approvals.ActionDeny})
				<-answer
				continue
			}
			w.decide(r.ID, approvals.Decision{Action: approvals.ActionAnswer, Response: approvals.Response{Selected: []string{"white"}}})
			got := <-answer
			if leak := leakOfQuestions(k.raw); leak != "" || len(got.calls) > 0 || !strings.Contains(got.text, "I take it.") {
				t.Errorf("%q: %q is in the answer %s", name, leak, k.raw)
			}
			if told := string(w.upstream.Requests()[1].Body); !strings.Contains(told, `\"answered_by\":\"person\"`) {
				t.Errorf("%q: the model gets %s", name, told)
			}
		}
	})
}

// TestQuestionInAWrapper: the model reads that it has to ask by itself, also where rules allow the wrapper.
func TestQuestionInAWrapper(t *testing.T) {
	t.Parallel()
	eachTalk(t, func(t *testing.T, talkTo func(*world) *talk) {
		for _, call := range [][2]string{
			{"multi_tool_use.parallel", `{"tool_uses":[{"recipient_name":"functions.request_decision","parameters":%s}]}`},
			{"parallel", `{"tool_uses":[{"recipient_name":"functions.bash","parameters":{"command":"ls"}},{"recipient_name":"RequestDecision","parameters":%s}]}`},
			{"call_tool", `{"name":"request_decision","arguments":%s}`},
			{"CallTool", `{"name":"functions.request-decision","arguments":%s}`},
			{"batch", `{"tool_calls":[{"tool":"request_decision","parameters":%s}]}`},
			{"use_mcp_tool", `{"server_name":"heldcall","tool_name":"request_decision","arguments":%s}`},
			{"multi_tool_use.parallel", `{"tool_uses":[{"recipient_name":"mcp__heldcall__request_decision","parameters":%s}]}`},
			{"multi_tool_use.parallel", `{"tool_uses":[{"request_decision":%s}]}`},
			{"functions.batch", `{"tool_calls":[{"tool":"call_tool","parameters":{"name":"request_decision","arguments":%s}}]}`},
		} {
			w := build(t, offersAll+"default: allow\nrules:\n  - allow: ['*']\n", inOrder(asking(call[0], fmt.Sprintf(call[1], whichSesame)), fakemodel.Answer{Text: "I see.", Fragment: 100}))
			k := talkTo(w).withTools("bash", "parallel", "call_tool", "batch", "use_mcp_tool")
			got := <-k.begin("do it")
			if leak := leakOfQuestions(k.raw); leak != "" || len(got.calls) > 0 || !strings.Contains(got.text, "I see.") {
				t.Errorf("%q: %q is in the answer %s", call, leak, k.raw)
			}
			if told := string(w.upstream.Requests()[1].Body); !strings.Contains(told, "Call request_decision by itself") {
				t.Errorf("%q: the model gets %s", call, told)
			}
		}
	})
}

// TestQuestionThatIsNotOffered: people are not asked about a call of a tool that neither heldcall nor the agent has.
func TestQuestionThatIsNotOffered(t *testing.T) {
	t.Parallel()
	w := build(t, allowAll, inOrder(asking("functions.request_decision", whichSesame), fakemodel.Answer{Text: "I see.", Fragment: 100}))
	k := newTalk(w, fakemodel.Chat, true)
	if got := <-k.begin("do it"); len(got.calls) > 0 || !strings.Contains(got.text, "I see.") {
		t.Errorf("the agent gets %s", k.raw)
	}
	// A tool of the agent with that name is the agent's, also where heldcall offers questions.
	w = build(t, offersAll+allowAll, inOrder(asking("Request_Decision", `{}`)))
	k = newTalk(w, fakemodel.Chat, true).withTools("Request_Decision")
	if got := <-k.begin("do it"); len(got.calls) != 1 || strings.Contains(w.toolsOf(0), `"request_decision"`) {
		t.Errorf("the agent gets %s; upstream was offered %s", k.raw, w.toolsOf(0))
	}
}

// TestQuestionBesideALikeTool: of a tool of heldcall and one of the agent that is like it, the model means the nearer one.
func TestQuestionBesideALikeTool(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		agents, name string
		question     bool
	}{
		{"functions.request_decision", "request_decision", true},
		{"functions.request_decision", "Request-Decision", true},
		{"functions.request_decision", "functions.request_decision", false},
		{"mcp__people__request_decision", "functions.request_decision", true},
		{"mcp__people__request_decision", "RequestDecision", true},
		{"mcp__people__request_decision", "mcp__heldcall__request_decision", true},
		{"mcp__people__request_decision", "mcp__people__request_decision", false},
		{"mcp__people__request_decision", "people.request_decision", false},
	} {
		w := build(t, offersAll+allowAll, inOrder(asking(tt.name, whichSesame), fakemodel.Answer{Text: "I see.", Fragment: 100}))
		answer := newTalk(w, fakemodel.Chat, true).withTools(tt.agents).begin("do it")
		if tt.name == tt.agents {
			if got := <-answer; len(got.calls) != 1 {
				t.Errorf("%+v: the agent does not get its call", tt)
			}
			continue
		}
		r := w.pending(1)[0]
		if asked := r.Kind == approvals.KindDecision; asked != tt.question {
			t.Errorf("%+v: the request is %+v", tt, r)
		}
		w.decide(r.ID, approvals.Decision{Action: approvals.ActionDeny})
		<-answer
	}
}

// TestOwnToolsAreInNoAnswer: no route shows the agent the definitions of heldcall's tools, also where the provider changes
// them.
func TestOwnToolsAreInNoAnswer(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(string) string{
		"as they are":         func(body string) string { return body },
		"another description": func(body string) string { return strings.ReplaceAll(body, "Let the people who", "Permit humans who") },
		"other parameters": func(body string) string {
			return strings.ReplaceAll(body, `"What is to be decided, and why."`, `"What?"`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := &fakemodel.Model{Otherwise: fakemodel.Answer{Text: "Done.", Fragment: 100}}
			w := build(t, offersAll+allowAll, func(r *fakemodel.Request) fakemodel.Reply {
				reply := model.Reply(r)
				for i := range reply.Body {
					reply.Body[i].Bytes = []byte(change(string(reply.Body[i].Bytes)))
				}
				return reply
			}, func(c *app.Config) { c.Proxy.Keepalive = soon })
			for _, fields := range []string{`"background":true`, `"stream":true`, `"stream":false`} {
				k := newTalk(w, fakemodel.Responses, strings.Contains(fields, `"stream":true`))
				k.raw = w.post("/v1/responses", `{"model":"m","input":"do it",`+fields+`,"tools":[{"type":"function","name":"bash","parameters":{}}]}`).rest()
				answers := map[string]string{"made": k.raw}
				id := answerID(t, k)
				answers["cancelled"] = w.post("/v1/responses/"+id+"/cancel", "").rest()
				answers["fetched"] = w.get(w.url("/v1/responses/" + id))
				answers["streamed"] = w.get(w.url("/v1/responses/" + id + "?stream=true"))
				for how, answer := range answers {
					if leak := leakOfQuestions(answer); leak != "" {
						t.Errorf("%s, %s: %q is in %s", fields, how, leak, answer)
					}
				}
			}
		})
	}
}
