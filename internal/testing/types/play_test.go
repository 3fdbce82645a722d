package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept/chat"
	"github.com/heldcall/heldcall/intercept/messages"
	"github.com/heldcall/heldcall/intercept/responses"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// newStage is the stage of a dialect, whose requests offer some tools.
func newStage(dialect, tools string) *stage {
	switch dialect {
	case "responses":
		return &stage{responses.Dialect{}, "/responses", tools, `{"model":"m","stream":true`, "input", (*stage).responsesActs}
	case "chat":
		return &stage{chat.Dialect{}, "/chat/completions", tools, `{"model":"m","stream":true`, "messages", (*stage).chatActs}
	}
	return &stage{messages.Dialect{}, "/messages", tools, `{"model":"m","max_tokens":1,"stream":true`, "messages", (*stage).messagesActs}
}

// request is the act of a thing that an agent sends: there is no answer.
func (s *stage) request(r row, sample string) map[string]act {
	request := s.begin
	switch r.kind {
	case "input":
		request += `,"` + s.history + `":[` + sample + `]}`
	case "tool":
		request += `,"` + s.history + `":[],"tools":[` + sample + `]}`
	case "field":
		request = s.begin
		fields := gjson.Parse(sample)
		if !fields.Get(s.history).Exists() {
			request += `,"` + s.history + `":[]`
		}
		fields.ForEach(func(name, value gjson.Result) bool {
			request, _ = sjson.SetRaw(request+"}", name.Str, value.Raw)
			return true
		})
	}
	return map[string]act{"sent": {stage: s, request: request}}
}

// ask is a request that offers the agent's tools.
func (s *stage) ask() string { return s.begin + `,"` + s.history + `":[],"tools":[` + s.tools + `]}` }

func quote(text string) string {
	quoted, _ := json.Marshal(text)
	return string(quoted)
}

// lost is the first field of a call that what the agent got has not, "" for none.
func lost(item, got string) (missing string) {
	gjson.Parse(item).ForEach(func(name, value gjson.Result) bool {
		field := name.Raw + ":" + value.Raw
		if name.Str != "status" && !strings.Contains(got, field) {
			missing = field
		}
		return missing == ""
	})
	return missing
}

func (s *stage) responsesActs(r row, sample string) map[string]act {
	number := 0
	event := func(typ, fields string) string {
		number++
		return fmt.Sprintf("event: %s\ndata: {\"type\":%q,\"sequence_number\":%d,%s}\n\n", typ, typ, number, fields)
	}
	response := func(status, output string) string {
		return `{"id":"resp_1","object":"response","created_at":7,"status":"` + status + `","model":"m","output":[` + output + `],"tools":[]}`
	}
	created := event("response.created", `"response":`+response("in_progress", ""))
	completed := func(output string) string {
		return event("response.completed", `"response":`+response("completed", output))
	}
	a := act{stage: s, request: s.ask(), before: created, item: sample}
	switch r.kind {
	case "block":
		sample = `{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[` + sample + `]}`
		fallthrough
	case "item":
		whole := a
		whole.before, whole.thing = "", response("completed", sample)
		whole.request = strings.Replace(a.request, `"stream":true`, `"stream":false`, 1)
		a.thing = event("response.output_item.added", `"output_index":0,"item":`+sample) + event("response.output_item.done", `"output_index":0,"item":`+sample) + completed(sample)
		return map[string]act{"streamed": a, "whole": whole}
	case "event":
		a.thing = fmt.Sprintf("event: %s\ndata: %s\n\n", r.name, sample)
		if r.name == "response.created" {
			a.before = ""
		}
		for beginning, item := range callsOfEvents {
			if strings.HasPrefix(r.name, beginning) {
				a.item = "" // the parts do not make up the item
				a.before += event("response.output_item.added", `"output_index":0,"item":`+item)
				a.ending = event("response.output_item.done", `"output_index":0,"item":`+item) + completed(item)
			}
		}
		return map[string]act{"streamed": a}
	}
	return s.request(r, sample)
}

// callsOfEvents are the calls whose input comes in events of a type that begins so.
var callsOfEvents = map[string]string{
	"response.function_call_arguments": `{"type":"function_call","id":"fc_1","call_id":"c","name":"some name","arguments":"","status":"in_progress"}`,
	"response.custom_tool_call_input":  `{"type":"custom_tool_call","id":"ctc_1","call_id":"c","name":"some name","input":"","status":"in_progress"}`,
	"response.shell_call_command":      `{"type":"shell_call","id":"sh_1","call_id":"c","action":{"commands":[]},"status":"in_progress"}`,
	"response.apply_patch_call":        `{"type":"apply_patch_call","id":"apc_1","call_id":"c","operation":{"type":"create_file","path":"a","diff":""},"status":"in_progress"}`,
}

func (s *stage) chatActs(r row, sample string) map[string]act {
	if r.kind == "call" {
		sample = `{"tool_calls":[` + sample + `]}`
	}
	if r.kind != "call" && r.kind != "member" {
		return s.request(r, sample)
	}
	message := strings.Replace(sample, "{", `{"role":"assistant",`, 1)
	if r.name == "role" {
		message = sample
	}
	chunk := func(object, place, message, finish string) string {
		return `{"id":"c","object":"` + object + `","created":1,"model":"m","choices":[{"index":0,"` + place + `":` + message + `,"finish_reason":` + finish + `}]}`
	}
	reason := `"stop"`
	if strings.Contains(sample, "_call") {
		reason = `"tool_calls"`
	}
	streamed := act{stage: s, request: s.ask(), thing: "data: " + chunk("chat.completion.chunk", "delta", message, "null") + "\n\n"}
	streamed.ending = "data: " + chunk("chat.completion.chunk", "delta", "{}", reason) + "\n\ndata: [DONE]\n\n"
	whole := act{stage: s, request: strings.Replace(s.ask(), `"stream":true`, `"stream":false`, 1), thing: chunk("chat.completion", "message", message, reason)}
	return map[string]act{"streamed": streamed, "whole": whole}
}

func (s *stage) messagesActs(r row, sample string) map[string]act {
	event := func(typ, fields string) string {
		return fmt.Sprintf("event: %s\ndata: {\"type\":%q%s}\n\n", typ, typ, fields)
	}
	message := func(content, stop string) string {
		return `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[` + content + `],"stop_reason":` + stop + `,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}`
	}
	block := func(block string) string {
		return event("content_block_start", `,"index":0,"content_block":`+block)
	}
	started, stopped := event("message_start", `,"message":`+message("", "null")), event("content_block_stop", `,"index":0`)
	reason := "end_turn"
	if r.name == "tool_use" || r.name == "input_json_delta" {
		reason = "tool_use"
	}
	end := event("message_delta", `,"delta":{"stop_reason":"`+reason+`","stop_sequence":null},"usage":{"output_tokens":1}`) + event("message_stop", "")
	a := act{stage: s, request: s.ask(), before: started, item: sample}
	switch r.kind {
	case "block":
		whole := a
		whole.request = strings.Replace(a.request, `"stream":true`, `"stream":false`, 1)
		whole.before, whole.thing = "", message(sample, `"`+reason+`"`)
		a.thing, a.ending = block(sample), stopped+end
		return map[string]act{"streamed": a, "whole": whole}
	case "delta":
		a.before += block(blocksOfDeltas[r.name])
		a.thing, a.ending, a.item = event("content_block_delta", `,"index":0,"delta":`+sample), stopped+end, ""
		return map[string]act{"streamed": a}
	case "event":
		a.thing = fmt.Sprintf("event: %s\ndata: %s\n\n", r.name, sample)
		parts := []string{started, block(`{"type":"text","text":""}`), "", stopped, end}
		at := max(slices.Index([]string{"message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop"}, r.name), 0)
		a.before, a.ending = strings.Join(parts[:min(at, 4)], ""), strings.Join(parts[min(at+1, 5):], "")
		return map[string]act{"streamed": a}
	}
	if r.kind == "input" {
		sample = `{"role":"` + strings.NewReplacer("agent", "assistant", "nobody", "user", "provider", "assistant").Replace(r.runs) + `","content":[` + sample + `]}`
	}
	return s.request(r, sample)
}

// blocksOfDeltas are the blocks that deltas of a type add to.
var blocksOfDeltas = map[string]string{
	"text_delta": `{"type":"text","text":""}`, "citations_delta": `{"type":"text","text":"","citations":[]}`,
	"thinking_delta": `{"type":"thinking","thinking":"","signature":""}`, "signature_delta": `{"type":"thinking","thinking":"","signature":""}`,
	"input_json_delta": `{"type":"tool_use","id":"toolu_1","name":"some name","input":{}}`, "compaction_delta": `{"type":"compaction","content":null}`,
}
