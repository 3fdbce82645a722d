package app_test

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/tidwall/gjson"
)

// TestDenialBesideAForcedFormat: W10. An agent that forces a format, or a call of a tool, and whose call is denied gets an
// answer in its format, from a continuation that keeps the format and may do without the tool.
func TestDenialBesideAForcedFormat(t *testing.T) {
	t.Parallel()
	const said = `{"city":"Bern"}`
	formats := map[string][2]string{ // fields of the request, and the path of what forces a call
		"/v1/chat/completions": {`"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":{"type":"object"}}},"tool_choice":{"type":"function","function":{"name":"bash"}}`, "response_format.type"},
		"/v1/responses":        {`"text":{"format":{"type":"json_schema","name":"a","schema":{"type":"object"}}},"tool_choice":{"type":"function","name":"bash"}`, "text.format.type"},
		"/v1/messages":         {`"output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}},"tool_choice":{"type":"tool","name":"bash"}`, "output_config.format.type"},
	}
	for path, format := range formats {
		for form, body := range map[string]string{"streamed": dialectRequests[path], "whole": strings.Replace(dialectRequests[path], `"stream":true`, `"stream":false`, 1)} {
			t.Run(path[len("/v1/"):]+" "+form, func(t *testing.T) {
				t.Parallel()
				model := &fakemodel.Model{Rules: []fakemodel.Rule{
					{When: fakemodel.UserSays("do it"), Say: fakemodel.Say(fakemodel.Answer{Calls: []fakemodel.Call{lsCall}})},
					{When: fakemodel.ToolAnswers("bash", ""), Say: fakemodel.Say(fakemodel.Answer{Text: said})},
				}}
				w := build(t, denyAll, model.Reply)
				got := w.post(path, strings.TrimSuffix(body, "}")+","+format[0]+"}", "anthropic-version", "2023-06-01").rest()
				if text := saidIn(got); text != said {
					t.Errorf("the text is %q in %s", text, got)
				}
				next := w.upstream.Requests()[1].Body
				if kept := gjson.GetBytes(next, format[1]).Str; kept != "json_schema" {
					t.Errorf("the format is %q", kept)
				}
				if choice := gjson.GetBytes(next, "tool_choice").Raw; strings.Contains(choice, "bash") {
					t.Errorf("the continuation forces %s", choice)
				}
			})
		}
	}
}

// saidIn is the text of an answer, streamed or whole, of any API.
func saidIn(answer string) (text string) {
	if !strings.HasPrefix(strings.TrimSpace(answer), "{") {
		for line := range strings.Lines(answer) {
			payload, _ := strings.CutPrefix(strings.TrimSpace(line), "data: ")
			text += gjson.Get(payload, "choices.0.delta.content").Str + gjson.Get(payload, "delta.text").Str
			if gjson.Get(payload, "type").Str == "response.output_text.delta" {
				text += gjson.Get(payload, "delta").Str
			}
		}
		return text
	}
	return gjson.Get(answer, "choices.0.message.content").Str + gjson.Get(answer, "content.0.text").Str + gjson.Get(answer, `output.#(type=="message").content.0.text`).Str
}
