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
func newPrompt(s shape, events, size int, session int64) *prompt {
	stream := "true"
	if s == shapeWhole || s == shapeHeldWhole {
		stream = "false"
	}
	body := fmt.Sprintf(`{"model":"bench-%s-%d","seed":%s,"stream":%s,"messages":[`+
		`{"role":"system","content":"You are a careful coding agent. Use the tools."},`+
		`{"role":"user","content":"Task %s: find out why the build fails."}`, s, events, seedField, stream, sessionField)
	tail := `],"tools":[` + toolSchema("read_file", "path") + "," + toolSchema("bash", "command") + `],"tool_choice":"auto"}`
	for i := 0; len(body)+len(tail) < size; i++ {
		body += historyTurn(i, min(4096, max(0, size-len(body)-len(tail)-260)))
	}
	body += tail
	head := fmt.Sprintf("POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json\r\n"+
		"Content-Type: application/json\r\nUser-Agent: OpenAI/Python 2.8.1\r\nX-Stainless-Lang: python\r\nX-Stainless-Retry-Count: 0\r\n"+
		"Authorization: Bearer sk-bench\r\nContent-Length: %d\r\n\r\n", len(body))
	p := &prompt{bytes: []byte(head + body), body: len(head)}
	p.seeds = marks(p.bytes, seedField)
	stamp(p.bytes, marks(p.bytes, sessionField), firstSeed+session)
	return p
}

// render gives the request with its seed; it is valid until the next render.
func (p *prompt) render(seed int64) []byte {
	stamp(p.bytes, p.seeds, seed)
	return p.bytes
}

// historyTurn is an earlier call of the agent and the file of about n bytes that it read.
func historyTurn(i, n int) string {
	line := `func handler(w http.ResponseWriter, r *http.Request) {\n\tio.WriteString(w, \"ok\")\n}\n`
	return fmt.Sprintf(`,{"role":"assistant","content":null,"tool_calls":[{"id":"call_old%04d","type":"function","function":`+
		`{"name":"read_file","arguments":"{\"path\":\"./src/part%04d.go\"}"}}]},{"role":"tool","tool_call_id":"call_old%04d","content":"%s"}`,
		i, i, i, strings.Repeat(line, n/len(line)))
}

func toolSchema(name, argument string) string {
	return fmt.Sprintf(`{"type":"function","function":{"name":%q,"description":"Use this when the task needs it. Returns text.",`+
		`"parameters":{"type":"object","properties":{%q:{"type":"string","description":"What to work on."},"timeout":{"type":"integer",`+
		`"description":"Seconds until it is given up."}},"required":[%q],"additionalProperties":false}}}`, name, argument, argument)
}
