//go:build conformance

package conformance_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/heldcall/heldcall/internal/testing/cassettes"
	"github.com/heldcall/heldcall/internal/testing/conformance"
)

// The question that is put into recorded answers, after their calls.
const (
	questionTool = "request_clarification"
	questionID   = "call_of_the_question_Xk9"
	questionArgs = `{"question":"Which harbour is it?"}`
	questionItem = `{"id":"fc_of_the_question_Xk9","type":"function_call","status":"completed","call_id":"` + questionID + `","name":"` + questionTool + `","arguments":%s}`
)

// withQuestion returns a recorded answer in which the model also asks people, or the
// reason why it has no place for a question.
func withQuestion(e cassettes.Exchange) (_ cassettes.Exchange, why string) {
	before := callsOf(e)
	if len(before) == 0 {
		return e, "no call"
	}
	if len(e.RequestBody) > 0 && !offersFunctions(e) {
		return e, "no tools"
	}
	if asksForSeveral(e) {
		return e, "several choices"
	}
	if e.Streamed {
		e.Body = insertEvents(e.Dialect, e.Body)
	} else {
		e.Body = insertWhole(e.Dialect, e.Body)
	}
	isQuestion := func(c *conformance.Call) bool { return c.ID == questionID }
	after := callsOf(e)
	if !slices.ContainsFunc(after, isQuestion) || len(after) != len(before)+1 {
		return e, "no place"
	}
	return e, ""
}

// offersFunctions reports whether the recorded request has tools, beside which heldcall
// offers its own.
func offersFunctions(e cassettes.Exchange) bool {
	return len(gjson.GetBytes(e.RequestBody, "tools").Array()) > 0
}

func insertWhole(d cassettes.Dialect, body []byte) []byte {
	switch d {
	case cassettes.Responses:
		return with(body, "output.-1", fmt.Sprintf(questionItem, quote(questionArgs)))
	case cassettes.Messages:
		return with(body, "content.-1", `{"type":"tool_use","id":"`+questionID+`","name":"`+questionTool+`","input":`+questionArgs+`}`)
	}
	if !gjson.GetBytes(body, "choices.0.message.tool_calls.0").Exists() {
		return body
	}
	return with(body, "choices.0.message.tool_calls.-1", `{"id":"`+questionID+`","type":"function","function":{"name":"`+questionTool+`","arguments":`+quote(questionArgs)+`}}`)
}

// insertEvents puts the events of the question before the one that ends the answer.
func insertEvents(d cassettes.Dialect, body []byte) []byte {
	at := 0
	for line := range bytes.Lines(body) {
		data, isData := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data:"))
		event := gjson.ParseBytes(data)
		if !isData || !endsAnswer(d, event) {
			at += len(line)
			continue
		}
		end := at + len(line)
		begin := bytes.LastIndex(body[:at], []byte("\n\n")) + 2
		if crlf := bytes.LastIndex(body[:at], []byte("\r\n\r\n")) + 4; begin == 1 || crlf > begin {
			begin = crlf
		}
		events, ending := questionEvents(d, event, body[:begin])
		var all strings.Builder
		for _, e := range events {
			if d != cassettes.Chat {
				all.WriteString("event: " + gjson.Get(e, "type").Str + "\n")
			}
			all.WriteString("data: " + e + "\n\n")
		}
		changed := append(slices.Clone(body[:begin]), all.String()...)
		last := bytes.Replace(body[begin:end], data, []byte(" "+ending), 1)
		return append(append(changed, last...), body[end:]...)
	}
	return body
}

// endsAnswer reports whether an event ends an answer: calls come before it.
func endsAnswer(d cassettes.Dialect, event gjson.Result) bool {
	switch d {
	case cassettes.Responses:
		return event.Get("type").Str == "response.completed"
	case cassettes.Messages:
		return event.Get("type").Str == "message_delta"
	}
	choice := event.Get("choices.0")
	return choice.Get("finish_reason").Str != "" && choice.Get("index").Int() == 0 && !choice.Get("delta.tool_calls").Exists()
}

// questionEvents are the events of the question after those in before, and the event that
// ends the answer as it is then.
func questionEvents(d cassettes.Dialect, end gjson.Result, before []byte) (events []string, ending string) {
	choice := conformance.Of(d).Fold(before).First()
	args := quote(questionArgs)
	half := len(questionArgs) / 2
	switch d {
	case cassettes.Responses:
		n, number := len(end.Get("response.output").Array()), end.Get("sequence_number").Int()
		item := fmt.Sprintf(questionItem, args)
		place := fmt.Sprintf(`"item_id":"fc_of_the_question_Xk9","output_index":%d`, n)
		begun := strings.Replace(fmt.Sprintf(questionItem, `""`), "completed", "in_progress", 1)
		for i, e := range []string{
			fmt.Sprintf(`{"type":"response.output_item.added","output_index":%d,"item":%s`, n, begun),
			`{"type":"response.function_call_arguments.delta",` + place + `,"delta":` + quote(questionArgs[:half]),
			`{"type":"response.function_call_arguments.delta",` + place + `,"delta":` + quote(questionArgs[half:]),
			`{"type":"response.function_call_arguments.done",` + place + `,"arguments":` + args,
			fmt.Sprintf(`{"type":"response.output_item.done","output_index":%d,"item":%s`, n, item),
		} {
			if end.Get("sequence_number").Exists() {
				e += fmt.Sprintf(`,"sequence_number":%d`, number+int64(i))
			}
			events = append(events, e+"}")
		}
		closing := with([]byte(end.Raw), "response.output.-1", item)
		if end.Get("sequence_number").Exists() {
			closing = with(closing, "sequence_number", fmt.Sprint(number+int64(len(events))))
		}
		return events, string(closing)
	case cassettes.Messages:
		n := fmt.Sprintf(`"index":%d`, len(choice.Items))
		return []string{
			`{"type":"content_block_start",` + n + `,"content_block":{"type":"tool_use","id":"` + questionID + `","name":"` + questionTool + `","input":{}}}`,
			`{"type":"content_block_delta",` + n + `,"delta":{"type":"input_json_delta","partial_json":` + quote(questionArgs[:half]) + `}}`,
			`{"type":"content_block_delta",` + n + `,"delta":{"type":"input_json_delta","partial_json":` + quote(questionArgs[half:]) + `}}`,
			`{"type":"content_block_stop",` + n + `}`,
		}, end.Raw
	}
	index := 0
	for _, call := range choice.Calls {
		index = max(index, int(call.Index)+1)
	}
	for _, calls := range []string{
		fmt.Sprintf(`[{"index":%d,"id":"%s","type":"function","function":{"name":"%s","arguments":""}}]`, index, questionID, questionTool),
		fmt.Sprintf(`[{"index":%d,"function":{"arguments":%s}}]`, index, quote(questionArgs[:half])),
		fmt.Sprintf(`[{"index":%d,"function":{"arguments":%s}}]`, index, quote(questionArgs[half:])),
	} {
		e := with([]byte(end.Raw), "choices", `[{"index":0,"delta":{"tool_calls":`+calls+`},"finish_reason":null}]`)
		e, err := sjson.DeleteBytes(e, "usage")
		if err != nil {
			panic("internal error: " + err.Error())
		}
		events = append(events, string(e))
	}
	return events, end.Raw
}

// withoutOffer takes the tool that heldcall offers out of a request, and reports whether it
// was there.
func withoutOffer(body []byte) ([]byte, bool) {
	tools := gjson.GetBytes(body, "tools").Array()
	if len(tools) < 2 {
		return body, false
	}
	last := tools[len(tools)-1]
	if last.Get("name").Str+last.Get("function.name").Str != questionTool {
		return body, false
	}
	own := tools[len(tools)-2]
	end := own.Index + len(own.Raw)
	return append(slices.Clone(body[:end]), body[last.Index+len(last.Raw):]...), true
}

// toolCalls are the calls of tools that the agent itself offers.
func (x *trial) toolCalls() []*conformance.Call {
	return slices.DeleteFunc(slices.Clone(x.calls), func(c *conformance.Call) bool { return c.ID == questionID })
}
