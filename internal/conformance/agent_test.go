package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/heldcall/heldcall/internal/conformance"
)

// reply is what an agent received, byte for byte.
type reply struct {
	status int
	header http.Header
	body   []byte
	err    error // the body did not end as its framing says
}

// agent is a plain HTTP client: nothing of an SDK stands between the test and
// the bytes.
type agent struct{ client *http.Client }

func newAgent() agent {
	return agent{&http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}}}
}

func (a agent) ask(ctx context.Context, base, session string, body []byte) (reply, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer conformance")
	request.Header.Set("X-Heldcall-Session", session)
	answer, err := a.client.Do(request)
	if err != nil {
		return reply{}, err
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	return reply{answer.StatusCode, answer.Header, raw, err}, nil
}

// firstRequest is the request that the recorded one was, with a marker as its
// first message; where none was recorded, one that fits the answer. The
// parameters of tools are opened to any object, so that edits may be anything.
func (x *trial) firstRequest() []byte {
	system := fmt.Sprintf(`{"role":"system","content":"conformance %s"}`, x.id)
	recordedBody := gjson.ParseBytes(x.exchange.RequestBody)
	if !recordedBody.IsObject() {
		return x.plainRequest(system)
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

func (x *trial) plainRequest(system string) []byte {
	tools := make(map[string]bool)
	var entries []string
	for _, call := range x.calls {
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

// openParameters replaces the JSON Schema of every tool by one that takes any
// object.
func openParameters(tools string) string {
	var list []map[string]any
	if json.Unmarshal([]byte(tools), &list) != nil {
		return tools
	}
	for _, tool := range list {
		function, nested := tool["function"].(map[string]any)
		if !nested {
			function = tool
		}
		if _, has := function["parameters"]; has {
			function["parameters"] = map[string]any{"type": "object"}
			delete(function, "strict")
		}
	}
	opened, err := json.Marshal(list)
	if err != nil {
		return tools
	}
	return string(opened)
}

// nextRequest is what the agent sends next: its history, the assistant message
// as it received it, and the result of every call in it.
func (x *trial) nextRequest(received *conformance.Choice) []byte {
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
		messages = append(messages, `{"role":"user","content":"Go on."}`)
	}
	history := gjson.GetBytes(x.request, "messages").Raw
	longer := strings.TrimSuffix(strings.TrimSpace(history), "]") + "," + strings.Join(messages, ",") + "]"
	return bytes.Replace(x.request, []byte(history), []byte(longer), 1)
}

func resultOf(i int) string { return fmt.Sprintf("result number %d of the agent", i) }

// idOf is a call's id; clients make one up where there is none.
func idOf(call *conformance.Call, i int) string {
	if call.ID == "" {
		return fmt.Sprintf("call_made_up_by_client_%d", i)
	}
	return call.ID
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

func quote(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic("internal error: a string is not JSON: " + err.Error())
	}
	return string(quoted)
}
