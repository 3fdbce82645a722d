//go:build conformance

package conformance_test

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/heldcall/heldcall/internal/testing/conformance"
)

// chatAgent is an agent of Chat Completions.
type chatAgent struct{}

func (chatAgent) path() string { return "/chat/completions" }

func (chatAgent) settings() []string {
	return []string{"model", "stream", "tools", "functions", "stream_options"}
}

func (chatAgent) first(x *trial) []byte {
	system := fmt.Sprintf(`{"role":"system","content":"conformance %s"}`, x.id)
	recordedBody := gjson.ParseBytes(x.exchange.RequestBody)
	if !recordedBody.IsObject() {
		return plainChat(x, system)
	}
	var fields []string
	recordedBody.ForEach(func(key, value gjson.Result) bool {
		text := value.Raw
		switch key.String() {
		case "messages":
			text = "[" + system + "," + strings.TrimPrefix(strings.TrimSpace(text), "[")
		case "tools", "functions":
			text = openParameters(text)
		}
		fields = append(fields, key.Raw+":"+text)
		return true
	})
	return []byte("{" + strings.Join(fields, ",") + "}")
}

func plainChat(x *trial, system string) []byte {
	tools := make(map[string]bool)
	var entries []string
	for _, call := range x.toolCalls() {
		if tools[call.Name] || call.Legacy || call.Custom {
			continue
		}
		tools[call.Name] = true
		entries = append(entries, fmt.Sprintf(`{"type":"function","function":{"name":%q,"parameters":{"type":"object"}}}`, call.Name))
	}
	offered := ""
	if len(entries) > 0 {
		offered = `,"tools":[` + strings.Join(entries, ",") + `]`
	}
	return fmt.Appendf(nil, `{"model":"recorded","stream":%t,"messages":[%s,{"role":"user","content":"Go."}]%s}`, x.exchange.Streamed, system, offered)
}

func (chatAgent) next(x *trial, answer *conformance.Answer) []byte {
	received := answer.First()
	messages := []string{assistantMessage(received)}
	for i, call := range received.Calls {
		result := resultOf(i)
		if call.Legacy {
			messages = append(messages, fmt.Sprintf(`{"role":"function","name":%q,"content":%q}`, call.Name, result))
		} else {
			messages = append(messages, fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":%q}`, idOf(call, i), result))
		}
	}
	if len(received.Calls) == 0 {
		messages = append(messages, fmt.Sprintf(`{"role":"user","content":%q}`, goOn))
	}
	history := gjson.GetBytes(x.request, "messages").Raw
	return bytes.Replace(x.request, []byte(history), []byte(longer(history, messages...)), 1)
}

func assistantMessage(received *conformance.Choice) string {
	message := `{"role":"assistant","content":null`
	if received.Text != "" {
		message = `{"role":"assistant","content":` + quote(received.Text)
	}
	if received.Reasoning != "" {
		message += `,"reasoning_content":` + quote(received.Reasoning)
	}
	var entries []string
	for i, call := range received.Calls {
		switch {
		case call.Legacy:
			return message + fmt.Sprintf(`,"function_call":{"name":%s,"arguments":%s}}`, quote(call.Name), quote(call.Arguments))
		case call.Custom:
			entries = append(entries, fmt.Sprintf(`{"id":%s,"type":"custom","custom":{"name":%s,"input":%s}}`,
				quote(idOf(call, i)), quote(call.Name), quote(call.Arguments)))
		default:
			entries = append(entries, fmt.Sprintf(`{"id":%s,"type":"function","function":{"name":%s,"arguments":%s}}`,
				quote(idOf(call, i)), quote(call.Name), quote(call.Arguments)))
		}
	}
	if len(entries) > 0 {
		message += `,"tool_calls":[` + strings.Join(entries, ",") + "]"
	}
	return message + "}"
}
