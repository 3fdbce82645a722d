package main

import (
	"fmt"
	"strings"
)

func messagesDialect() *dialect {
	tool := func(name, argument string) string {
		return fmt.Sprintf(`{"name":%q,%s,"input_schema":%s}`, name, toolText, toolSchema(argument))
	}
	return &dialect{
		name: "messages", path: "/v1/messages", headers: "X-Api-Key: sk-bench\r\nAnthropic-Version: 2023-06-01\r\n",
		callMark: `"type":"tool_use"`, held: 5 + messagesFraming + callEvents - 1 + messagesCallFraming, stream: messagesStream, whole: messagesWhole, turn: messagesTurn,
		conversation: `"max_tokens":8192,"system":"` + systemText + `","messages":[{"role":"user","content":"` + userText + `"}`,
		tail:         `],"tools":[` + tool("read_file", "path") + "," + tool("bash", "command") + `],"tool_choice":{"type":"auto"}}`,
	}
}

const (
	messagesFraming     = 5 // events of a stream of text besides its deltas
	messagesCallFraming = 2 // and of a call
)

func messagesEvent(kind, fields string) string {
	if fields != "" {
		fields = "," + fields
	}
	return fmt.Sprintf("event: %s\ndata: {\"type\":%q%s}\n\n", kind, kind, fields)
}

func messagesStream(events int, calls, open bool) []string {
	text, reason := events-messagesFraming, "end_turn"
	if calls {
		text, reason = text-(callEvents-1)-messagesCallFraming, "tool_use"
	}
	if open {
		text = events - 2
	}
	out := []string{
		messagesEvent("message_start", `"message":{"id":"msg_`+seedField+`kQ7vXw","type":"message","role":"assistant","model":"claude-bench-1","content":[],`+
			`"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":412,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1}}`),
		messagesEvent("content_block_start", `"index":0,"content_block":{"type":"text","text":""}`),
	}
	for i := range text {
		out = append(out, messagesEvent("content_block_delta", `"index":0,"delta":{"type":"text_delta","text":"`+textPiece(i)+`"}`))
	}
	if open {
		return out
	}
	out = append(out, messagesEvent("content_block_stop", `"index":0`))
	if calls {
		out = append(out, messagesEvent("content_block_start", `"index":1,"content_block":{"type":"tool_use","id":"call_`+seedField+`abcdefghijkl","name":"read_file","input":{}}`))
		for _, piece := range argumentPieces() {
			out = append(out, messagesEvent("content_block_delta", `"index":1,"delta":{"type":"input_json_delta","partial_json":"`+piece+`"}`))
		}
		out = append(out, messagesEvent("content_block_stop", `"index":1`))
	}
	return append(out,
		messagesEvent("message_delta", `"delta":{"stop_reason":"`+reason+`","stop_sequence":null},"usage":{"output_tokens":231}`),
		messagesEvent("message_stop", ""))
}

func messagesWhole(call bool) string {
	content, reason := `{"type":"text","text":"`+wholeText+`"}`, "end_turn"
	if call {
		content, reason = `{"type":"tool_use","id":"call_`+seedField+`abcdefghijkl","name":"read_file","input":{"path":"./src/main.go"}}`, "tool_use"
	}
	return `{"id":"msg_` + seedField + `kQ7vXw","type":"message","role":"assistant","model":"claude-bench-1","content":[` + content +
		`],"stop_reason":"` + reason + `","stop_sequence":null,"usage":{"input_tokens":412,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":231}}`
}

func messagesTurn(i, n int) string {
	return fmt.Sprintf(`,{"role":"assistant","content":[{"type":"tool_use","id":"call_old%04d","name":"read_file","input":{"path":"./src/part%04d.go"}}]},`+
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_old%04d","content":"%s"}]}`, i, i, i, strings.Repeat(fileLine, n/len(fileLine)))
}
