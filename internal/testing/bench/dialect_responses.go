package main

import (
	"fmt"
	"strings"
)

func responsesDialect() *dialect {
	tool := func(name, argument string) string {
		return fmt.Sprintf(`{"type":"function","name":%q,%s,"parameters":%s,"strict":false}`, name, toolText, toolSchema(argument))
	}
	return &dialect{
		name: "responses", path: "/v1/responses", headers: "Authorization: Bearer sk-bench\r\n",
		callMark: `"type":"function_call"`, held: 5 + responsesFraming + callEvents - 1 + responsesCallFraming, stream: responsesStream, whole: responsesWhole, turn: responsesTurn,
		conversation: `"store":false,"instructions":"` + systemText + `","input":[{"role":"user","content":"` + userText + `"}`,
		tail:         `],"tools":[` + tool("read_file", "path") + "," + tool("bash", "command") + `],"tool_choice":"auto"}`,
	}
}

const (
	responsesFraming     = 8 // events of a stream of text besides its deltas
	responsesCallFraming = 3 // and of a call
)

// typedStream numbers the events of a stream.
type typedStream struct {
	events []string
	number int
}

// add appends an event of a type; fields are those after its type and number.
func (s *typedStream) add(kind, fields string) {
	s.events = append(s.events, fmt.Sprintf("event: %s\ndata: {\"type\":%q,\"sequence_number\":%d,%s}\n\n", kind, kind, s.number, fields))
	s.number++
}

func responsesStream(events int, calls, open bool) []string {
	text := events - responsesFraming
	if calls {
		text -= callEvents - 1 + responsesCallFraming
	}
	if open {
		text = events - 4
	}
	s := &typedStream{}
	s.add("response.created", `"response":`+responsesObject("in_progress", "[]", "null"))
	s.add("response.in_progress", `"response":`+responsesObject("in_progress", "[]", "null"))
	item := `"id":"msg_` + seedField + `68f0c3aa4d1c8190","type":"message"`
	s.add("response.output_item.added", `"output_index":0,"item":{`+item+`,"status":"in_progress","content":[],"role":"assistant"}`)
	place := `"item_id":"msg_` + seedField + `68f0c3aa4d1c8190","output_index":0,"content_index":0`
	s.add("response.content_part.added", place+`,"part":{"type":"output_text","annotations":[],"logprobs":[],"text":""}`)
	var said strings.Builder
	for i := range text {
		said.WriteString(textPiece(i))
		s.add("response.output_text.delta", place+`,"delta":"`+textPiece(i)+`","logprobs":[],"obfuscation":"kT9xQv"`)
	}
	if open {
		return s.events
	}
	part := `{"type":"output_text","annotations":[],"logprobs":[],"text":"` + said.String() + `"}`
	s.add("response.output_text.done", place+`,"text":"`+said.String()+`","logprobs":[]`)
	s.add("response.content_part.done", place+`,"part":`+part)
	output := `{` + item + `,"status":"completed","content":[` + part + `],"role":"assistant"}`
	s.add("response.output_item.done", `"output_index":0,"item":`+output)
	if calls {
		output += "," + responsesStreamCall(s)
	}
	s.add("response.completed", `"response":`+responsesObject("completed", "["+output+"]", responsesUsage))
	return s.events
}

// responsesStreamCall streams a call and returns its item.
func responsesStreamCall(s *typedStream) string {
	pieces := argumentPieces()
	s.add("response.output_item.added", `"output_index":1,"item":`+responsesCall("in_progress", ""))
	place := `"item_id":"fc_` + seedField + `68f0c3ab","output_index":1`
	for _, piece := range pieces {
		s.add("response.function_call_arguments.delta", place+`,"delta":"`+piece+`","obfuscation":"x9"`)
	}
	arguments := strings.Join(pieces, "")
	s.add("response.function_call_arguments.done", place+`,"arguments":"`+arguments+`"`)
	done := responsesCall("completed", arguments)
	s.add("response.output_item.done", `"output_index":1,"item":`+done)
	return done
}

func responsesCall(status, arguments string) string {
	return `{"id":"fc_` + seedField + `68f0c3ab","type":"function_call","status":"` + status + `","arguments":"` + arguments +
		`","call_id":"call_` + seedField + `abcdefghijkl","name":"read_file"}`
}

const responsesUsage = `{"input_tokens":412,"input_tokens_details":{"cached_tokens":0},"output_tokens":231,` +
	`"output_tokens_details":{"reasoning_tokens":0},"total_tokens":643}`

// responsesObject renders the response itself, which repeats what was asked.
func responsesObject(status, output, usage string) string {
	return `{"id":"resp_` + seedField + `68f0c3a97fd08190","object":"response","created_at":1795000000,"status":"` + status +
		`","background":false,"error":null,"incomplete_details":null,"instructions":"` + systemText + `","max_output_tokens":null,` +
		`"model":"gpt-bench-1","output":` + output + `,"parallel_tool_calls":true,"previous_response_id":null,` +
		`"reasoning":{"effort":null,"summary":null},"service_tier":"default","store":false,"temperature":1.0,"text":{"format":{"type":"text"}},` +
		`"tool_choice":"auto","tools":[],"top_p":1.0,"truncation":"disabled","usage":` + usage + `,"user":null,"metadata":{}}`
}

func responsesWhole(call bool) string {
	output := `{"id":"msg_` + seedField + `68f0c3aa4d1c8190","type":"message","status":"completed","content":[{"type":"output_text",` +
		`"annotations":[],"logprobs":[],"text":"` + wholeText + `"}],"role":"assistant"}`
	if call {
		output = responsesCall("completed", `{\"path\":\"./src/main.go\"}`)
	}
	return responsesObject("completed", "["+output+"]", responsesUsage)
}

func responsesTurn(i, n int) string {
	return fmt.Sprintf(`,{"type":"function_call","call_id":"call_old%04d","name":"read_file","arguments":"{\"path\":\"./src/part%04d.go\"}"},`+
		`{"type":"function_call_output","call_id":"call_old%04d","output":"%s"}`, i, i, i, strings.Repeat(fileLine, n/len(fileLine)))
}
