//go:build faults

package faults_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// The model's texts.
const (
	opening    = "Let me see."
	conclusion = "Noted."
)

// model is the upstream of all conversations. It answers the same request in the same way,
// and remembers when it was asked for a first answer and what it was sent last.
type model struct {
	fakemodel.Model
	server *fakemodel.Server
	steps  *steps

	mu       sync.Mutex
	planned  map[string]*conversation // by name
	first    map[string][]time.Time   // conversation -> requests for its answer with calls
	last     map[string]fakemodel.Conversation
	refusals []string // what a provider would refuse
}

func newModel(t *testing.T, s *steps) *model {
	m := &model{steps: s}
	m.plan(nil)
	m.Rules = []fakemodel.Rule{{When: func(fakemodel.Conversation) bool { return true }, Say: m.say}}
	server, err := fakemodel.New(func(r *fakemodel.Request) fakemodel.Reply {
		reply := m.Reply(r)
		if reply.Status >= 400 {
			m.mu.Lock()
			m.refusals = append(m.refusals, fmt.Sprintf("%s %s: %s", r.Method, r.Target, reply.Body[0].Bytes))
			m.mu.Unlock()
		}
		return reply
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	m.server = server
	return m
}

// plan forgets earlier conversations and takes these.
func (m *model) plan(all []*conversation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.planned, m.first, m.last, m.refusals = map[string]*conversation{}, map[string][]time.Time{}, map[string]fakemodel.Conversation{}, nil
	for _, c := range all {
		m.planned[c.name] = c
	}
}

func (m *model) say(c fakemodel.Conversation) fakemodel.Answer {
	name := ""
	called := false
	for _, message := range c.Messages {
		if message.Role == "user" && name == "" {
			name = message.Content
		}
		called = called || len(message.Calls) > 0
	}
	m.mu.Lock()
	planned := m.planned[name]
	if planned != nil && !called {
		m.first[name] = append(m.first[name], time.Now())
	}
	m.last[name] = c
	m.mu.Unlock()
	m.steps.happened(stepUpstream)
	if planned == nil || called {
		return fakemodel.Answer{Text: conclusion}
	}
	answer := fakemodel.Answer{Text: opening, Fragment: 64}
	for _, call := range planned.calls {
		answer.Calls = append(answer.Calls, fakemodel.Call{ID: call.id, Name: call.name, Arguments: call.arguments(call.marker)})
	}
	return answer
}

// asked returns when the upstream was asked for the answer with calls.
func (m *model) asked(name string) []time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.first[name]
}

// results returns the result of each call as the model was sent it last, by call id.
func (m *model) results(name string) map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := map[string]string{}
	for _, message := range m.last[name].Messages {
		if message.Role == "tool" {
			all[message.ToolCallID] += message.Content
		}
	}
	return all
}

// refused returns the requests that a provider would refuse.
func (m *model) refused() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.refusals
}
