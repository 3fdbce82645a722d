package fakemodel

import "fmt"

// Stream builds a streamed Chat Completions answer event by event, byte for
// byte as OpenAI writes it. Its methods append and return the stream, so that
// they chain. The zero value writes usable defaults.
type Stream struct {
	ID           string
	Model        string
	Created      int64
	IncludeUsage bool // every chunk has a usage field, as with stream_options.include_usage

	eventLog
	choice int
}

// The identity of an answer that names none.
const (
	defaultID          = "chatcmpl-CScriptedAnswer0000000000"
	defaultModel       = "gpt-4o-mini-2024-07-18"
	defaultCreated     = 1763712000
	defaultFingerprint = "fp_5c1ed0ca11"
)

// Choice makes the events that follow belong to that choice.
func (s *Stream) Choice(index int) *Stream {
	s.choice = index
	return s
}

// Raw appends bytes as they are: a comment, a broken event.
func (s *Stream) Raw(event string) *Stream {
	s.add(event)
	return s
}

// Role opens a choice that begins with text.
func (s *Stream) Role() *Stream {
	return s.delta(`{"role":"assistant","content":"","refusal":null}`, "")
}

// Text appends a fragment of text.
func (s *Stream) Text(fragment string) *Stream {
	return s.delta(`{"content":`+quote(fragment)+`}`, "")
}

// Reasoning appends a fragment of reasoning, as DeepSeek and others do.
func (s *Stream) Reasoning(fragment string) *Stream {
	return s.delta(`{"reasoning_content":`+quote(fragment)+`}`, "")
}

// RoleAndCall opens a choice that begins with a call, which OpenAI writes as
// one chunk.
func (s *Stream) RoleAndCall(index int, id, name string) *Stream {
	return s.delta(`{"role":"assistant","content":null,"tool_calls":[`+opening(index, id, name)+`],"refusal":null}`, "")
}

// Call opens a tool call.
func (s *Stream) Call(index int, id, name string) *Stream {
	return s.delta(`{"tool_calls":[`+opening(index, id, name)+`]}`, "")
}

// Arguments continues a tool call with a fragment of its arguments.
func (s *Stream) Arguments(index int, fragment string) *Stream {
	return s.delta(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, index, quote(fragment)), "")
}

// CustomCall opens a call of a custom tool, Input continues it.
func (s *Stream) CustomCall(index int, id, name string) *Stream {
	return s.delta(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%s,"type":"custom","custom":{"name":%s,"input":""}}]}`,
		index, quote(id), quote(name)), "")
}

// Input continues a call of a custom tool with a fragment of its input.
func (s *Stream) Input(index int, fragment string) *Stream {
	return s.delta(fmt.Sprintf(`{"tool_calls":[{"index":%d,"custom":{"input":%s}}]}`, index, quote(fragment)), "")
}

// Finish ends a choice.
func (s *Stream) Finish(reason string) *Stream { return s.delta(`{}`, reason) }

// Usage appends the chunk that holds nothing but usage.
func (s *Stream) Usage(u Usage) *Stream {
	return s.event(s.chunk(`[]`, string(encode(u.chat()))))
}

// Done appends the end marker.
func (s *Stream) Done() *Stream { return s.Raw("data: [DONE]\n\n") }

func opening(index int, id, name string) string {
	return fmt.Sprintf(`{"index":%d,"id":%s,"type":"function","function":{"name":%s,"arguments":""}}`,
		index, quote(id), quote(name))
}

func (s *Stream) delta(delta, finish string) *Stream {
	reason := "null"
	if finish != "" {
		reason = quote(finish)
	}
	choices := fmt.Sprintf(`[{"index":%d,"delta":%s,"logprobs":null,"finish_reason":%s}]`, s.choice, delta, reason)
	usage := ""
	if s.IncludeUsage {
		usage = "null"
	}
	return s.event(s.chunk(choices, usage))
}

func (s *Stream) chunk(choices, usage string) string {
	if usage != "" {
		usage = `,"usage":` + usage
	}
	return fmt.Sprintf(`{"id":%s,"object":"chat.completion.chunk","created":%d,"model":%s,`+
		`"service_tier":"default","system_fingerprint":"%s","choices":%s%s}`,
		quote(or(s.ID, defaultID)), or(s.Created, defaultCreated), quote(or(s.Model, defaultModel)),
		defaultFingerprint, choices, usage)
}

func (s *Stream) event(payload string) *Stream { return s.Raw("data: " + payload + "\n\n") }
