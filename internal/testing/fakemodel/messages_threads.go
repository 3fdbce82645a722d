package fakemodel

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// keptMessage is a message whose conversation Anthropic keeps for the request that continues
// it: a message thread.
type keptMessage struct {
	body      []byte // the request, with the conversation before it
	reply     []byte // the message, as one of a history
	continued bool
}

// threads reports whether a request wants its conversation kept.
func threads(body []byte) bool { return gjson.GetBytes(body, "thread").IsObject() }

// continued returns the body of a request with the conversation, the system prompt and the tools
// of the thread that it continues, checked as Anthropic does.
func (m *memory) continued(r *Request) ([]byte, *refusal) {
	thread := gjson.GetBytes(r.Body, "thread")
	if thread.Get("type").Str != "continue" {
		return r.Body, nil
	}
	id := thread.Get("previous_message_id").Str
	kept := m.messages[id]
	switch {
	case kept == nil:
		return nil, &refusal{status: http.StatusNotFound, kind: "not_found_error", detail: "thread_not_found", message: fmt.Sprintf("No usable thread state was found for previous_message_id %q.", id)}
	case kept.continued:
		return nil, threadRefusal("thread_already_continued", fmt.Sprintf("The response %q has already been continued.", id))
	}
	for _, field := range []string{"system", "tools"} {
		if gjson.GetBytes(r.Body, field).Exists() {
			return nil, threadRefusal("thread_fingerprint_mismatch", field+": may not be sent with a continuation of a thread")
		}
	}
	if model := gjson.GetBytes(r.Body, "model").Raw; model != gjson.GetBytes(kept.body, "model").Raw {
		return nil, threadRefusal("thread_fingerprint_mismatch", "differing field(s): model")
	}
	body := slices.Clone(r.Body)
	messages := append(raws(gjson.GetBytes(kept.body, "messages").Array()), string(kept.reply))
	messages = append(messages, raws(gjson.GetBytes(r.Body, "messages").Array())...)
	body = setRaw(body, "messages", "["+strings.Join(messages, ",")+"]")
	for _, field := range []string{"system", "tools"} {
		if value := gjson.GetBytes(kept.body, field); value.Exists() {
			body = setRaw(body, field, value.Raw)
		}
	}
	return body, nil
}

func threadRefusal(code, message string) *refusal {
	f := invalid("", message)
	f.detail = code
	return f
}

// keepMessage keeps the conversation of a request in a thread, with the message that answers it.
// Sent is the body as it was sent.
func (m *memory) keepMessage(sent, body []byte, s *MessagesStream) {
	if !threads(sent) {
		return
	}
	if m.messages == nil {
		m.messages = make(map[string]*keptMessage)
	}
	if before := m.messages[gjson.GetBytes(sent, "thread.previous_message_id").Str]; before != nil {
		before.continued = true
	}
	reply := fmt.Appendf(nil, `{"role":"assistant","content":%s}`, encode(s.content))
	m.messages[s.ID] = &keptMessage{body: body, reply: reply}
}

// ForgetThreads loses all message threads, as Anthropic does some minutes after their last use.
func (m *Model) ForgetThreads() {
	m.memory.mu.Lock()
	defer m.memory.mu.Unlock()
	clear(m.memory.messages)
}

func setRaw(body []byte, field, value string) []byte {
	body, err := sjson.SetRawBytes(body, field, []byte(value))
	if err != nil {
		panic(err)
	}
	return body
}
