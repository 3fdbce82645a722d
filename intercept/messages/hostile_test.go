package messages

import "strings"

// Answers that are written by hand: what servers have been seen to send, and
// what somebody would send who wants a call to slip by. They seed the fuzzers.

// data renders one event without a name, with any payload.
func data(payload string) string { return "data: " + payload + "\n\n" }

// whole renders a whole answer.
func whole(content, stop string) string {
	return `{"id":"msg_1","type":"message","role":"assistant","model":"m1","content":[` + content + `],"stop_reason":"` + stop + `","stop_sequence":null,"usage":{"input_tokens":10,"output_tokens":7}}`
}

const (
	aCall    = `{"type":"tool_use","id":"toolu_a","name":"bash","input":{"command":"ls"}}`
	hostileC = `{"type":"content_block_start","index":0,"content_block":` + aCall + `}`
	hosted   = `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`
	result   = `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","caller":{"type":"direct"},"content":[{"type":"web_search_result","url":"u","encrypted_content":"e"}]}`
)

var hostile = []string{
	listed, two, finalWord, cutUse(`{"x":"A<`, `>B"}`), cutUse(`{"x":"A<`, `B"}`),
	strings.ReplaceAll(listed, "\n", "\r\n"),
	strings.ReplaceAll(listed, "\n", "\r"),
	strings.ReplaceAll(listed, "data: ", "data:"),
	strings.ReplaceAll(listed, "data: ", " data: "),
	strings.ReplaceAll(two, "\n\n", "\n"),
	unnamed(listed), unnamed(strings.ReplaceAll(two, "\n\n", "\n")),
	started("msg_1") + unnamed(speech) + one + ended("tool_use"),
	"\xef\xbb\xbf" + listed, "\n \n" + listed, ": x\n\n" + listed, listed + "\n\n", listed + done,
	strings.TrimSuffix(listed, "\n\n"), strings.TrimSuffix(listed, stopped), strings.TrimSuffix(listed, ended("tool_use")),
	started("msg_1") + use(0, "", "a") + use(1, "", "b", "") + ended("tool_use"),
	started("msg_1") + use(1, "x", "a", "{}") + use(3, "x", "b", "{}") + ended("tool_use"),
	started("msg_1") + begun(0, "x", "a") + begun(1, "y", "b") + more(0, `{"a":1}`) + more(1, `{"b":2}`) + closed(0) + closed(1) + ended("tool_use"),
	started("msg_1") + begun(0, "x", "a") + begun(0, "y", "b") + more(0, `{"a":1}`) + closed(0) + ended("tool_use"),
	started("msg_1") + begun(0, "x", "a") + more(0, `{"a":`) + started("msg_2") + begun(0, "y", "b") + more(0, `1}`) + closed(0) + ended("tool_use"),
	started("msg_1") + thought(0, "hm", "s1") + begun(1, "x", "a") + started("msg_2") + thought(0, "ha", "s2") + use(1, "y", "b", `{"b":2}`) + ended("tool_use"),
	started("msg_1") + opened(0, `{"type":"text","text":"a"}`) + word(0, "b") + started("msg_2") + text(0, "c") + use(1, "y", "b") + ended("tool_use"),
	started("msg_1") + thought(0, "hm", "s") + opened(1, `{"type":"redacted_thinking","data":"d"}`) + closed(1) + use(2, "x", "a") + ended("tool_use"),
	started("msg_1") + opened(0, hosted) + more(0, `{"query":`) + more(0, `"x"}`) + closed(0) + opened(1, result) + closed(1) + use(2, "x", "a") + ended("pause_turn"),
	started("msg_1") + opened(0, aCall) + closed(0) + ended("tool_use"),
	started("msg_1") + opened(0, aCall) + more(0, `{"b":1}`) + closed(0) + ended("tool_use"),
	strings.Replace(started("msg_1"), `"content":[]`, `"content":[{"type":"text","text":"x"},`+aCall+`]`, 1) + use(2, "y", "b") + ended("tool_use"),
	started("msg_1") + use(0, "x", "a", `{"a":1`) + ended("max_tokens"),
	started("msg_1") + use(0, "x", "a") + ended("end_turn") + use(1, "y", "b") + done,
	started("msg_1") + begun(0, "x", "a") + more(0, "{}") + sent("error", `"error":{"type":"overloaded_error","message":"x"}`) + closed(0),
	started("msg_1") + speech + ended("end_turn") + listed,
	begun(0, "x", "a") + closed(0) + stopped,
	speech + listed, opened(2, `{"type":"redacted_thinking","data":"d"}`) + strings.Replace(started("msg_1"), `"content":[]`, `"content":[`+aCall+`]`, 1),
	word(0, "stray") + closed(4) + listed,
	sent("ping", `"content_block":`+aCall), "event: ping\ndata: " + hostileC + "\n\n", "event: content_block_start\ndata: " + strings.Replace(hostileC, "content_block_start", "ping", 1) + "\n\n",
	"event: data: " + hostileC + "\n\n", "id: data: " + hostileC + "\n\n", ": data: " + hostileC + "\n\n", "retry:" + hostileC + "\n\n",
	"event: content_block_start\ndata: {\"index\":0,\"content_block\":" + aCall + "}\n\n",
	"event: ping\nevent: content_block_start\ndata: {\"index\":0,\"content_block\":" + aCall + "}\n\n",
	"data: {\"type\":\"content_block_start\",\"index\":0,\ndata: \"content_block\":" + aCall + "}\n\n",
	"data:\n " + hostileC + "\n\n", hostileC + "\n\n", "data: {}data: " + hostileC + "\n\n",
	data(strings.Replace(hostileC, `"type":"content`, `"ty\u0070e":"content`, 1)), data(`[`+hostileC+`]`) + data(`"x"`) + data(``) + data(`{"type":"ping"}`),
	data(strings.Replace(hostileC, "content_block\"", "Content_Block\"", 1)), data(`{"type":"x","usage":` + hostileC + `}`), data(`{"error":` + hostileC + `}`),
	data(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"bash","arguments":"{}"}}]}}]}`),
	whole(`{"type":"text","text":"Look."},`+aCall, "tool_use"), whole(`{"type":"text","text":"Hi."}`, "end_turn"), whole("", "end_turn"),
	"\xef\xbb\xbf" + whole(`{"type":"text","text":"Hi."}`, "stop"), "\n\n  " + whole(aCall+","+strings.Replace(aCall, "bash", "rm", 1), "tool_use"),
	`[` + whole(aCall, "tool_use") + `]`, `{"type":"error","error":{"type":"api_error","message":"x"}}`, `{"type":"error","error":{},"content":[` + aCall + `]}`, "<html>",
}

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
