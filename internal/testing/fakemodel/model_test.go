package fakemodel_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

func TestModelFollowsTheFirstRuleThatFits(t *testing.T) {
	model := &fakemodel.Model{
		Rules: []fakemodel.Rule{
			{fakemodel.UserSays("delete"), fakemodel.Say(fakemodel.Answer{Calls: []fakemodel.Call{{Name: "rm", Arguments: `{}`}}})},
			{fakemodel.ToolAnswers("rm", "denied"), fakemodel.Say(fakemodel.Answer{Text: "I will not."})},
			{fakemodel.All(fakemodel.ToolAnswers("rm", ""), fakemodel.UserSays("x")), fakemodel.Say(fakemodel.Answer{Text: "never"})},
			{fakemodel.ToolAnswers("rm", ""), func(c fakemodel.Conversation) fakemodel.Answer {
				return fakemodel.Answer{Text: c.User() + ": " + c.Results()[0].Content}
			}},
		},
		Otherwise: fakemodel.Answer{Text: "Hm."},
	}
	s := start(t, model.Reply)
	f := func(messages, want string) {
		t.Helper()
		status, body := post(t, s.URL()+"/chat/completions", `{"model":"m","messages":[`+messages+`]}`)
		if status != 200 || !strings.Contains(body, want) {
			t.Errorf("answered %d %s, want 200 with %s", status, body, want)
		}
	}
	called := `{"role":"user","content":"delete it"},{"role":"assistant","content":null,"tool_calls":[` +
		`{"id":"1","type":"function","function":{"name":"rm","arguments":"{}"}}]},`
	f(`{"role":"user","content":"delete it"}`, `"name": "rm"`)
	f(`{"role":"user","content":[{"type":"text","text":"delete it"}]}`, `"name": "rm"`)
	f(called+`{"role":"tool","tool_call_id":"1","content":"denied by ann"}`, `"I will not."`)
	f(called+`{"role":"tool","tool_call_id":"1","content":"gone"}`, `"delete it: gone"`)
	f(called+`{"role":"tool","tool_call_id":"1","content":"gone"},{"role":"user","content":"hi"}`, `"Hm."`)
}

func TestModelRefusesWhatAProviderRefuses(t *testing.T) {
	s := start(t, (&fakemodel.Model{}).Reply)
	f := func(path, body string, wantStatus int, want string) {
		t.Helper()
		status, got := post(t, s.URL()+path, body)
		if status != wantStatus || !strings.Contains(got, want) {
			t.Errorf("answered %d %s, want %d with %q", status, got, wantStatus, want)
		}
	}
	call := `{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"a","arguments":""}},{"id":"2","function":{"name":"b","arguments":""}}]}`
	answer := func(id string) string { return `,{"role":"tool","tool_call_id":"` + id + `","content":"ok"}` }
	chat := func(messages string) string { return `{"messages":[` + messages + `]}` }
	f("/models", `{}`, 404, "unknown_url")
	f("/chat/completions", `{`, 400, "invalid_body")
	f("/chat/completions", chat(`{"role":"robot","content":"x"}`), 400, "unknown role")
	f("/chat/completions", chat(call+answer("1")), 400, `\"2\" has no response`)
	f("/chat/completions", chat(call+answer("1")+`,{"role":"user","content":"x"}`+answer("2")), 400, `\"2\" has no response`)
	f("/chat/completions", chat(call+answer("1")+answer("2")+answer("2")), 400, `\"2\" is not open`)
	f("/chat/completions", chat(call+answer("1")+answer("3")), 400, `\"3\" is not open`)
	f("/chat/completions", chat(call+answer("2")+answer("1")), 200, "")
}

func TestModelAnswersTheSameRequestAlike(t *testing.T) {
	model := &fakemodel.Model{Otherwise: fakemodel.Answer{Calls: []fakemodel.Call{{Name: "a", Arguments: "{}"}}}}
	s := start(t, model.Reply)
	ask := func(text string) string {
		_, body := post(t, s.URL()+"/chat/completions", `{"stream":true,"messages":[{"role":"user","content":"`+text+`"}]}`)
		return body
	}
	if first, second := ask("x"), ask("x"); first != second {
		t.Error("the same request was answered differently")
	}
	if ask("x") == ask("y") {
		t.Error("two requests were answered with the same ids")
	}
}

func post(t *testing.T, url, body string) (int, string) {
	t.Helper()
	answer, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(raw)
}
