package fakemodel

import (
	"fmt"
	"strings"
)

type chatUsage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
	PromptDetails    struct {
		CachedTokens int `json:"cached_tokens"`
		AudioTokens  int `json:"audio_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		ReasoningTokens int `json:"reasoning_tokens"`
		AudioTokens     int `json:"audio_tokens"`
	} `json:"completion_tokens_details"`
}

func (u Usage) chat() chatUsage {
	return chatUsage{
		PromptTokens: u.Prompt, CompletionTokens: u.Completion, TotalTokens: u.Prompt + u.Completion,
	}
}

// Stream is the answer as a stream of Chat Completions with one choice.
func (a Answer) Stream(includeUsage bool) *Stream {
	s := &Stream{ID: a.ID, Model: a.Model, Created: a.Created, IncludeUsage: includeUsage}
	size := or(a.Fragment, 4)
	reasoning, text := a.said()
	calls := a.calls()
	begun := text != "" || reasoning != "" || len(calls) == 0 || calls[0].Custom
	if begun {
		s.Role()
	}
	for _, fragment := range fragments(reasoning, size) {
		s.Reasoning(fragment)
	}
	for _, fragment := range fragments(text, size) {
		s.Text(fragment)
	}
	for i, call := range calls {
		s.chatCall(i, call, size, i == 0 && !begun)
	}
	s.Finish(a.chatFinish())
	if includeUsage {
		s.Usage(a.Usage)
	}
	return s.Done()
}

func (s *Stream) chatCall(i int, call Call, size int, opens bool) {
	proceed := s.Arguments
	switch {
	case call.Custom:
		s.CustomCall(i, call.ID, call.Name)
		proceed = s.Input
	case opens:
		s.RoleAndCall(i, call.ID, call.Name)
	default:
		s.Call(i, call.ID, call.Name)
	}
	for _, fragment := range fragments(call.Arguments, size) {
		proceed(i, fragment)
	}
}

// Whole is the answer as a whole one of Chat Completions, laid out as OpenAI
// does.
func (a Answer) Whole() []byte {
	reasoning, text := a.said()
	calls := a.calls()
	content := "null"
	if text != "" || len(calls) == 0 {
		content = quote(text)
	}
	var entries strings.Builder
	for i, call := range calls {
		if i > 0 {
			entries.WriteString(",\n")
		}
		layout := wholeCall
		if call.Custom {
			layout = wholeCustomCall
		}
		fmt.Fprintf(&entries, layout, quote(call.ID), quote(call.Name), quote(call.Arguments))
	}
	extra := ""
	if reasoning != "" {
		extra += "\n        \"reasoning_content\": " + quote(reasoning) + ","
	}
	if len(calls) > 0 {
		extra += "\n        \"tool_calls\": [\n" + entries.String() + "\n        ],"
	}
	return fmt.Appendf(nil, wholeAnswer,
		quote(or(a.ID, defaultID)), or(a.Created, defaultCreated), quote(or(a.Model, defaultModel)),
		content, extra, quote(a.chatFinish()), indent(encode(a.Usage.chat()), "  "), defaultFingerprint)
}

const wholeCall = `          {
            "id": %s,
            "type": "function",
            "function": {
              "name": %s,
              "arguments": %s
            }
          }`

const wholeCustomCall = `          {
            "id": %s,
            "type": "custom",
            "custom": {
              "name": %s,
              "input": %s
            }
          }`

const wholeAnswer = `{
  "id": %s,
  "object": "chat.completion",
  "created": %d,
  "model": %s,
  "choices": [
    {
      "index": 0,
      "message": {
        "role": "assistant",
        "content": %s,%s
        "refusal": null,
        "annotations": []
      },
      "logprobs": null,
      "finish_reason": %s
    }
  ],
  "usage": %s,
  "service_tier": "default",
  "system_fingerprint": "%s"
}
`

func (a Answer) chatFinish() string {
	if a.Finish == "" && len(a.calls()) > 0 {
		return "tool_calls"
	}
	return or(a.Finish, "stop")
}
