//go:build agents

package agents_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// The task has four steps, each a call of the agent's shell. The model asks for the first two
// in one answer, and for one more after the result of the last.
const (
	opening    = "I begin with two steps."
	going      = "One step more."
	conclusion = "The task is done as far as it goes."
	note       = "nothing is to be written there"
)

// step is one step of the task: a shell command, and the reviewer's decision on it.
type step struct {
	name   string
	denied bool
	held   bool
}

var steps = []step{{name: "alpha"}, {name: "bravo", denied: true}, {name: "charlie", denied: true}, {name: "delta", held: true}}

// said is the output of the step's command, which it also leaves in the step's file.
func (s step) said() string { return "step-" + s.name + "-has-run" }

func (s step) file() string { return s.name + ".txt" }

func (s step) script() string { return fmt.Sprintf("echo %s | tee %s", s.said(), s.file()) }

func (s step) id() string { return "call_" + s.name }

// task is the model of one agent's task and what it saw.
type task struct {
	agent agent
	model fakemodel.Model

	mu       sync.Mutex
	told     map[string]string // what the model last knew of each call, by its id
	problems []string
}

func newTask(a agent) *task {
	k := &task{agent: a}
	k.model.Rules = []fakemodel.Rule{{When: func(fakemodel.Conversation) bool { return true }, Say: k.answer}}
	return k
}

// reply is the task's script. A request without the shell is for something else,
// such as a title.
func (k *task) reply(r *fakemodel.Request) fakemodel.Reply {
	if len(r.Body) > 0 && !bytes.Contains(r.Body, []byte(`"name":"`+k.agent.tool+`"`)) {
		return fakemodel.Answer{Text: "A task"}.Reply(r)
	}
	reply := k.model.Reply(r)
	if reply.Status >= 400 && r.Get("Upgrade") == "" { // WebSockets are not for this model
		k.mu.Lock()
		defer k.mu.Unlock()
		k.problems = append(k.problems, fmt.Sprintf("the model refused %s %s: %s", r.Method, r.Target, reply.Body[0].Bytes))
	}
	return reply
}

// answer is the model's next answer.
func (k *task) answer(c fakemodel.Conversation) fakemodel.Answer {
	known := make(map[string]string)
	for _, m := range c.Messages {
		if m.Role == "tool" {
			known[m.ToolCallID] += m.Content
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.told = known
	after := func(i int) bool { _, ok := known[steps[i].id()]; return ok }
	call := func(i int) fakemodel.Call { return k.agent.call(steps[i].id(), steps[i].script()) }
	switch {
	case after(3):
		return fakemodel.Answer{Text: conclusion}
	case after(2):
		return fakemodel.Answer{Text: going, Calls: []fakemodel.Call{call(3)}}
	case after(1):
		return fakemodel.Answer{Text: going, Calls: []fakemodel.Call{call(2)}}
	}
	return fakemodel.Answer{Text: opening, Calls: []fakemodel.Call{call(0), call(1)}}
}

// rule is the reviewer's decision on a request, nil while it is to be held.
func rule(r approvals.Request, held time.Duration) *fakemodel.Ruling {
	for _, s := range steps {
		switch {
		case !bytes.Contains(r.Arguments, []byte(s.said())):
		case s.denied:
			return &fakemodel.Ruling{Action: approvals.ActionDeny, Note: note}
		case s.held && time.Since(r.CreatedAt) < held:
			return nil
		default:
			return &fakemodel.Ruling{Action: approvals.ActionApprove}
		}
	}
	return &fakemodel.Ruling{Action: approvals.ActionDeny, Note: "this call is no step of the task"}
}

// judge checks the files of the commands, the results that the model got, and that nothing of
// a denied command reached the agent.
func (k *task) judge(t *testing.T, r *run, reviewed bool) {
	t.Helper()
	if !k.agent.silent && !strings.Contains(r.output, conclusion) {
		t.Errorf("the agent does not end with %q", conclusion)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, problem := range k.problems {
		t.Error(problem)
	}
	for _, s := range steps {
		content, err := os.ReadFile(filepath.Join(r.work, s.file()))
		told := k.told[s.id()]
		if reviewed && s.denied {
			if err == nil {
				t.Errorf("the denied step %s has run: %s holds %q", s.name, s.file(), content)
			}
			if !strings.Contains(told, note) || strings.Contains(told, s.said()) {
				t.Errorf("of the denied step %s the model was told %q", s.name, told)
			}
			if place := r.find(t, s.said()); place != "" {
				t.Errorf("the denied step %s reached the agent: it is in %s", s.name, place)
			}
			continue
		}
		if strings.TrimSpace(string(content)) != s.said() {
			t.Errorf("the step %s has not run: %v, %q", s.name, err, content)
		}
		if !strings.Contains(told, s.said()) {
			t.Errorf("of the step %s the model was told %q", s.name, told)
		}
	}
}

// find names a place where the agent has left text: its output or a file. Agents
// keep logs of all that they are sent.
func (r *run) find(t *testing.T, text string) string {
	t.Helper()
	if strings.Contains(r.output, text) {
		return "its output"
	}
	found := ""
	for _, folder := range []string{r.home, r.work} {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			content, err := os.ReadFile(path)
			if bytes.Contains(content, []byte(text)) {
				found = path
			}
			return err
		})
		if err != nil {
			t.Errorf("looking through what the agent has left: %v", err)
		}
	}
	return found
}
