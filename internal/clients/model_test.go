//go:build clients

package clients_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/heldcall/heldcall/internal/conformance"
	"github.com/heldcall/heldcall/internal/scripted"
)

// What the model says at each step of a job.
const (
	opening      = "Let me see."
	continuation = "I leave it."
	conclusion   = "Noted."
)

var (
	firstUsage = scripted.Usage{Prompt: 100, Completion: 20}
	laterUsage = scripted.Usage{Prompt: 7, Completion: 5}
)

// model is the scripted model of all jobs. A job is known by its name, which is
// the first user message.
type model struct {
	mu       sync.Mutex
	last     map[string][]byte // body of each job's last request
	requests map[string]int
	problems []string
}

func newModel() *model {
	return &model{last: make(map[string][]byte), requests: make(map[string]int)}
}

func (m *model) reply(r *scripted.Request) scripted.Reply {
	job := gjson.GetBytes(r.Body, `messages.0.content`).String()
	if parts := gjson.GetBytes(r.Body, `messages.0.content.0.text`); parts.Exists() {
		job = parts.String()
	}
	invalid := conformance.CheckConversation(r.Body)
	m.mu.Lock()
	m.last[job] = bytes.Clone(r.Body)
	m.requests[job]++
	if invalid != nil {
		m.problems = append(m.problems, fmt.Sprintf("%s: a provider would refuse this: %v in %s", job, invalid, r.Body))
	}
	m.mu.Unlock()
	if invalid != nil {
		return scripted.Fail(400, "invalid_messages", invalid.Error())
	}
	return m.answer(job, r.Body).Reply(r)
}

func (m *model) answer(job string, body []byte) scripted.Answer {
	messages := gjson.GetBytes(body, "messages").Array()
	last := messages[len(messages)-1]
	switch {
	case len(messages) == 1:
		return scripted.Answer{Text: opening, Calls: callsOf(job), Usage: firstUsage}
	case last.Get("role").String() == "tool" && !bytes.Contains(body, []byte("ran ")):
		return scripted.Answer{Text: continuation, Usage: laterUsage}
	}
	return scripted.Answer{Text: conclusion, Usage: laterUsage}
}

// callsOf are the calls of a job's first answer.
func callsOf(job string) []scripted.Call {
	id := strings.NewReplacer("/", "_", "-", "_").Replace(job)
	calls := []scripted.Call{
		{ID: "call_0_" + id, Name: "transfer", Arguments: fmt.Sprintf(`{"job":%q,"amount":1000}`, job)},
		{ID: "call_1_" + id, Name: "lookup", Arguments: fmt.Sprintf(`{"job":%q}`, job)},
	}
	switch scenarioOf(job) {
	case approve, deny, edit:
		return calls[:1]
	}
	return calls
}

// told are what the model was last told of a job's calls, and how often the
// model was asked.
func (m *model) told(job string) (told []conformance.Told, requests int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, told = conformance.ToldOf(m.last[job])
	return told, m.requests[job]
}
