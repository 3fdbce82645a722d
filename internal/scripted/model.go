package scripted

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// Model is a deterministic model behind Chat Completions: the first rule that
// fits the end of the conversation says what it answers. The same request gets
// the same answer, ids included.
type Model struct {
	Rules []Rule
	// Otherwise answers what no rule fits; its zero value is an empty text.
	Otherwise Answer
}

// Rule is one thing the model knows to say.
type Rule struct {
	When Condition
	Say  func(Conversation) Answer
}

// Condition decides whether a rule fits a conversation.
type Condition func(Conversation) bool

// Say is a rule's answer that does not depend on the conversation.
func Say(a Answer) func(Conversation) Answer {
	return func(Conversation) Answer { return a }
}

// UserSays fits when the last message is the user's and contains text.
func UserSays(text string) Condition {
	return func(c Conversation) bool {
		return c.Last().Role == "user" && strings.Contains(c.Last().Content, text)
	}
}

// ToolAnswers fits when one of the conversation's latest results is of that
// tool and contains text. A denial is such a result too.
func ToolAnswers(tool, text string) Condition {
	return func(c Conversation) bool {
		for _, result := range c.Results() {
			if result.Tool == tool && strings.Contains(result.Content, text) {
				return true
			}
		}
		return false
	}
}

// All fits when every condition does.
func All(conditions ...Condition) Condition {
	return func(c Conversation) bool {
		for _, fits := range conditions {
			if !fits(c) {
				return false
			}
		}
		return true
	}
}

// Conversation is what the model is sent.
type Conversation struct {
	Model    string
	Messages []Message
}

// Message is one message of a conversation. Content holds its text, also where
// it was sent in parts.
type Message struct {
	Role       string
	Content    string
	Calls      []Call
	ToolCallID string
}

// Result is what the model was told of one of its calls.
type Result struct{ ID, Tool, Content string }

// Last is the last message, or an empty one.
func (c Conversation) Last() Message {
	if len(c.Messages) == 0 {
		return Message{}
	}
	return c.Messages[len(c.Messages)-1]
}

// User is the text of the user's last message.
func (c Conversation) User() string {
	for i := len(c.Messages) - 1; i >= 0; i-- {
		if c.Messages[i].Role == "user" {
			return c.Messages[i].Content
		}
	}
	return ""
}

// Results are the tool messages since the assistant or the user last spoke, in
// order.
func (c Conversation) Results() []Result {
	var results []Result
	tools := make(map[string]string)
	for _, m := range c.Messages {
		switch m.Role {
		case "assistant", "user":
			results = nil
			for _, call := range m.Calls {
				tools[call.ID] = call.Name
			}
		case "tool":
			results = append(results, Result{m.ToolCallID, tools[m.ToolCallID], m.Content})
		}
	}
	return results
}

// Reply is the model's [Script]. It refuses what Chat Completions does: an
// unknown route, a body that is no conversation, a call without its result.
func (m *Model) Reply(r *Request) Reply {
	if r.Method != http.MethodPost || !strings.HasSuffix(r.Path, "/chat/completions") {
		return Fail(http.StatusNotFound, "unknown_url", "Unknown request URL: "+r.Method+" "+r.Path)
	}
	conversation, err := ParseConversation(r.Body)
	if err != nil {
		return Fail(http.StatusBadRequest, "invalid_body", err.Error())
	}
	if err := conversation.Check(); err != nil {
		return Fail(http.StatusBadRequest, "invalid_messages", err.Error())
	}
	answer := m.answer(conversation)
	sum := sha256.Sum256(r.Body)
	digest := hex.EncodeToString(sum[:])
	answer.ID = or(answer.ID, "chatcmpl-"+digest[:29])
	answer.Model = or(answer.Model, conversation.Model)
	answer.Calls = append([]Call(nil), answer.Calls...)
	for i := range answer.Calls {
		answer.Calls[i].ID = or(answer.Calls[i].ID, fmt.Sprintf("call_%s%02d", digest[:22], i))
	}
	if answer.Usage == (Usage{}) {
		answer.Usage = Usage{Prompt: len(r.Body) / 4, Completion: 1 + len(answer.Text)/4 + 12*len(answer.Calls)}
	}
	return answer.Reply(r)
}

func (m *Model) answer(c Conversation) Answer {
	for _, rule := range m.Rules {
		if rule.When(c) {
			return rule.Say(c)
		}
	}
	return m.Otherwise
}

// ParseConversation reads the body of a Chat Completions request.
func ParseConversation(body []byte) (Conversation, error) {
	var request struct {
		Model    string `json:"model"`
		Messages []struct {
			Role       string          `json:"role"`
			Content    json.RawMessage `json:"content"`
			ToolCallID string          `json:"tool_call_id"`
			ToolCalls  []struct {
				ID       string `json:"id"`
				Function struct {
					Name      string `json:"name"`
					Arguments string `json:"arguments"`
				} `json:"function"`
			} `json:"tool_calls"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return Conversation{}, fmt.Errorf("reading the body of a chat completion: %w", err)
	}
	c := Conversation{Model: request.Model}
	for i, m := range request.Messages {
		content, err := messageText(m.Content)
		if err != nil {
			return Conversation{}, fmt.Errorf("reading messages[%d].content: %w", i, err)
		}
		message := Message{Role: m.Role, Content: content, ToolCallID: m.ToolCallID}
		for _, call := range m.ToolCalls {
			message.Calls = append(message.Calls, Call{call.ID, call.Function.Name, call.Function.Arguments})
		}
		c.Messages = append(c.Messages, message)
	}
	return c, nil
}

// messageText is a message's content as one text: null, a string, or parts.
func messageText(raw json.RawMessage) (string, error) {
	if len(raw) == 0 || raw[0] != '[' {
		var text *string
		if len(raw) == 0 {
			return "", nil
		}
		if err := json.Unmarshal(raw, &text); err != nil || text == nil {
			return "", err
		}
		return *text, nil
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return "", err
	}
	var text strings.Builder
	for _, part := range parts {
		text.WriteString(part.Text)
	}
	return text.String(), nil
}

// Check judges the conversation as a strict provider does: known roles, and
// every call answered exactly once, directly after the turn that made it.
func (c Conversation) Check() error {
	open := make(map[string]bool)
	for i, m := range c.Messages {
		if m.Role == "tool" {
			if !open[m.ToolCallID] {
				return fmt.Errorf("messages[%d]: messages with role 'tool' must be a response to a preceding "+
					"message with 'tool_calls': %q is not open", i, m.ToolCallID)
			}
			delete(open, m.ToolCallID)
			continue
		}
		if err := unanswered(open, i); err != nil {
			return err
		}
		switch m.Role {
		case "system", "developer", "user", "assistant", "function":
		default:
			return fmt.Errorf("messages[%d]: unknown role %q", i, m.Role)
		}
		for _, call := range m.Calls {
			if open[call.ID] {
				return fmt.Errorf("messages[%d]: two calls have the id %q", i, call.ID)
			}
			open[call.ID] = true
		}
	}
	return unanswered(open, len(c.Messages))
}

func unanswered(open map[string]bool, before int) error {
	for id := range open {
		return fmt.Errorf("before messages[%d]: an assistant message with 'tool_calls' must be followed by tool "+
			"messages responding to each 'tool_call_id': %q has no response", before, id)
	}
	return nil
}
