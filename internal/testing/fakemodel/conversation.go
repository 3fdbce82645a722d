package fakemodel

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"
)

// Conversation is what the model is sent, in whichever API.
type Conversation struct {
	API      API
	Model    string
	Messages []Message
}

// Message is one message of a conversation, in the roles of Chat Completions:
// what tools answered has the role tool. Content holds its text, also where it
// was sent in parts.
type Message struct {
	Role       string
	Content    string
	Calls      []Call
	ToolCallID string
}

// Result is the result of a call that the model got.
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

// textOf is the text of a value that is a string, or parts of which some have a
// text.
func textOf(value gjson.Result) string {
	if !value.IsArray() {
		return value.String()
	}
	var text strings.Builder
	for _, part := range value.Array() {
		text.WriteString(part.Get("text").String())
	}
	return text.String()
}
