package app_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// A forced choice of any tool stays after an answer: the agent still expects a call.
func TestToolChoiceKeepsItsMeaning(t *testing.T) {
	t.Parallel()
	for path, choice := range map[string]string{"/v1/chat/completions": `"required"`, "/v1/responses": `"required"`, "/v1/messages": `{"type":"any"}`} {
		w := build(t, offersAll+allowAll, inOrder(asking("request_clarification", howSesame), asking("bash", `{"command":"ls"}`)))
		body := strings.TrimSuffix(dialectRequests[path], "}") + `,"parallel_tool_calls":false,"tool_choice":` + choice + `}`
		answer := make(chan string, 1)
		go func() { answer <- w.post(path, body).rest() }()
		w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionAnswer, Response: approvals.Response{Answer: "much"}})
		if got := <-answer; !strings.Contains(got, "bash") {
			t.Errorf("%s: the agent gets %s", path, got)
		}
		for i, r := range w.upstream.Requests() {
			if got := gjson.GetBytes(r.Body, "tool_choice").Raw; got != choice || gjson.GetBytes(r.Body, "parallel_tool_calls").Raw != "false" {
				t.Errorf("%s, request %d: the choice is %s", path, i, got)
			}
		}
	}
}

// A choice that leaves the model only tools that ask people forces the first question, but
// not another one after the answer, nor the same call after words in its place.
func TestForcedQuestionIsAskedOnce(t *testing.T) {
	t.Parallel()
	const (
		asks = allowAll + "tools: {ask_user: {as: question}}\n"
		call = `{"question":"How much sesame?"}`
		auto = `"auto"`
	)
	forms := map[string]string{
		"/v1/chat/completions": `{"type":"function","function":{"name":%q,"parameters":{"type":"object"}}}`,
		"/v1/responses":        `{"type":"function","name":%q,"parameters":{"type":"object"}}`,
		"/v1/messages":         `{"name":%q,"input_schema":{"type":"object"}}`,
	}
	for name, tt := range map[string]struct {
		path, policy, tool, choice, want string
	}{
		"chat, required":               {"/v1/chat/completions", asks, "ask_user", `"required"`, auto},
		"chat, by name":                {"/v1/chat/completions", asks, "ask_user", `{"type":"function","function":{"name":"ask_user"}}`, auto},
		"chat, allowed tools":          {"/v1/chat/completions", asks, "ask_user", `{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{"type":"function","function":{"name":"ask_user"}}]}}`, `{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"ask_user"}}]}}`},
		"chat, and heldcall's tools":   {"/v1/chat/completions", offersAll + asks, "ask_user", `"required"`, auto},
		"chat, words to a call":        {"/v1/chat/completions", "default: ask\n", "bash", `"required"`, auto},
		"responses, required":          {"/v1/responses", asks, "ask_user", `"required"`, auto},
		"responses, by name":           {"/v1/responses", asks, "ask_user", `{"type":"function","name":"ask_user"}`, auto},
		"responses, allowed tools":     {"/v1/responses", asks, "ask_user", `{"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"ask_user"}]}`, `{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"ask_user"}]}`},
		"responses, heldcall's tools":  {"/v1/responses", offersAll + asks, "ask_user", `"required"`, auto},
		"responses, words to a call":   {"/v1/responses", "default: ask\n", "bash", `"required"`, auto},
		"messages, any":                {"/v1/messages", asks, "ask_user", `{"type":"any"}`, `{"type":"auto"}`},
		"messages, by name":            {"/v1/messages", asks, "ask_user", `{"type":"tool","name":"ask_user"}`, `{"type":"auto"}`},
		"messages, and heldcall's own": {"/v1/messages", offersAll + asks, "ask_user", `{"type":"any"}`, `{"type":"auto"}`},
		"messages, words to a call":    {"/v1/messages", "default: ask\n", "bash", `{"type":"any"}`, `{"type":"auto"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := build(t, tt.policy, inOrder(asking(tt.tool, call), fakemodel.Answer{Text: "Thanks."}))
			body := dialectRequests[tt.path]
			for field, value := range map[string]string{"tools": "[" + fmt.Sprintf(forms[tt.path], tt.tool) + "]", "tool_choice": tt.choice} {
				set, err := sjson.SetRaw(body, field, value)
				if err != nil {
					t.Fatal(err)
				}
				body = set
			}
			answer := make(chan string, 1)
			go func() { answer <- w.post(tt.path, body).rest() }()
			w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionAnswer, Response: approvals.Response{Answer: "much"}})
			if got := <-answer; strings.Contains(got, `"error":{`) {
				t.Errorf("the agent gets %s", got)
			}
			requests := w.upstream.Requests()
			if len(requests) != 2 {
				t.Fatalf("upstream gets %d requests", len(requests))
			}
			for i, want := range []string{tt.choice, tt.want} {
				if got := gjson.GetBytes(requests[i].Body, "tool_choice").Raw; got != want {
					t.Errorf("request %d: the choice is %s, want %s", i, got, want)
				}
			}
		})
	}
}
