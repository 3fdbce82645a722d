package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// shape is the scripted upstream's reaction to one request. The model name of the request carries it, so that every hop passes it on.
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
	shapeAsked     shape = "asked"     // as held, with a tool that all policies ask about; text the second time
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

// calls reports whether an answer of the shape ends in a tool call.
func (s shape) calls() bool {
	return s == shapeTool || s == shapeSplitTool || s == shapeHeld || s == shapeHeldWhole || s == shapeAsked
}

// whole reports whether an answer of the shape is not a stream.
func (s shape) whole() bool { return s == shapeWhole || s == shapeHeldWhole }

// script is the answer to one request: what the agent must see, and what the upstream sends.
type script struct {
	shape   shape
	dialect *dialect
	events  int        // SSE events of the stream; 0 for a whole answer
	body    []byte     // what upstream sends, and the agent must see, byte for byte, where the hop renders no calls
	forms   []expected // all forms in which the agent may see it
	callAt  int        // offset in body of the first byte that belongs to a tool call; len(body) without one
	wire    []byte     // the response as sent: head, and one HTTP chunk per event
	ends    []int      // offsets in wire after each event; the last is len(wire)

	bodySeeds, wireSeeds, wireStamps []int
}

// newScript writes the answer of a shape in a dialect; events counts its SSE events (in chat without [DONE]) and means nothing for
// whole answers.
func newScript(d *dialect, s shape, events int) *script {
	sc := &script{shape: s, dialect: d}
	if s.whole() {
		sc.writeWhole(d.whole(s.calls()))
	} else {
		list := d.stream(events, s.calls(), s == shapeOpen)
		if s == shapeAsked {
			for i := range list {
				list[i] = strings.ReplaceAll(list[i], "read_file", "deploy")
			}
		}
		sc.events = events
		sc.writeStream(list)
	}
	if sc.callAt = bytes.Index(sc.body, []byte(d.callMark)); sc.callAt < 0 {
		sc.callAt = len(sc.body)
	} else if sc.events > 0 {
		sc.callAt = bytes.LastIndex(sc.body[:sc.callAt], []byte("\n\n")) + 2
	}
	sc.bodySeeds = marks(sc.body, seedField)
	sc.forms = []expected{{sc.body, sc.bodySeeds}}
	if s.calls() {
		if err := sc.render(sc.body); err != nil {
			panic(err) // the script is the benchmark's own
		}
	}
	sc.wireSeeds = marks(sc.wire, seedField)
	sc.wireStamps = marks(sc.wire, stampField)
	return sc
}

// words end the text of the events: of several lengths, with what a JSON parser must unescape.
var words = []string{
	" the build fails in", ` \"main.go\"`, " because the import path", " of the second module is", ` wrong:\n\n`, ` caf\u00e9 ünïcode`,
	" I will read the file", " before I change", " anything, then run", " the tests again", ` (see {\"a\": 1})`, " and report.",
}

// textPiece is the text of the i-th text event, as the contents of a JSON string.
func textPiece(i int) string {
	return fmt.Sprintf(" %06d %s%s", i+1, stampField, words[i%len(words)])
}

// argumentPieces are the arguments of a tool call in the pieces in which they stream, as contents of JSON strings.
func argumentPieces() []string {
	var out []string
	for i := range callEvents - 1 {
		piece := fmt.Sprintf("src/part%02d/", i)
		switch i {
		case 0:
			piece = `{\"path\":\"./`
		case callEvents - 2:
			piece = `main.go\"}`
		}
		out = append(out, piece)
	}
	return out
}

// wholeText is the text of a whole answer.
var wholeText = strings.Repeat("The build fails because the import path of the second module is wrong. ", 16)

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

func (sc *script) writeWhole(body string) {
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
