//go:build clients

package clients_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/heldcall/heldcall/internal/testing/conformance"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// The model's reasoning and texts at each step of a job.
const (
	thought      = "Which account is it?"
	opening      = "Let me see."
	continuation = "I leave it."
	conclusion   = "Noted."
)

var (
	firstUsage = fakemodel.Usage{Prompt: 100, Completion: 20}
	laterUsage = fakemodel.Usage{Prompt: 7, Completion: 5}
	// continuedUsage is that of an answer after a hidden turn.
	continuedUsage = fakemodel.Usage{Prompt: firstUsage.Prompt + laterUsage.Prompt, Completion: firstUsage.Completion + laterUsage.Completion}
)

// model is the scripted model of all jobs, in every API. A job is known by its
// name, which is the first user message. It refuses what a provider would refuse,
// and remembers that as a problem.
type model struct {
	fakemodel.Model
	user scenario // if it is the model of one of several users

	mu       sync.Mutex
	last     map[string]fakemodel.Conversation // each job's last one
	requests map[string]int
	first    map[string]int // requests without a call of the model in the history
	agents   map[agent]bool
	problems []string
}

func newModel() *model {
	m := &model{last: make(map[string]fakemodel.Conversation), requests: make(map[string]int), first: make(map[string]int), agents: make(map[agent]bool)}
	m.Rules = []fakemodel.Rule{{When: func(fakemodel.Conversation) bool { return true }, Say: m.say}}
	return m
}

func (m *model) reply(r *fakemodel.Request) fakemodel.Reply {
	reply := m.Reply(r)
	if first := !bytes.Contains(r.Body, []byte(opening)); first && bytes.Contains(r.Body, []byte("/"+slow+"/")) {
		for i := range reply.Body {
			reply.Body[i].Delay = slowTime / time.Duration(len(reply.Body))
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.agents[agentOf(r)] = true
	if value := anyToken.Find(r.Body); value != nil {
		m.problems = append(m.problems, fmt.Sprintf("the model reads the secret %s: %s", value, r.Body))
	}
	if reply.Status >= 400 {
		m.problems = append(m.problems, fmt.Sprintf("a provider would refuse %s %s %s: %s", r.Method, r.Target, r.Body, reply.Body[0].Bytes))
	}
	return reply
}

// say is the model's answer at the end of a conversation.
func (m *model) say(c fakemodel.Conversation) fakemodel.Answer {
	job := jobOf(c)
	if job == "" {
		return fakemodel.Answer{Text: conclusion, Usage: laterUsage}
	}
	if m.user != "" {
		job = jobOfUser(job, m.user)
	}
	m.mu.Lock()
	m.last[job] = c
	m.requests[job]++
	if len(callsIn(c)) == 0 {
		m.first[job]++
	}
	m.mu.Unlock()
	ran := slices.ContainsFunc(c.Messages, func(m fakemodel.Message) bool {
		return m.Role == "tool" && strings.Contains(m.Content, "ran ")
	})
	calls := callsOf(job)
	n := inFirst(job, calls)
	switch {
	case len(callsIn(c)) == 0:
		first := fakemodel.Answer{Text: openingOf(job), Calls: calls[:n], Usage: firstUsage}
		if c.API != fakemodel.Chat && scenarioOf(job) != silent {
			first.Reasoning = thought
		}
		if scenarioOf(job) == slow {
			first.Fragment = 1
		}
		return first
	case c.Last().Role == "tool" && !ran && n < len(calls):
		return fakemodel.Answer{Calls: calls[n:], Usage: laterUsage}
	case c.Last().Role == "tool" && !ran:
		return fakemodel.Answer{Text: continuation, Usage: laterUsage}
	}
	return fakemodel.Answer{Text: conclusion, Usage: laterUsage}
}

// awaitFirst waits until the model has got a request of a client's program, or the program has ended.
func (m *model) awaitFirst(r *run) {
	began := func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return slices.ContainsFunc(r.jobs, func(j job) bool { return m.requests[j.Name] > 0 })
	}
	for !began() {
		select {
		case <-r.ended:
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// jobOf is the first message of the user that is a job's name, "" for none: the conversation begins
// with something else.
func jobOf(c fakemodel.Conversation) string {
	for _, m := range c.Messages {
		if m.Role == "user" && strings.Contains(m.Content, "/") {
			return m.Content
		}
	}
	return ""
}

// callsIn are the calls that the model is shown to have made.
func callsIn(c fakemodel.Conversation) []fakemodel.Call {
	var calls []fakemodel.Call
	for _, m := range c.Messages {
		calls = append(calls, m.Calls...)
	}
	return calls
}

// openingOf is the model's text before the calls of a job's first answer.
func openingOf(job string) string {
	if scenarioOf(job) == silent {
		return ""
	}
	return opening
}

// told returns the last results that the model got for a job's calls, and the number of its
// requests.
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

// asked is how often the model was asked for a job's first answer.
func (m *model) asked(job string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.first[job]
}
