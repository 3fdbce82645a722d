package main

import (
	"fmt"
	"strconv"
	"strings"
)

func chatDialect() *dialect {
	tool := func(name, argument string) string {
		return fmt.Sprintf(`{"type":"function","function":{"name":%q,%s,"parameters":%s}}`, name, toolText, toolSchema(argument))
	}
	return &dialect{
		name: "chat", path: "/v1/chat/completions", headers: "Authorization: Bearer sk-bench\r\n",
		callMark: `"tool_calls":[{`, held: 5 + 2 + callEvents, stream: chatStream, whole: chatWhole, turn: chatTurn,
		conversation: `"messages":[{"role":"system","content":"` + systemText + `"},{"role":"user","content":"` + userText + `"}`,
		tail:         `],"tools":[` + tool("read_file", "path") + "," + tool("bash", "command") + `],"tool_choice":"auto"}`,
	}
}

func chatStream(events int, calls, open bool) []string {
	text, finish := events-2, "stop"
	if calls {
		text, finish = events-2-callEvents, "tool_calls"
	}
	if open {
		text = events - 1
	}
	out := []string{chatEvent(`{"role":"assistant","content":"","refusal":null}`, "null")}
	for i := range text {
		out = append(out, chatEvent(`{"content":"`+textPiece(i)+`"}`, "null"))
	}
	if open {
		return out
	}
	if calls {
		out = append(out, chatEvent(`{"tool_calls":[{"index":0,"id":"call_`+seedField+
			`abcdefghijkl","type":"function","function":{"name":"read_file","arguments":""}}]}`, "null"))
		for _, piece := range argumentPieces() {
			out = append(out, chatEvent(`{"tool_calls":[{"index":0,"function":{"arguments":"`+piece+`"}}]}`, "null"))
		}
	}
	out = append(out, chatEvent(`{}`, strconv.Quote(finish)))
	return append(out, "data: [DONE]\n\n")
}

// chatEvent renders one chunk of a stream as OpenAI sends it.
func chatEvent(delta, finish string) string {
	return `data: {"id":"chatcmpl-` + seedField + `kQ7vXw","object":"chat.completion.chunk","created":1795000000,"model":"gpt-bench-1",` +
		`"system_fingerprint":"fp_3bbd9e2b1c","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + "}]}\n\n"
}

func chatWhole(call bool) string {
	message, finish := `"content":"`+wholeText+`"`, "stop"
	if call {
		message, finish = `"content":null,"tool_calls":[{"id":"call_`+seedField+
			`abcdefghijkl","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"./src/main.go\"}"}}]`, "tool_calls"
	}
	return `{"id":"chatcmpl-` + seedField + `kQ7vXw","object":"chat.completion","created":1795000000,"model":"gpt-bench-1",` +
		`"choices":[{"index":0,"message":{"role":"assistant",` + message + `,"refusal":null,"annotations":[]},"logprobs":null,"finish_reason":"` +
		finish + `"}],"usage":{"prompt_tokens":412,"completion_tokens":231,"total_tokens":643,"prompt_tokens_details":{"cached_tokens":0}},` +
		`"service_tier":"default","system_fingerprint":"fp_3bbd9e2b1c"}`
}

func chatTurn(i, n int) string {
	return fmt.Sprintf(`,{"role":"assistant","content":null,"tool_calls":[{"id":"call_old%04d","type":"function","function":`+
		`{"name":"read_file","arguments":"{\"path\":\"./src/part%04d.go\"}"}}]},{"role":"tool","tool_call_id":"call_old%04d","content":"%s"}`,
		i, i, i, strings.Repeat(fileLine, n/len(fileLine)))
}
