package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// shape says what the scripted upstream does with one request. The model name of the request carries it, so that every hop passes it on.
type shape string

const (
	shapeWhole     shape = "whole"     // a whole JSON answer
	shapeCoalesced shape = "coalesced" // a stream, handed to the kernel in writes of 16 KiB
	shapePackets   shape = "packets"   // a stream, one event per write and packet
	shapeTool      shape = "tool"      // as coalesced, with a tool call at the end
	shapeSplit     shape = "split"     // a stream, cut into writes at random bytes
	shapeSplitTool shape = "splittool" // the same, with a tool call at the end
	shapePaced     shape = "paced"     // a stream, one event each 5 ms, each with the time it was sent
	shapeOpen      shape = "open"      // a few events, then silence until the other side closes
	shapeHeld      shape = "held"      // a little text, then a tool call: a short stream
	shapeHeldWhole shape = "heldwhole" // a whole JSON answer that calls a tool
)

// Fields of fixed width that are written over in place for each answer.
const (
	seedField  = "9999999999"          // the number of the exchange
	stampField = "8888888888888888888" // the time of sending, ns since 1970
	seedWidth  = len(seedField)
	stampWidth = len(stampField)
	firstSeed  = 1_000_000_000 // so that every seed has ten digits
)

// callEvents is how many events of a stream a tool call takes: its head and its argument fragments.
const callEvents = 21

// script is the answer to one request: what the agent must see, and what the upstream sends.
type script struct {
	shape  shape
	events int    // SSE chunks, the closing [DONE] not counted; 0 for a whole answer
	body   []byte // what the agent must see, byte for byte
	callAt int    // offset in body of the first byte that belongs to a tool call; len(body) without one
	wire   []byte // the response as sent: head, and one HTTP chunk per event
	ends   []int  // offsets in wire after each event; the last is len(wire)

	bodySeeds, wireSeeds, wireStamps []int
}

// newScript writes the answer of a shape; events counts its SSE chunks and means nothing for whole answers.
func newScript(s shape, events int) *script {
	sc := &script{shape: s}
	switch s {
	case shapeWhole, shapeHeldWhole:
		sc.writeWhole(s == shapeHeldWhole)
	default:
		sc.events = events
		sc.writeStream(streamEvents(s, events))
	}
	if sc.callAt = bytes.Index(sc.body, []byte(`"tool_calls":[{`)); sc.callAt < 0 {
		sc.callAt = len(sc.body)
	} else if sc.events > 0 {
		sc.callAt = bytes.LastIndex(sc.body[:sc.callAt], []byte("data: "))
	}
	sc.bodySeeds = marks(sc.body, seedField)
	sc.wireSeeds = marks(sc.wire, seedField)
	sc.wireStamps = marks(sc.wire, stampField)
	return sc
}

// streamEvents renders the SSE events of a stream, [DONE] included.
func streamEvents(s shape, events int) []string {
	calls := s == shapeTool || s == shapeSplitTool || s == shapeHeld
	text, finish := events-2, "stop"
	if calls {
		text, finish = events-2-callEvents, "tool_calls"
	}
	if s == shapeOpen {
		text = events - 1
	}
	out := []string{sseEvent(`{"role":"assistant","content":"","refusal":null}`, "null")}
	for i := range text {
		out = append(out, sseEvent(fmt.Sprintf(`{"content":" %06d %s%s"}`, i+1, stampField, words[i%len(words)]), "null"))
	}
	if s == shapeOpen {
		return out
	}
	if calls {
		out = append(out, callFragments()...)
	}
	out = append(out, sseEvent(`{}`, strconv.Quote(finish)))
	return append(out, "data: [DONE]\n\n")
}

// words end the text of the events: of several lengths, with what a JSON parser must unescape.
var words = []string{
	" the build fails in", ` \"main.go\"`, " because the import path", " of the second module is", ` wrong:\n\n`, ` caf\u00e9 ünïcode`,
	" I will read the file", " before I change", " anything, then run", " the tests again", ` (see {\"a\": 1})`, " and report.",
}

// sseEvent renders one chunk of a stream as providers send it.
func sseEvent(delta, finish string) string {
	return `data: {"id":"chatcmpl-` + seedField + `kQ7vXw","object":"chat.completion.chunk","created":1795000000,"model":"gpt-bench-1",` +
		`"system_fingerprint":"fp_3bbd9e2b1c","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + "}]}\n\n"
}

// callFragments renders the events of one tool call: its head, then its arguments in pieces.
func callFragments() []string {
	out := []string{sseEvent(`{"tool_calls":[{"index":0,"id":"call_`+seedField+
		`abcdefghijkl","type":"function","function":{"name":"read_file","arguments":""}}]}`, "null")}
	for i := range callEvents - 1 {
		piece := fmt.Sprintf("src/part%02d/", i)
		switch i {
		case 0:
			piece = `{\"path\":\"./`
		case callEvents - 2:
			piece = `main.go\"}`
		}
		out = append(out, sseEvent(`{"tool_calls":[{"index":0,"function":{"arguments":"`+piece+`"}}]}`, "null"))
	}
	return out
}

// responseHead is what providers answer with besides the framing.
const responseHead = "HTTP/1.1 200 OK\r\nDate: Sat, 21 Nov 2026 09:00:00 GMT\r\nContent-Type: %s\r\nopenai-processing-ms: 312\r\n" +
	"openai-version: 2020-10-01\r\nx-ratelimit-limit-requests: 10000\r\nx-ratelimit-remaining-requests: 9999\r\n" +
	"x-request-id: req_7f3a9c5e1b2d4f608192a3b4c5d6e7f8\r\n%s\r\n\r\n"

func (sc *script) writeStream(events []string) {
	wire := bytes.NewBufferString(fmt.Sprintf(responseHead, "text/event-stream; charset=utf-8", "Transfer-Encoding: chunked"))
	for _, e := range events {
		fmt.Fprintf(wire, "%x\r\n%s\r\n", len(e), e)
		sc.ends = append(sc.ends, wire.Len())
	}
	sc.body = []byte(strings.Join(events, ""))
	if sc.shape != shapeOpen {
		wire.WriteString("0\r\n\r\n")
		sc.ends[len(sc.ends)-1] = wire.Len()
	}
	sc.wire = wire.Bytes()
}

func (sc *script) writeWhole(call bool) {
	content := strings.Repeat("The build fails because the import path of the second module is wrong. ", 16)
	message, finish := `"content":"`+content+`"`, "stop"
	if call {
		message, finish = `"content":null,"tool_calls":[{"id":"call_`+seedField+
			`abcdefghijkl","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"./src/main.go\"}"}}]`, "tool_calls"
	}
	body := `{"id":"chatcmpl-` + seedField + `kQ7vXw","object":"chat.completion","created":1795000000,"model":"gpt-bench-1",` +
		`"choices":[{"index":0,"message":{"role":"assistant",` + message + `,"refusal":null,"annotations":[]},"logprobs":null,"finish_reason":"` +
		finish + `"}],"usage":{"prompt_tokens":412,"completion_tokens":231,"total_tokens":643,"prompt_tokens_details":{"cached_tokens":0}},` +
		`"service_tier":"default","system_fingerprint":"fp_3bbd9e2b1c"}`
	head := fmt.Sprintf(responseHead, "application/json", "Content-Length: "+strconv.Itoa(len(body)))
	sc.body, sc.wire = []byte(body), []byte(head+body)
	sc.ends = []int{len(sc.wire)}
}

// marks finds every place of a field in b.
func marks(b []byte, field string) []int {
	var at []int
	for from := 0; ; {
		i := bytes.Index(b[from:], []byte(field))
		if i < 0 {
			return at
		}
		at = append(at, from+i)
		from += i + len(field)
	}
}

// stamp writes n over the fields at the given places; n has as many digits as the fields are wide.
func stamp(b []byte, at []int, n int64) {
	var digits [20]byte
	text := strconv.AppendInt(digits[:0], n, 10)
	for _, i := range at {
		copy(b[i:], text)
	}
}
