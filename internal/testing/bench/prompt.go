package main

import (
	"fmt"
	"strings"
)

// prompt is an agent's request: a head, two tools, a conversation. One buffer serves all the requests of one connection.
type prompt struct {
	bytes []byte
	seeds []int
	body  int // offset of the body
}

// sessionField is written over with the number of the connection: each is a conversation of its own.
const sessionField = "7777777777"

// newPrompt writes the request that makes the upstream play a script. The conversation is padded to size bytes; events is the
// length of the stream asked for, 0 for a whole answer.
func newPrompt(d *dialect, s shape, events, size int, session int64) *prompt {
	var body strings.Builder
	fmt.Fprintf(&body, `{"model":"bench-%s:%s-%d","seed":%s,"stream":%t,`, d.name, s, events, seedField, !s.whole())
	body.WriteString(d.conversation)
	for i := 0; body.Len()+len(d.tail) < size; i++ {
		body.WriteString(d.turn(i, min(4096, max(0, size-body.Len()-len(d.tail)-260))))
	}
	body.WriteString(d.tail)
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json\r\n"+
		"Content-Type: application/json\r\nUser-Agent: OpenAI/Python 2.8.1\r\nX-Stainless-Lang: python\r\nX-Stainless-Retry-Count: 0\r\n"+
		"%sContent-Length: %d\r\n\r\n", d.path, d.headers, body.Len())
	p := &prompt{bytes: []byte(head + body.String()), body: len(head)}
	p.seeds = marks(p.bytes, seedField)
	stamp(p.bytes, marks(p.bytes, sessionField), firstSeed+session)
	return p
}

// render gives the request with its seed; it is valid until the next render.
func (p *prompt) render(seed int64) []byte {
	stamp(p.bytes, p.seeds, seed)
	return p.bytes
}
