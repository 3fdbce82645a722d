//go:build conformance

package conformance_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/cassettes"
	"github.com/heldcall/heldcall/internal/testing/conformance"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// rounds is how often the model calls tools before it is done.
const rounds = 5

// TestConformanceConversations lets agents of every dialect and habit work with a
// model that refuses what providers refuse, while a reviewer approves, denies and
// changes calls by chance, and answers questions that the model asks beside its calls and
// alone. The agent runs what was let through and nothing else, and in the end the model has
// seen what became of every call it made.
func TestConformanceConversations(t *testing.T) {
	v := &village{talks: make(map[string]*talk)}
	model, err := fakemodel.New((&fakemodel.Model{Rules: []fakemodel.Rule{{When: v.working, Say: v.work}}, Otherwise: fakemodel.Answer{Text: "Done."}}).Reply)
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	h := conformance.StartHeldcall(t, conformance.Options{Upstream: model.URL(), Keepalive: time.Hour, Policy: "default: ask\nquestions: {offer: [clarification], always: true}\n"})
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	defer func() { stop(); running.Wait() }()
	reviewer := &fakemodel.Reviewer{Console: h.Console, Decide: v.decide, Refused: func(r approvals.Request, status int, body string) {
		t.Errorf("the ruling on %s %s was refused: %d %s", r.SessionID, r.ToolName, status, body)
	}}
	running.Go(func() {
		if err := reviewer.Run(ctx); err != nil {
			t.Errorf("reviewing: %v", err)
		}
	})
	a := newAgent()
	defer a.client.CloseIdleConnections()
	var talking sync.WaitGroup
	for _, d := range []cassettes.Dialect{cassettes.Chat, cassettes.Responses, cassettes.Messages} {
		for _, streamed := range []bool{true, false} {
			for _, kind := range habits(cassettes.Exchange{Dialect: d}) {
				for n := range 8 {
					talking.Go(func() { v.begin(d, kind, streamed, n).run(t, a, h.Proxy, model.URL()) })
				}
			}
		}
	}
	talking.Wait()
}

// village is where the talks take place: all of them share a model and a reviewer.
type village struct {
	mu    sync.Mutex
	talks map[string]*talk // by the name with which the user begins it
}

// talk is one agent's conversation.
type talk struct {
	*trial
	village *village

	// Guarded by the village:
	decided map[string]approvals.Action // by call id
	seen    fakemodel.Conversation      // the last that the model was shown
}

func (v *village) begin(d cassettes.Dialect, kind habit, streamed bool, n int) *talk {
	name := fmt.Sprintf("talk-%s-%s-%t-%d.", d, strings.ReplaceAll(string(kind), " ", "_"), streamed, n)
	x := &trial{
		id: name, habit: kind, dialect: conformance.Of(d), agent: writerOf(d),
		exchange: cassettes.Exchange{Dialect: d, Streamed: streamed},
	}
	tk := &talk{trial: x, village: v, decided: make(map[string]approvals.Action)}
	body := fmt.Sprintf(`{"model":"m","stream":%t}`, streamed)
	said := fmt.Sprintf(`[{"role":"user","content":%q}]`, name+" Work.")
	tools := `[{"type":"function","name":"build","parameters":{}},{"type":"function","name":"test","parameters":{}},{"type":"custom","name":"shell"}]`
	switch d {
	case cassettes.Responses:
		x.exchange.RequestBody = with(with(with([]byte(body), "input", said), "tools", tools), "reasoning", `{"summary":"auto"}`)
	case cassettes.Messages:
		tools = `[{"name":"build","input_schema":{"type":"object"}},{"name":"test","input_schema":{"type":"object"}}]`
		x.exchange.RequestBody = with(with(with(with([]byte(body), "messages", said), "tools", tools), "max_tokens", "9"), "thinking", `{"type":"enabled","budget_tokens":1024}`)
	default:
		x.exchange.RequestBody = with([]byte(body), "messages", said)
	}
	x.request = x.agent.first(x)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.talks[name] = tk
	return tk
}

// converse makes a conversation that the provider keeps, for an agent that names
// one.
func (tk *talk) converse(ctx context.Context, a agent, provider string) error {
	if tk.habit != inConversation {
		return nil
	}
	got, err := a.ask(ctx, "POST", provider+"/conversations", tk.id, []byte(`{"metadata":{"of":`+quote(tk.id)+`}}`))
	tk.request = with(tk.request, "conversation", quote(gjson.GetBytes(got.body, "id").String()))
	return err
}

// of is the talk that a user began with its name.
func (v *village) of(c fakemodel.Conversation) *talk {
	for _, m := range c.Messages {
		if m.Role == "user" {
			name, _, _ := strings.Cut(m.Content, " ")
			return v.talks[name]
		}
	}
	return nil
}

// working reports whether the model has still to call tools.
func (v *village) working(c fakemodel.Conversation) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	tk := v.of(c)
	if tk == nil {
		return false
	}
	tk.seen = c
	return called(c) < rounds
}

// called is how often the model has called tools.
func called(c fakemodel.Conversation) int {
	n := 0
	for _, m := range c.Messages {
		if len(m.Calls) > 0 {
			n++
		}
	}
	return n
}

// work is the model's next turn: three calls and a question, a question, one call, two, one.
func (v *village) work(c fakemodel.Conversation) fakemodel.Answer {
	round := called(c)
	name := c.API
	build := fakemodel.Call{Name: "build", Arguments: fmt.Sprintf(`{"round":%d,"path":"/%s/secret"}`, round, name)}
	test := fakemodel.Call{Name: "test", Arguments: fmt.Sprintf(`{"round":%d,"quick":true}`, round)}
	third := fakemodel.Call{Name: "shell", Arguments: fmt.Sprintf("make round_%d", round), Custom: true}
	if c.API == fakemodel.Messages {
		third = fakemodel.Call{Name: "build", Arguments: `{}`}
	}
	ask := fakemodel.Call{Name: questionTool, Arguments: fmt.Sprintf(`{"question":"Which harbour in round %d?"}`, round)}
	a := fakemodel.Answer{Reasoning: fmt.Sprintf("Round %d.", round)}
	switch round {
	case 0:
		a.Text, a.Calls = "I begin.", []fakemodel.Call{build, ask, test, third}
	case 1:
		a.Calls = []fakemodel.Call{ask}
	case 2:
		a.Calls = []fakemodel.Call{test}
	case 3:
		a.Text, a.Calls = "Two more.", []fakemodel.Call{third, build}
	default:
		a.Calls = []fakemodel.Call{build}
	}
	return a
}

// decide rules by chance, but the same each time.
func (v *village) decide(r approvals.Request) *fakemodel.Ruling {
	v.mu.Lock()
	defer v.mu.Unlock()
	tk := v.talks[r.SessionID]
	if tk == nil {
		return &fakemodel.Ruling{Action: approvals.ActionDeny, Note: "nobody talks like this"}
	}
	ruling := &fakemodel.Ruling{Action: approvals.ActionApprove}
	if r.Asks() {
		ruling = &fakemodel.Ruling{Action: approvals.ActionAnswer, Response: approvals.Response{Answer: "answer to " + r.ToolCallID}}
	}
	switch sum := sha256.Sum256([]byte(r.SessionID + r.ToolCallID)); sum[0] % 5 {
	case 0, 1:
		ruling = &fakemodel.Ruling{Action: approvals.ActionDeny, Note: "no to " + r.ToolCallID}
	case 2:
		if r.Asks() {
			break
		}
		ruling = &fakemodel.Ruling{Action: approvals.ActionModifyArgs, ModifiedArgs: json.RawMessage(changedArguments(r)), Note: "changed " + r.ToolCallID}
	}
	tk.decided[r.ToolCallID] = ruling.Action
	return ruling
}

func changedArguments(r approvals.Request) string {
	if r.ToolName == "shell" {
		return `"make changed"`
	}
	return `{"changed":true}`
}

// run lets the agent work until the model is done.
func (tk *talk) run(t *testing.T, a agent, base, provider string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := tk.converse(ctx, a, provider); err != nil {
		t.Errorf("%s: %v", tk.id, err)
		return
	}
	ran := make(map[string]string) // what the agent was to run, by call id
	for turn := 0; ; turn++ {
		got, err := a.ask(ctx, "POST", base+"/v1"+tk.agent.path(), tk.id, tk.request)
		if err != nil {
			t.Errorf("%s turn %d: %v", tk.id, turn, err)
			return
		}
		answer := tk.dialect.Fold(got.body)
		if got.status != 200 || len(answer.Errors) > 0 {
			t.Errorf("%s turn %d was answered %d %s to %s", tk.id, turn, got.status, shorten(got.body), shorten(tk.request))
			return
		}
		if found := tk.dialect.CheckAnswer(got.body); len(found) > 0 {
			t.Errorf("%s turn %d: a client would object: %v in %s", tk.id, turn, found, shorten(got.body))
		}
		for _, part := range []string{questionTool, "harbour"} {
			if strings.Contains(string(got.body), part) {
				t.Errorf("%s turn %d: %q of a question is in %s", tk.id, turn, part, shorten(got.body))
			}
		}
		received := answer.First()
		for _, call := range received.Calls {
			ran[call.ID] = call.Arguments
		}
		if len(received.Calls) == 0 {
			if !strings.HasSuffix(received.Text, "Done.") {
				t.Errorf("%s ends with %q", tk.id, received.Text)
			}
			break
		}
		tk.request = tk.agent.next(tk.trial, answer)
	}
	tk.judgeSeen(t, ran)
}

// judgeSeen compares what was decided with what the agent ran and with what the
// model was shown last.
func (tk *talk) judgeSeen(t *testing.T, ran map[string]string) {
	tk.village.mu.Lock()
	defer tk.village.mu.Unlock()
	results := make(map[string]string)
	var calls []fakemodel.Call
	for _, m := range tk.seen.Messages {
		calls = append(calls, m.Calls...)
		results[m.ToolCallID] += m.Content
	}
	if len(calls) < rounds {
		t.Errorf("%s: the model made %d calls", tk.id, len(calls))
	}
	denied := make(map[string]bool) // calls that come again unchanged are denied at once
	for _, call := range calls {
		arguments, run := ran[call.ID]
		action, told := tk.decided[call.ID], results[call.ID]
		right := run && told == resultNumber(told) && arguments == call.Arguments
		switch action {
		case approvals.ActionDeny:
			right = !run && strings.Contains(told, "no to "+call.ID)
			denied[call.Name+call.Arguments] = true
		case approvals.ActionAnswer:
			right = !run && strings.Contains(told, "answer to "+call.ID)
		case approvals.ActionModifyArgs:
			shown := sameJSON(arguments, call.Arguments) || arguments == call.Arguments
			if tk.habit.remembered() {
				shown = strings.Contains(told, arguments)
			}
			right = run && shown && strings.Contains(told, "changed "+call.ID) && strings.Contains(told, resultNumber(told)) && strings.Contains(arguments, "changed")
		case "":
			right = !run && denied[call.Name+call.Arguments] && strings.Contains(told, "already denied")
		}
		if !right {
			t.Errorf("%s: %q %s was %s; the agent ran %t %q, the model is told %q", tk.id, call.ID, call.Arguments, or(action, "not decided"), run, arguments, told)
		}
	}
	for id, action := range tk.decided {
		if !slices.ContainsFunc(calls, func(c fakemodel.Call) bool { return c.ID == id }) {
			t.Errorf("%s: the call %q, which was decided %s, is not shown to the model", tk.id, id, action)
		}
	}
}

func or[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}

// resultNumber is the agent's result in a result that the model got, "?" if there is none.
func resultNumber(told string) string {
	for i := range 4 {
		if strings.HasSuffix(told, resultOf(i)) {
			return resultOf(i)
		}
	}
	return "?"
}
