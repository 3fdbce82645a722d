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

// promptForm is what the conversation of a request contains after the task.
type promptForm struct {
	size     int    // bytes of the body, which is made as long
	messages int    // of the model and the user in turns, the last the user's; 0 for calls of the agent with the files that they read
	text     string // of the messages, as the contents of a JSON string, again and again
}

// shortPrompt is the one of all workloads that are not about prompts, agentPrompt that of an agent which has read files.
var (
	shortPrompt = promptForm{size: 1500}
	agentPrompt = promptForm{size: 200 << 10}
)

// The texts of long prompts.
const (
	plainText   = "The build of the module fails. "
	escapedText = `\treturn fmt.Errorf(\"caf\u00e9: %w\", err)\n`
)

// sessionField is written over with the number of the connection: each is a conversation of its own.
const sessionField = "7777777777"

// newPrompt writes the request that makes the upstream play a script; events is the length of the stream asked for, 0 for a whole answer.
func newPrompt(d *dialect, s shape, events int, form promptForm, session int64) *prompt {
	var body strings.Builder
	fmt.Fprintf(&body, `{"model":"bench-%s:%s-%d","seed":%s,"stream":%t,`, d.name, s, events, seedField, !s.whole())
	body.WriteString(d.conversation)
	left := func() int { return max(0, form.size-body.Len()-len(d.tail)) }
	for i := 0; form.messages == 0 && left() > 0; i++ {
		body.WriteString(d.turn(i, min(4096, max(0, left()-260))))
	}
	for i := form.messages; i > 0; i-- {
		role := "user"
		if i%2 == 0 {
			role = "assistant"
		}
		const around = 40 // bytes of a message besides its text
		fmt.Fprintf(&body, `,{"role":%q,"content":"%s"}`, role, strings.Repeat(form.text, max(1, (left()/i-around)/len(form.text))))
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
