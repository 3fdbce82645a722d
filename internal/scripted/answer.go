package scripted

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Call is one tool call of an answer. Arguments is the text as the model wrote
// it, JSON or not.
type Call struct{ ID, Name, Arguments string }

// Usage is the token count of an answer.
type Usage struct{ Prompt, Completion int }

type usageObject struct {
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

func (u Usage) object() usageObject {
	return usageObject{
		PromptTokens: u.Prompt, CompletionTokens: u.Completion, TotalTokens: u.Prompt + u.Completion,
	}
}

// Answer is one model answer with one choice, to be sent whole or streamed.
type Answer struct {
	ID      string // of the completion; "" means a fixed one
	Model   string
	Created int64
	Text    string
	Calls   []Call
	Finish  string // "" means what follows from Calls
	Usage   Usage
	// Fragment is how many characters of text or arguments one event holds at
	// most; 0 means 4, about a token.
	Fragment int
}

// Reply sends the answer as the request asks for it: streamed or whole, with
// usage in the stream or without.
func (a Answer) Reply(r *Request) Reply {
	if r.Streamed() {
		return Events(a.Stream(r.IncludeUsage()).Writes()...)
	}
	return Whole(200, a.Whole())
}

// Stream is the answer as events.
func (a Answer) Stream(includeUsage bool) *Stream {
	s := &Stream{ID: a.ID, Model: a.Model, Created: a.Created, IncludeUsage: includeUsage}
	size := or(a.Fragment, 4)
	if a.Text != "" || len(a.Calls) == 0 {
		s.Role()
	}
	for _, fragment := range fragments(a.Text, size) {
		s.Text(fragment)
	}
	for i, call := range a.Calls {
		if i == 0 && a.Text == "" {
			s.RoleAndCall(i, call.ID, call.Name)
		} else {
			s.Call(i, call.ID, call.Name)
		}
		for _, fragment := range fragments(call.Arguments, size) {
			s.Arguments(i, fragment)
		}
	}
	s.Finish(a.finish())
	if includeUsage {
		s.Usage(a.Usage)
	}
	return s.Done()
}

// Whole is the answer as one JSON document, laid out as OpenAI does.
func (a Answer) Whole() []byte {
	content := "null"
	if a.Text != "" || len(a.Calls) == 0 {
		content = quote(a.Text)
	}
	var calls strings.Builder
	for i, call := range a.Calls {
		if i > 0 {
			calls.WriteString(",\n")
		}
		fmt.Fprintf(&calls, wholeCall, quote(call.ID), quote(call.Name), quote(call.Arguments))
	}
	toolCalls := ""
	if len(a.Calls) > 0 {
		toolCalls = "\n        \"tool_calls\": [\n" + calls.String() + "\n        ],"
	}
	return fmt.Appendf(nil, wholeAnswer,
		quote(or(a.ID, defaultID)), or(a.Created, defaultCreated), quote(or(a.Model, defaultModel)),
		content, toolCalls, quote(a.finish()), indent(encode(a.Usage.object())), defaultFingerprint)
}

// indent lays out an object that stands one level deep.
func indent(object []byte) []byte {
	var b bytes.Buffer
	if err := json.Indent(&b, object, "  ", "  "); err != nil {
		panic(fmt.Sprintf("internal error: a scripted value is not JSON: %v", err))
	}
	return b.Bytes()
}

const wholeCall = `          {
            "id": %s,
            "type": "function",
            "function": {
              "name": %s,
              "arguments": %s
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

func (a Answer) finish() string {
	if a.Finish == "" && len(a.Calls) > 0 {
		return "tool_calls"
	}
	return or(a.Finish, "stop")
}

// fragments cuts text into pieces of at most size characters.
func fragments(text string, size int) []string {
	var pieces []string
	for text != "" {
		n, count := 0, 0
		for n < len(text) && count < size {
			_, width := utf8.DecodeRuneInString(text[n:])
			n, count = n+width, count+1
		}
		pieces, text = append(pieces, text[:n]), text[n:]
	}
	return pieces
}
