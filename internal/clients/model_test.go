//go:build clients

package clients_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/heldcall/heldcall/internal/conformance"
	"github.com/heldcall/heldcall/internal/scripted"
)

// What the model thinks and says at each step of a job.
const (
	thought      = "Which account is it?"
	opening      = "Let me see."
	continuation = "I leave it."
	conclusion   = "Noted."
)

var (
	firstUsage = scripted.Usage{Prompt: 100, Completion: 20}
	laterUsage = scripted.Usage{Prompt: 7, Completion: 5}
)

// model is the scripted model of all jobs, in every API. A job is known by its
// name, which is the first user message. It refuses what a provider would refuse,
// and remembers that as a problem.
type model struct {
	scripted.Model

	mu       sync.Mutex
	last     map[string]scripted.Conversation // each job's last one
	requests map[string]int
	agents   map[agent]bool
	problems []string
}

func newModel() *model {
	m := &model{last: make(map[string]scripted.Conversation), requests: make(map[string]int), agents: make(map[agent]bool)}
	m.Rules = []scripted.Rule{{When: func(scripted.Conversation) bool { return true }, Say: m.say}}
	return m
}

func (m *model) reply(r *scripted.Request) scripted.Reply {
	reply := m.Reply(r)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.agents[agentOf(r)] = true
	if reply.Status >= 400 {
		m.problems = append(m.problems, fmt.Sprintf("a provider would refuse %s %s %s: %s", r.Method, r.Target, r.Body, reply.Body[0].Bytes))
	}
	return reply
}

// say is the model's answer at the end of a conversation.
func (m *model) say(c scripted.Conversation) scripted.Answer {
	job := jobOf(c)
	m.mu.Lock()
	m.last[job] = c
	m.requests[job]++
	m.mu.Unlock()
	ran := slices.ContainsFunc(c.Messages, func(m scripted.Message) bool {
		return m.Role == "tool" && strings.Contains(m.Content, "ran ")
	})
	switch {
	case len(callsIn(c)) == 0:
		first := scripted.Answer{Text: openingOf(job), Calls: callsOf(job), Usage: firstUsage}
		if c.API != scripted.Chat && scenarioOf(job) != silent {
			first.Reasoning = thought
		}
		return first
	case c.Last().Role == "tool" && !ran:
		return scripted.Answer{Text: continuation, Usage: laterUsage}
	}
	return scripted.Answer{Text: conclusion, Usage: laterUsage}
}

func jobOf(c scripted.Conversation) string {
	for _, m := range c.Messages {
		if m.Role == "user" {
			return m.Content
		}
	}
	return ""
}

// callsIn are the calls that the model is shown to have made.
func callsIn(c scripted.Conversation) []scripted.Call {
	var calls []scripted.Call
	for _, m := range c.Messages {
		calls = append(calls, m.Calls...)
	}
	return calls
}

// openingOf is what the model says before the calls of a job's first answer.
func openingOf(job string) string {
	if scenarioOf(job) == silent {
		return ""
	}
	return opening
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
	c := m.last[job]
	for _, call := range callsIn(c) {
		t := conformance.Told{Call: conformance.Call{ID: call.ID, Name: call.Name, Arguments: call.Arguments}}
		for _, m := range c.Messages {
			if m.Role == "tool" && m.ToolCallID == call.ID {
				t.Result += m.Content
			}
		}
		told = append(told, t)
	}
	return told, m.requests[job]
}
