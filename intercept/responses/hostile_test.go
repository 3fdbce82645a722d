package responses

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
)

// Answers that are written by hand: what servers have been seen to send, and
// what somebody would send who wants a call to slip by. They seed the fuzzers.

// finalWord is an answer that needs no more.
var finalWord = stream("resp_2", message("msg_2", "Very well."))

// data renders one event without a name, with any payload.
func data(payload string) string { return "data: " + payload + "\n\n" }

// begun is the beginning of a stream.
func begun() string { return newScript("resp_1").begin().out.String() }

// unnamed is a stream without the names of its events.
func unnamed(stream string) string {
	var b strings.Builder
	for line := range strings.Lines(stream) {
		if !strings.HasPrefix(line, "event:") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// unnumbered is a stream without the numbers of its events.
func unnumbered(items ...string) string {
	s := newScript("resp_1")
	s.partial = true
	s.begin()
	for _, item := range items {
		s.item(item)
	}
	return s.end()
}

var (
	aCall    = function("a", "bash", ls)
	hostileC = `{"type":"response.output_item.done","output_index":0,"item":` + aCall + `}`
	unknown  = `{"type":"browser_call","id":"bc_1","call_id":"call_x","status":"completed","action":{"type":"goto","url":"u"}}`
	every    = []string{reasoning("rs_1"), speech, aCall, custom, local, shell, patch, computer, search, approval, web}
)

var hostile = []string{
	cutItem(cutFunction, "A😀D", `A\ud83d`, `\ude00D`), cutItem(cutCustom, "A\uFFFDD", `A\ud83d`, "D"),
	listed, two, finalWord, stream("resp_1", every...), whole("resp_1", every...), unstored(listed), unnumbered(every...),
	strings.ReplaceAll(listed, "\n", "\r\n"),
	strings.ReplaceAll(listed, "\n", "\r"),
	strings.ReplaceAll(listed, "data: ", "data:"),
	strings.ReplaceAll(listed, "data: ", " data: "),
	strings.ReplaceAll(two, "\n\n", "\n"),
	unnamed(listed), unnamed(strings.ReplaceAll(two, "\n\n", "\n")),
	"\xef\xbb\xbf" + listed, "\n \n" + listed, ": x\n\n" + listed, listed + "\n\n", listed + done, strings.ReplaceAll(two, "\n\n", "\n\n: x\n\n"),
	strings.TrimSuffix(listed, "\n\n"), listed[:strings.LastIndex(listed, "event:")], strings.ReplaceAll(two, `"output":[{`, `"output":[],"x":[{`),
	strings.ReplaceAll(two, `"output_index":1`, `"output_index":0`), strings.ReplaceAll(two, `"output_index":1`, `"output_index":7`), strings.ReplaceAll(two, `,"output_index":0`, ""),
	strings.ReplaceAll(two, "fc_b", "fc_a"), strings.ReplaceAll(two, "call_b", "call_a"), strings.ReplaceAll(listed, `"call_id":"call_a",`, ""),
	strings.Replace(two, `"item_id":"fc_a"`, `"item_id":"fc_b"`, 1), strings.Replace(two, `"item_id":"fc_a"`, `"item_id":"other"`, 1),
	strings.Replace(listed, `"name":"bash"}}`, `"name":"rm"}}`, 1), strings.Replace(listed, `"completed","arguments":"{`, `"incomplete","arguments":"{`, -1),
	strings.Replace(listed, "response.completed", "response.incomplete", -1), strings.Replace(listed, "response.completed", "response.failed", -1),
	strings.Replace(listed, `"status":"completed","error"`, `"status":"cancelled","error"`, -1), strings.Replace(two, `"type":"response.completed"`, `"type":"response.in_progress"`, 1),
	stream("resp_1", aCall, unknown), whole("resp_1", unknown), stream("resp_1", strings.Replace(unknown, "browser_call", "thing", 1)),
	begun() + data(hostileC), begun() + data(`{"type":"response.completed","response":`+whole("resp_1", aCall)+`}`), data(`{"type":"response.completed","response":` + whole("resp_1", aCall) + `}`),
	begun() + data(`{"type":"response.function_call_arguments.done","output_index":0,"item_id":"fc_a","arguments":"{}","name":"bash"}`),
	begun() + data(`{"type":"error","code":"x","message":"boom"}`), begun() + data(`{"type":"error","error":`+hostileC+`}`),
	listed + listed, listed + data(hostileC), finalWord + data(hostileC), strings.Replace(listed, `"tools":[`, `"tools":[`+aCall+",", 1),
	data(`{"type":"keepalive"}`) + listed, data(`{"type":"response.created","response":` + whole("resp_1", aCall) + `}`),
	"event: data: " + hostileC + "\n\n", "id: data: " + hostileC + "\n\n", ": data: " + hostileC + "\n\n", "retry:" + hostileC + "\n\n",
	"data: {\"type\":\"response.output_item.done\",\ndata: \"output_index\":0,\"item\":" + aCall + "}\n\n",
	"data:\n " + hostileC + "\n\n", hostileC + "\n\n", "data: {}data: " + hostileC + "\n\n",
	data(strings.Replace(hostileC, `"type":"response`, `"ty\u0070e":"response`, 1)), data(`[`+hostileC+`]`) + data(`"x"`) + data(``) + data(`{"type":"ping"}`),
	data(strings.Replace(hostileC, `"item"`, `"Item"`, 1)), data(strings.Replace(hostileC, `"function_call"`, `"Function_Call"`, 1)),
	data(`{"type":"response.output_text.delta","output_index":0,"item":` + aCall + `}`), data(`{"type":"x","usage":` + hostileC + `}`), data(`{"error":` + hostileC + `}`),
	data(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"bash","arguments":"{}"}}]}}]}`),
	data(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"bash","input":{}}}`),
	whole("resp_1", speech), whole("resp_1"), "\xef\xbb\xbf" + whole("resp_1", speech), "\n\n  " + whole("resp_1", aCall, strings.ReplaceAll(aCall, "bash", "rm")),
	strings.Replace(whole("resp_1", aCall), `"completed","error"`, `"in_progress","error"`, 1), strings.Replace(whole("resp_1", speech), `"id":"msg_1"`, `"id":"msg_1","x":[`+aCall+`]`, 1),
	`[` + whole("resp_1", aCall) + `]`, aCall, hostileC, `{"error":{"message":"x"}}`, `{"error":{},"output":[` + aCall + `]}`, "<html>",
}

const done = "data: [DONE]\n\n"

// An item that is no call to this API, and could be one to a lenient client, is not
// released or is held as a call.
func TestCallsInDisguise(t *testing.T) {
	for _, body := range hostile {
		for _, n := range []int{1, 1 << 20} {
			p := newPlayer(t, asked(request1), n, intercept.Limits{})
			_ = p.Feed(body)
			if found := leak([]byte(p.Got.String())); found != "" {
				t.Errorf("%.200q passed before any ruling, of\n%s", found, body)
			}
		}
	}
}
