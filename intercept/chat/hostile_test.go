package chat

import "strings"

// Answers that are written by hand: what servers have been seen to send, and
// what somebody would send who wants a call to slip by. They seed the fuzzers.

var (
	finalWord    = strings.ReplaceAll(role+event(`{"content":"Very well."}`, "null")+event(`{}`, "stop")+usage+done, `"c1"`, `"c2"`)
	legacyStream = role + event(`{"function_call":{"name":"bash","arguments":""}}`, "null") + event(`{"function_call":{"arguments":"{}"}}`, "null") + event(`{}`, "function_call") + done
)

// data renders one event with any payload.
func data(payload string) string { return "data: " + payload + "\n\n" }

// whole renders a whole answer with one message.
func whole(message, finish string) string {
	return `{"id":"c1","object":"chat.completion","created":7,"model":"m1","choices":[{"index":0,"message":` + message + `,"finish_reason":"` + finish + `"}],"usage":{"total_tokens":5}}`
}

const (
	aCall    = `{"index":0,"id":"call_a","type":"function","function":{"name":"bash","arguments":"{}"}}`
	aChoice  = `{"index":0,"delta":{"tool_calls":[` + aCall + `]}}`
	aLegacy  = `{"name":"rm","arguments":"{}"}`
	hostileC = `{"choices":[` + aChoice + `]}`
)

var hostile = []string{
	cutCall(functionOpening, functionPiece, `{\"x\":\"A<`, `>B\"}`), cutCall(customOpening, customPiece, "A<", "B"),
	listed, two, legacyStream, finalWord,
	strings.ReplaceAll(listed, "\n", "\r\n"),
	strings.ReplaceAll(listed, "\n", "\r"),
	strings.ReplaceAll(listed, "data: ", "data:"),
	strings.ReplaceAll(listed, "data: ", " data: "),
	strings.ReplaceAll(two, "\n\n", "\n"),
	"\xef\xbb\xbf" + listed, "\n \n" + listed, ": x\n\n" + listed, listed + "\n\n",
	strings.TrimSuffix(listed, "\n\n"), strings.TrimSuffix(listed, done),
	role + opening(0, "call_a", "bash", "{}") + strings.TrimSuffix(speech, "\n\n"),
	role + opening(0, "", "a", `{}`) + opening(0, "", "b", `{}`) + finish + done,
	role + opening(1, "x", "a", `{}`) + opening(3, "y", "b", `{}`) + finish + done,
	role + opening(0, "x", "a", ``) + opening(1, "y", "b", ``) + more(0, `{"a":1}`) + more(1, `{"b":2}`) + finish + done,
	role + opening(0, "x", "a", `{`) + more(1, `}`) + finish + done,
	role + event(`{}`, "stop") + opening(0, "x", "a", `{}`) + finish + done,
	event(`{"content":"a","tool_calls":[`+aCall+`]}`, "tool_calls") + done,
	event(`{"tool_calls":[`+aCall+`],"function_call":`+aLegacy+`}`, "tool_calls") + done,
	event(`{"content":"x","function_call":`+aLegacy+`,"tool_calls":[`+aCall+`]}`, "tool_calls") + done,
	event(`{"tool\u005fcalls":[`+aCall+`],"content":"x"}`, "tool_calls") + done,
	data(`{"id":"c1","choices":[{"index":0,"delta":{"tool_calls":[` + aCall + `]},"message":{"tool_calls":[` + aCall + `]}}]}`),
	data(`{"id":"c1","choices":[` + aChoice + `,` + aChoice + `]}`),
	data(`{"id":"c1","choices":[{"index":1,"delta":{"content":"a"}},{"index":0,"delta":{"tool_calls":[` + aCall + `]}}]}`),
	data(`{"choices":[{"logprobs":`+hostileC+`}]}`) + done,
	data(`{"usage":` + hostileC + `}`), data(`{"id":` + hostileC + `}`), data(`{"error":` + hostileC + `}`),
	"event: data: " + hostileC + "\n\n", "id: data: " + hostileC + "\n\n", ": data: " + hostileC + "\n\n", "retry:" + hostileC + "\n\n",
	"data: {\"choices\":[{\"logprobs\":\ndata: " + hostileC + "\ndata: }]}\n\n",
	"data:\n " + hostileC + "\n\n", hostileC + "\n\n", "data: {}data: " + hostileC + "\n\n",
	data(`[`+hostileC+`]`) + data(`"x"`) + data(``) + data(`{"type":"ping"}`),
	role + opening(0, "x", "a", `{}`) + data(`{"error":"boom"}`) + finish,
	whole(`{"role":"assistant","content":"Look.","tool_calls":[`+aCall+`]}`, "tool_calls"),
	whole(`{"role":"assistant","content":null,"function_call":`+aLegacy+`,"tool_calls":[`+aCall+`]}`, "tool_calls"),
	whole(`{"role":"assistant","content":"Hi."}`, "stop"),
	"\xef\xbb\xbf" + whole(`{"content":"Hi."}`, "stop"), "\n\n  " + whole(`{"content":"Hi."}`, "stop"),
	`{"choices":[{"index":0,"message":{"tool_calls":[` + aCall + `]}},{"index":0,"message":{"tool_calls":[{"id":"b","function":{"name":"rm","arguments":{"x":1}}}]}}]}`,
	`{"choices":[` + aChoice + `]}`, `[` + hostileC + `]`, `{"error":{"message":"x"}}`, "<html>",
	spoken, role + event(`{"audio":{"id":`+hostileC+`}}`, "null"), role + speaks("audio_1", "a b") + event(`{"audio":{"tool_calls":[`+aCall+`]}}`, "null") + end,
}
