package fakemodel

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"
)

// MessagesStream builds a streamed answer of the Messages API, byte for byte as
// Anthropic writes it: content blocks that begin and end, between the message's
// own events, with blanks of changing length inside the JSON. Its methods append
// and return the stream, so that they chain. The zero value writes usable
// defaults.
type MessagesStream struct {
	ID    string
	Model string
	Usage Usage
	// Fragment is how many characters one delta holds at most; 0 means 4.
	Fragment int

	eventLog
	content []json.RawMessage // the blocks that are done
	reason  string            // why the message ended
}

const (
	defaultMessageID     = "msg_015c1ed0ca110000000000000000"
	defaultMessagesModel = "claude-sonnet-4-5-20250929"
)

// Raw appends bytes as they are: a comment, a broken event.
func (s *MessagesStream) Raw(event string) *MessagesStream {
	s.add(event)
	return s
}

// Event appends an event of a type. fields is the JSON after the type, without
// braces: "" or `"index":0`.
func (s *MessagesStream) Event(kind, fields string) *MessagesStream {
	if fields != "" {
		fields = "," + fields
	}
	padding := strings.Repeat(" ", len(fields)*7%16)
	return s.Raw("event: " + kind + "\ndata: " + `{"type":` + quote(kind) + fields + padding + "}\n\n")
}

// Begin opens the message.
func (s *MessagesStream) Begin() *MessagesStream {
	usage := s.usage()
	usage.OutputTokens = min(usage.OutputTokens, 1)
	return s.Event("message_start", `"message":`+string(s.message(nil, usage)))
}

// Ping appends a heartbeat.
func (s *MessagesStream) Ping() *MessagesStream {
	return s.Raw("event: ping\ndata: {\"type\": \"ping\"}\n\n")
}

// Text appends a block of text.
func (s *MessagesStream) Text(text string) *MessagesStream {
	return s.Block(`{"type":"text","text":` + quote(text) + `}`)
}

// Thinking appends a block of thinking with its signature.
func (s *MessagesStream) Thinking(text string) *MessagesStream {
	return s.Block(fmt.Sprintf(`{"type":"thinking","thinking":%s,"signature":%q}`, quote(text), signature(text)))
}

// ToolUse appends a call. Its input is streamed as the model wrote it, JSON or
// not; an object without fields is not written at all, as Anthropic does.
func (s *MessagesStream) ToolUse(id, name, input string) *MessagesStream {
	object := "{}"
	if gjson.Valid(input) && gjson.Parse(input).IsObject() {
		object = compact(input)
	}
	block := fmt.Sprintf(`{"type":"tool_use","id":%s,"name":%s,"input":%s,"caller":{"type":"direct"}}`, quote(id), quote(name), object)
	return s.block(block, input)
}

// Block appends a content block, given as it is when it is done, with the events
// by which a block of its type is streamed.
func (s *MessagesStream) Block(block string) *MessagesStream {
	return s.block(compact(block), gjson.Get(block, "input").Raw)
}

func (s *MessagesStream) block(block, input string) *MessagesStream {
	parsed := gjson.Parse(block)
	switch parsed.Get("type").String() {
	case "text":
		s.start(set(block, "text", `""`))
		s.deltas("text_delta", "text", parsed.Get("text").String())
	case "thinking":
		s.start(set(set(block, "thinking", `""`), "signature", `""`))
		s.deltas("thinking_delta", "thinking", parsed.Get("thinking").String())
		s.delta("signature_delta", "signature", parsed.Get("signature").String())
	case "tool_use", "server_tool_use", "mcp_tool_use":
		s.start(set(block, "input", "{}"))
		s.delta("input_json_delta", "partial_json", "")
		if strings.TrimSpace(input) != "{}" {
			s.deltas("input_json_delta", "partial_json", input)
		}
	default:
		s.start(block)
	}
	s.Event("content_block_stop", fmt.Sprintf(`"index":%d`, len(s.content)))
	s.content = append(s.content, json.RawMessage(block))
	return s
}

func (s *MessagesStream) start(block string) {
	s.Event("content_block_start", fmt.Sprintf(`"index":%d,"content_block":%s`, len(s.content), block))
	if len(s.content) == 0 {
		s.Ping()
	}
}

func (s *MessagesStream) deltas(kind, field, text string) {
	for _, fragment := range fragments(text, or(s.Fragment, 4)) {
		s.delta(kind, field, fragment)
	}
}

func (s *MessagesStream) delta(kind, field, text string) {
	s.Event("content_block_delta", fmt.Sprintf(`"index":%d,"delta":{"type":%q,%q:%s}`, len(s.content), kind, field, quote(text)))
}

// End closes the message.
func (s *MessagesStream) End(reason string) *MessagesStream {
	s.reason = reason
	u := s.Usage
	s.Event("message_delta", fmt.Sprintf(`"delta":{"stop_reason":%s,"stop_sequence":null},"usage":{"input_tokens":%d,`+
		`"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":%d}`, quote(reason), u.Prompt, u.Completion))
	return s.Event("message_stop", "")
}

// Fail ends the stream with an error event, as Anthropic does inside a 200.
func (s *MessagesStream) Fail(kind, message string) *MessagesStream {
	return s.Event("error", `"error":`+string(encode(anthropicError{Type: kind, Message: message})))
}

// Whole is the message as one JSON document on one line, as Anthropic writes it.
func (s *MessagesStream) Whole() []byte { return s.message(s.content, s.usage()) }

type messagesUsage struct {
	InputTokens         int `json:"input_tokens"`
	CacheCreationTokens int `json:"cache_creation_input_tokens"`
	CacheReadTokens     int `json:"cache_read_input_tokens"`
	CacheCreation       struct {
		FiveMinutes int `json:"ephemeral_5m_input_tokens"`
		OneHour     int `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
	OutputTokens int    `json:"output_tokens"`
	ServiceTier  string `json:"service_tier"`
}

func (s *MessagesStream) usage() messagesUsage {
	return messagesUsage{InputTokens: s.Usage.Prompt, OutputTokens: s.Usage.Completion, ServiceTier: "standard"}
}

func (s *MessagesStream) message(content []json.RawMessage, u messagesUsage) []byte {
	reason := "null"
	if s.reason != "" {
		reason = quote(s.reason)
	}
	return fmt.Appendf(nil, `{"model":%s,"id":%s,"type":"message","role":"assistant","content":%s,"stop_reason":%s,"stop_sequence":null,"usage":%s}`,
		quote(or(s.Model, defaultMessagesModel)), quote(or(s.ID, defaultMessageID)), encode(append([]json.RawMessage{}, content...)), reason, encode(u))
}

// signature is the text with which Anthropic signs thinking, to detect changes when it comes
// back.
func signature(thinking string) string { return "Eq" + digest("thinking", thinking) + "==" }
