package fakemodel_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

func TestStreamHasOpenAIsShape(t *testing.T) {
	head := `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":7,"model":"m",` +
		`"service_tier":"default","system_fingerprint":"fp_5c1ed0ca11","choices":`
	delta := func(delta, finish string) string {
		return head + `[{"index":0,"delta":` + delta + `,"logprobs":null,"finish_reason":` + finish + `}],"usage":null}` + "\n\n"
	}
	a := fakemodel.Answer{
		ID: "chatcmpl-1", Model: "m", Created: 7, Text: "höhö",
		Calls:    []fakemodel.Call{{ID: "call_1", Name: "run", Arguments: `{"a":"<b>"}`}, {ID: "call_2", Name: "stop", Arguments: `{}`}},
		Usage:    fakemodel.Usage{Prompt: 3, Completion: 4},
		Fragment: 3,
	}
	want := []string{
		delta(`{"role":"assistant","content":"","refusal":null}`, `null`),
		delta(`{"content":"höh"}`, `null`),
		delta(`{"content":"ö"}`, `null`),
		delta(`{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"run","arguments":""}}]}`, `null`),
		delta(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"a"}}]}`, `null`),
		delta(`{"tool_calls":[{"index":0,"function":{"arguments":"\":\""}}]}`, `null`),
		delta(`{"tool_calls":[{"index":0,"function":{"arguments":"<b>"}}]}`, `null`),
		delta(`{"tool_calls":[{"index":0,"function":{"arguments":"\"}"}}]}`, `null`),
		delta(`{"tool_calls":[{"index":1,"id":"call_2","type":"function","function":{"name":"stop","arguments":""}}]}`, `null`),
		delta(`{"tool_calls":[{"index":1,"function":{"arguments":"{}"}}]}`, `null`),
		delta(`{}`, `"tool_calls"`),
		head + `[],"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7,` +
			`"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},` +
			`"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0}}}` + "\n\n",
		"data: [DONE]\n\n",
	}
	var got []string
	for _, event := range a.Stream(true).Events() {
		got = append(got, string(event))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestCallWithoutTextOpensTheChoice(t *testing.T) {
	first := string(fakemodel.Answer{Calls: []fakemodel.Call{{ID: "call_1", Name: "run", Arguments: ""}}}.Stream(false).Events()[0])
	want := `"delta":{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_1",` +
		`"type":"function","function":{"name":"run","arguments":""}}],"refusal":null}`
	if !strings.Contains(first, want) || strings.Contains(first, "usage") {
		t.Errorf("the stream begins with %s", first)
	}
}

func TestWholeAnswer(t *testing.T) {
	a := fakemodel.Answer{
		ID: "chatcmpl-1", Text: "wait", Usage: fakemodel.Usage{Prompt: 3, Completion: 4},
		Calls: []fakemodel.Call{{ID: "call_1", Name: "run", Arguments: `{"a":"<b>"}`}, {ID: "call_2", Name: "stop", Arguments: `{}`}},
	}
	var got struct {
		ID      string
		Choices []struct {
			Message struct {
				Content   string
				ToolCalls []struct {
					ID       string
					Function struct{ Name, Arguments string }
				} `json:"tool_calls"`
			}
			FinishReason string `json:"finish_reason"`
		}
		Usage struct {
			Total int `json:"total_tokens"`
		}
	}
	if err := json.Unmarshal(a.Whole(), &got); err != nil {
		t.Fatalf("%v in %s", err, a.Whole())
	}
	message := got.Choices[0].Message
	if got.ID != "chatcmpl-1" || got.Usage.Total != 7 || message.Content != "wait" || got.Choices[0].FinishReason != "tool_calls" {
		t.Errorf("got %+v", got)
	}
	if len(message.ToolCalls) != 2 || message.ToolCalls[0].Function.Arguments != `{"a":"<b>"}` || message.ToolCalls[1].ID != "call_2" {
		t.Errorf("got calls %+v", message.ToolCalls)
	}
	if strings.Contains(string(a.Whole()), `\u003c`) {
		t.Error("arguments are HTML-escaped")
	}
}
