package fakemodel

import (
	"github.com/tidwall/gjson"
)

// messagesConversation is the conversation in the body of a Messages request: the results in
// a user's message come before its text.
func messagesConversation(body []byte) Conversation {
	c := Conversation{API: Messages, Model: gjson.GetBytes(body, "model").String()}
	if system := textOf(gjson.GetBytes(body, "system")); system != "" {
		c.Messages = append(c.Messages, Message{Role: "system", Content: system})
	}
	for _, m := range gjson.GetBytes(body, "messages").Array() {
		said := Message{Role: m.Get("role").String()}
		results := false
		for _, block := range blocksOf(m) {
			switch block.Get("type").String() {
			case "text":
				said.Content += block.Get("text").String()
			case "tool_use":
				said.Calls = append(said.Calls, Call{ID: block.Get("id").String(), Name: block.Get("name").String(), Arguments: block.Get("input").Raw})
			case "tool_result":
				results = true
				c.Messages = append(c.Messages, Message{
					Role: "tool", ToolCallID: block.Get("tool_use_id").String(), Content: textOf(block.Get("content")),
				})
			}
		}
		if !results || said.Content != "" {
			c.Messages = append(c.Messages, said)
		}
	}
	return c
}

// blocksOf are the content blocks of a message. A text is one block.
func blocksOf(message gjson.Result) []gjson.Result {
	content := message.Get("content")
	if content.Type == gjson.String {
		return []gjson.Result{gjson.Parse(`{"type":"text","text":` + content.Raw + `}`)}
	}
	return content.Array()
}
