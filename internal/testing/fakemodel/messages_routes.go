package fakemodel

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/tidwall/gjson"
)

// createMessage answers POST /messages.
func (m *Model) createMessage(r *Request, _ string) Reply {
	m.memory.mu.Lock()
	defer m.memory.mu.Unlock()
	body, failed := m.memory.continued(r)
	if failed == nil {
		failed = m.memory.checkMessages(r, body, true)
	}
	if failed != nil {
		return failed.reply(Messages, r)
	}
	made := digest(string(r.Body))
	if threads(r.Body) { // each thread has an id of its own
		made = digest(string(r.Body), strconv.Itoa(len(m.memory.messages)))
	}
	answer := m.answer(messagesConversation(body)).counted(body).named(func(i int) string {
		return fmt.Sprintf("toolu_01%s%02d", made[:20], i)
	})
	answer.ID = or(answer.ID, "msg_01"+made[:22])
	s := answer.MessagesStream(r.Body)
	m.memory.keepThoughts(s)
	m.memory.keepMessage(r.Body, body, s)
	reply := Whole(http.StatusOK, s.Whole())
	if r.Streamed() {
		reply = Events(s.Writes()...)
	}
	reply.Header = append(reply.Header, Field{"request-id", "req_011C" + made[:20]})
	return reply
}

// countMessages answers POST /messages/count_tokens.
func (m *Model) countMessages(r *Request, _ string) Reply {
	m.memory.mu.Lock()
	defer m.memory.mu.Unlock()
	if failed := m.memory.checkMessages(r, r.Body, false); failed != nil {
		return failed.reply(Messages, r)
	}
	return Whole(http.StatusOK, fmt.Appendf(nil, `{"input_tokens":%d}`, len(r.Body)/4))
}

// keepThoughts remembers what the model thought in a message with calls.
func (m *memory) keepThoughts(s *MessagesStream) {
	if m.thoughts == nil {
		m.thoughts = make(map[string][]string)
	}
	var blocks []gjson.Result
	for _, block := range s.content {
		blocks = append(blocks, gjson.ParseBytes(block))
	}
	for _, block := range blocks {
		if block.Get("type").String() == "tool_use" {
			m.thoughts[block.Get("id").String()] = thoughtsOf(blocks)
		}
	}
}

// thoughtsOf are the thinking blocks of a message, each as what has to come back
// unchanged of it.
func thoughtsOf(blocks []gjson.Result) []string {
	var thoughts []string
	for _, block := range blocks {
		if isThinking(block) {
			thoughts = append(thoughts, block.Get("thinking").String()+"\x00"+block.Get("signature").String()+"\x00"+block.Get("data").String())
		}
	}
	return thoughts
}

func isThinking(block gjson.Result) bool {
	kind := block.Get("type").String()
	return kind == "thinking" || kind == "redacted_thinking"
}
