//go:build clients

package clients_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/conformance"
	"github.com/heldcall/heldcall/internal/scripted"
)

// scenario is what a reviewer does with the calls of a job.
type scenario string

const (
	approve    scenario = "approve"
	deny       scenario = "deny"       // the only call: the model goes on by itself
	denyFirst  scenario = "deny-first" // of two
	denySecond scenario = "deny-second"
	edit       scenario = "edit"
	hold       scenario = "hold" // approve both, after holdTime of heartbeats
)

const (
	keepalive  = 2 * time.Second
	note       = "not this one"
	editedNote = "too much"
)

// holdTime is how long the hold scenario holds. HELDCALL_HOLD shortens it while
// working on a client.
func holdTime(t *testing.T) time.Duration {
	text := os.Getenv("HELDCALL_HOLD")
	if text == "" {
		return time.Minute
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("HELDCALL_HOLD: %v", err)
	}
	return d
}

func scenarioOf(job string) scenario { return scenario(strings.Split(job, "/")[1]) }

// report is what a client's program prints of a job.
type report struct {
	Job   string `json:"job"`
	Text  string `json:"text"`
	Calls []struct {
		ID        string `json:"id"`
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"calls"`
	Finish string `json:"finish"`
	Usage  *struct {
		Prompt     int `json:"prompt"`
		Completion int `json:"completion"`
	} `json:"usage"`
	Next  string `json:"next"`
	Error string `json:"error"`
}

// TestClientsWithoutHeldcall is the control: what the programs report when
// nothing stands between them and the model.
func TestClientsWithoutHeldcall(t *testing.T) {
	clients := install(t)
	m := newModel()
	server := startModel(t, m)
	for _, r := range startAll(t, clients, server.URL(), []scenario{approve, hold}, "control") {
		t.Run(r.client.name, func(t *testing.T) { r.judge(t, m) })
	}
}

// TestClients lets every client talk to the model through heldcall, in every
// scenario and mode at the same time, so that the long holds are waited for
// once.
func TestClients(t *testing.T) {
	clients := install(t)
	var judgements []func(*testing.T)
	for _, heartbeat := range []string{"auto", "comment", "event"} {
		scenarios := []scenario{hold}
		if heartbeat == "auto" {
			scenarios = []scenario{approve, deny, denyFirst, denySecond, edit, hold}
		}
		m := newModel()
		server := startModel(t, m)
		h := conformance.StartHeldcall(t, conformance.Options{
			Upstream: server.URL(), Policy: "default: ask\n", Keepalive: keepalive, Heartbeat: heartbeat,
		})
		review(t, h)
		for _, mode := range []string{"whole", "stream"} {
			l := listen(t, h.Proxy+"/v1", mode, heartbeat)
			judgements = append(judgements, func(t *testing.T) { t.Run("heartbeat "+heartbeat+"/raw "+mode, l.judge) })
		}
		for _, r := range startAll(t, clients, h.Proxy+"/v1", scenarios, heartbeat) {
			judgements = append(judgements, func(t *testing.T) {
				t.Run("heartbeat "+heartbeat+"/"+r.client.name, func(t *testing.T) { r.judge(t, m) })
			})
		}
	}
	for _, judge := range judgements {
		judge(t)
	}
}

func startModel(t *testing.T, m *model) *scripted.Server {
	t.Helper()
	server, err := scripted.New(m.reply)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Close()
		for _, problem := range m.problems {
			t.Error(problem)
		}
	})
	return server
}

// review answers what heldcall asks as the job's scenario wants it.
func review(t *testing.T, h *conformance.Heldcall) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	t.Cleanup(func() { cancel(); running.Wait() })
	held := holdTime(t)
	reviewer := &scripted.Reviewer{
		Console: h.Console,
		Every:   100 * time.Millisecond,
		Decide:  func(r approvals.Request) *scripted.Ruling { return decide(r, held) },
		Refused: func(r approvals.Request, status int, body string) {
			t.Errorf("the ruling on %s was refused: %d %s", r.ID, status, body)
		},
	}
	running.Go(func() {
		if err := reviewer.Run(ctx); err != nil {
			t.Errorf("reviewing: %v", err)
		}
	})
}

func decide(r approvals.Request, held time.Duration) *scripted.Ruling {
	var arguments struct {
		Job string `json:"job"`
	}
	if json.Unmarshal(r.Arguments, &arguments) != nil || strings.Count(arguments.Job, "/") != 3 {
		return &scripted.Ruling{Action: approvals.ActionDeny, Note: "no job has such a call"}
	}
	first := r.ToolName == "transfer"
	switch s := scenarioOf(arguments.Job); {
	case s == hold && time.Since(r.CreatedAt) < held:
		return nil
	case s == deny, s == denyFirst && first, s == denySecond && !first:
		return &scripted.Ruling{Action: approvals.ActionDeny, Note: note}
	case s == edit:
		return &scripted.Ruling{Action: approvals.ActionModifyArgs, Note: editedNote, ModifiedArgs: json.RawMessage(editedArguments(arguments.Job))}
	}
	return &scripted.Ruling{Action: approvals.ActionApprove}
}

func editedArguments(job string) string { return fmt.Sprintf(`{"job":%q,"amount":10}`, job) }

// run is one client's program with its jobs.
type run struct {
	client client
	jobs   []job
	ended  chan struct{}
	// Set before ended is closed.
	reports map[string]report
	err     error
}

// job is one conversation. Its name says client, scenario, mode and label.
type job struct {
	Name string `json:"name"`
	Mode string `json:"mode"`
}

// startAll starts every client with a job for each scenario and mode. label
// tells the jobs of this run from those of others.
func startAll(t *testing.T, clients []client, baseURL string, scenarios []scenario, label string) []*run {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), holdTime(t)+3*time.Minute)
	var runs []*run
	t.Cleanup(func() {
		cancel()
		for _, r := range runs {
			<-r.ended
		}
	})
	for _, c := range clients {
		r := &run{client: c, ended: make(chan struct{})}
		for _, s := range scenarios {
			for _, mode := range c.modes {
				r.jobs = append(r.jobs, job{strings.Join([]string{c.name, string(s), mode, label}, "/"), mode})
			}
		}
		runs = append(runs, r)
		go func() {
			defer close(r.ended)
			r.reports, r.err = r.play(ctx, baseURL)
		}()
	}
	return runs
}

// play runs the program to its end and reads its reports.
func (r *run) play(ctx context.Context, baseURL string) (map[string]report, error) {
	work, err := json.Marshal(map[string]any{"base_url": baseURL, "jobs": r.jobs})
	if err != nil {
		return nil, err
	}
	program := exec.CommandContext(ctx, r.client.command[0], r.client.command[1:]...)
	program.Stdin = bytes.NewReader(work)
	var diagnostics bytes.Buffer
	program.Stderr = &diagnostics
	out, err := program.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s%s", program, err, diagnostics.Bytes(), out)
	}
	reports := make(map[string]report)
	for line := range bytes.Lines(out) {
		var got report
		if err := json.Unmarshal(line, &got); err != nil {
			return nil, fmt.Errorf("%s printed %q: %w", program, line, err)
		}
		reports[got.Job] = got
	}
	return reports, nil
}

// judge waits for the program's end and looks at every report.
func (r *run) judge(t *testing.T, m *model) {
	<-r.ended
	if r.err != nil {
		t.Fatal(r.err)
	}
	for _, j := range r.jobs {
		got, ok := r.reports[j.Name]
		if !ok {
			t.Errorf("%s: no report", j.Name)
			continue
		}
		judge(t, got, m)
	}
}

// expected is what a job's client and model should each have seen.
type expected struct {
	text     string
	calls    []scripted.Call // as the client accumulates them
	finish   string
	usage    scripted.Usage
	requests int      // at the model
	told     []string // a text in what the model was told of each call
}

func expect(job string) expected {
	calls := callsOf(job)
	e := expected{text: opening, calls: calls, finish: "tool_calls", usage: firstUsage, requests: 2}
	for _, c := range calls {
		e.told = append(e.told, "ran "+c.Name+" with ")
	}
	switch scenarioOf(job) {
	case deny:
		e.calls, e.finish, e.requests = nil, "stop", 3
		e.usage = scripted.Usage{Prompt: firstUsage.Prompt + laterUsage.Prompt, Completion: firstUsage.Completion + laterUsage.Completion}
		e.told[0] = note
	case denyFirst:
		e.calls, e.told[0] = calls[1:], note
	case denySecond:
		e.calls, e.told[1] = calls[:1], note
	case edit:
		calls[0].Arguments = editedArguments(job)
		e.told[0] = editedNote
	}
	return e
}

func judge(t *testing.T, r report, m *model) {
	t.Helper()
	if r.Error != "" {
		t.Errorf("%s: %s", r.Job, r.Error)
		return
	}
	want := expect(r.Job)
	if r.Text != want.text && !(scenarioOf(r.Job) == deny && strings.HasPrefix(r.Text, opening) && strings.HasSuffix(r.Text, continuation)) {
		t.Errorf("%s: text %q, want %q", r.Job, r.Text, want.text)
	}
	if finish := strings.ReplaceAll(r.Finish, "-", "_"); finish != want.finish {
		t.Errorf("%s: finish reason %q, want %q", r.Job, r.Finish, want.finish)
	}
	if len(r.Calls) != len(want.calls) {
		t.Errorf("%s: calls %+v, want %+v", r.Job, r.Calls, want.calls)
		return
	}
	for i, c := range want.calls {
		if got := r.Calls[i]; got.ID != c.ID || got.Name != c.Name || !sameJSON(got.Arguments, c.Arguments) {
			t.Errorf("%s: call %d is %+v, want %+v", r.Job, i, got, c)
		}
	}
	if r.Usage == nil || r.Usage.Prompt != want.usage.Prompt || r.Usage.Completion != want.usage.Completion {
		t.Errorf("%s: usage %+v, want %+v", r.Job, r.Usage, want.usage)
	}
	if r.Next != conclusion {
		t.Errorf("%s: the next answer is %q, want %q", r.Job, r.Next, conclusion)
	}
	judgeTold(t, r.Job, want, m)
}

// judgeTold looks at what the model knows of the calls in the job's last
// request: all that it made, the denied ones too.
func judgeTold(t *testing.T, job string, want expected, m *model) {
	t.Helper()
	told, requests := m.told(job)
	if requests != want.requests {
		t.Errorf("%s: the model was asked %d times, want %d", job, requests, want.requests)
	}
	made := callsOf(job)
	if scenarioOf(job) == edit {
		made[0].Arguments = editedArguments(job)
	}
	if len(told) != len(made) {
		t.Errorf("%s: the model knows of %d calls, it made %d", job, len(told), len(made))
		return
	}
	for i, c := range made {
		got := told[i]
		if got.Call.ID != c.ID || got.Call.Name != c.Name || !sameJSON(got.Call.Arguments, c.Arguments) {
			t.Errorf("%s: the model knows call %d as %+v, it made %+v", job, i, got.Call, c)
		}
		if !strings.Contains(got.Result, want.told[i]) {
			t.Errorf("%s: of call %d the model was told %q, without %q", job, i, got.Result, want.told[i])
		}
	}
}

func sameJSON(a, b string) bool {
	var left, right any
	return json.Unmarshal([]byte(a), &left) == nil && json.Unmarshal([]byte(b), &right) == nil && reflect.DeepEqual(left, right)
}
