package fakemodel

import (
	"encoding/json"
	"fmt"
)

// chatCall is a call in a message of Chat Completions.
type chatCall struct {
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
	Custom *struct {
		Name  string `json:"name"`
		Input string `json:"input"`
	} `json:"custom"`
}

func (c chatCall) call() Call {
	if c.Custom != nil {
		return Call{ID: c.ID, Name: c.Custom.Name, Arguments: c.Custom.Input, Custom: true}
	}
	return Call{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments}
}

// ParseConversation reads the body of a Chat Completions request.
func ParseConversation(body []byte) (Conversation, error) {
	var request struct {
		Model    string `json:"model"`
		Messages []struct {
			Role       string          `json:"role"`
			Content    json.RawMessage `json:"content"`
			ToolCallID string          `json:"tool_call_id"`
			ToolCalls  []chatCall      `json:"tool_calls"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return Conversation{}, fmt.Errorf("reading the body of a chat completion: %w", err)
	}
	c := Conversation{API: Chat, Model: request.Model}
	for i, m := range request.Messages {
		content, err := messageText(m.Content)
		if err != nil {
			return Conversation{}, fmt.Errorf("reading messages[%d].content: %w", i, err)
		}
		message := Message{Role: m.Role, Content: content, ToolCallID: m.ToolCallID}
		for _, call := range m.ToolCalls {
			message.Calls = append(message.Calls, call.call())
		}
		c.Messages = append(c.Messages, message)
	}
	return c, nil
}

// Check judges a conversation of Chat Completions as a strict provider does: known roles, and
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
