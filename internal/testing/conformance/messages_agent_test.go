//go:build conformance

package conformance_test

import (
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/heldcall/heldcall/internal/testing/conformance"
)

// messagesAgent is an agent of the Messages API.
type messagesAgent struct{}

func (messagesAgent) path() string { return "/messages" }

func (messagesAgent) settings() []string {
	return []string{"model", "stream", "tools", "system", "max_tokens", "thinking", "metadata"}
}

func (messagesAgent) first(x *trial) []byte {
	body := x.exchange.RequestBody
	if !gjson.ParseBytes(body).IsObject() {
		var tools []string
		for _, call := range x.toolCalls() {
			tools = append(tools, fmt.Sprintf(`{"name":%q,"input_schema":{"type":"object"}}`, call.Name))
		}
		body = fmt.Appendf(nil, `{"model":"recorded","max_tokens":1024,"stream":%t,"messages":[{"role":"user","content":"Go."}]}`, x.exchange.Streamed)
		if len(tools) > 0 {
			body = with(body, "tools", "["+strings.Join(tools, ",")+"]")
		}
	}
	if tools := gjson.GetBytes(body, "tools"); tools.Exists() {
		body = with(body, "tools", openParameters(tools.Raw))
	}
	return with(body, "metadata", `{"user_id":`+quote(x.id)+`}`)
}

func (messagesAgent) next(x *trial, received *conformance.Answer) []byte {
	choice := received.First()
	var told []string
	for i, call := range choice.Calls {
		told = append(told, fmt.Sprintf(`{"type":"tool_result","tool_use_id":%q,"content":%q}`, call.ID, resultOf(i)))
	}
	if len(told) == 0 {
		told = append(told, fmt.Sprintf(`{"type":"text","text":%q}`, goOn))
	}
	history := gjson.GetBytes(x.request, "messages").Raw
	return with(x.request, "messages", longer(history,
		`{"role":"assistant","content":[`+strings.Join(choice.Items, ",")+`]}`, `{"role":"user","content":[`+strings.Join(told, ",")+`]}`))
}
