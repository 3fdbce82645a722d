//go:build clients

package clients_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/conformance"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// scenario is what a reviewer does with the calls of a job.
type scenario string

const (
	approve    scenario = "approve"
	deny       scenario = "deny"       // the only call: the model continues by itself
	denyFirst  scenario = "deny-first" // of two
	denySecond scenario = "deny-second"
	edit       scenario = "edit"
	question   scenario = "question"  // the model asks people, and continues by itself
	questions  scenario = "questions" // three of them beside a call, which is approved
	secret     scenario = "secret"    // the model asks for a secret, for an approved call; results are redacted, denied and edited
	hold       scenario = "hold"      // approve both, after holdTime of heartbeats
	silent     scenario = "silent"    // the same, before any text of the model
	restart    scenario = "restart"   // approve it after heldcall was restarted
	slow       scenario = "slow"      // the model writes both for slowTime, and they are approved
	// Users of one application write the same: see TestUsersOfOneKey.
	ann   scenario = "ann"   // the only call is denied
	bob   scenario = "bob"   // it is approved
	carol scenario = "carol" // it is denied
	// The client has a total time-out: see TestImpatientClients.
	announced scenario = "announced"   // no person decides
	givesUp   scenario = "gives-up"    // approve it after the client has asked again
	sdkAsks   scenario = "sdk-retries" // the same
)

const (
	keepalive = 2 * time.Second
	fullHold  = time.Minute
	slowTime  = 130 * time.Second // more than LangChain for Python waits for a chunk
	patience  = 15 * time.Minute  // for all that is not held
	// How many programs start at the same time: all at once they take the processor from heldcall, which then refuses
	// requests because its store takes too long.
	starting   = 3
	note       = "not this one"
	editedNote = "too much"
)

// holdTime is how long the hold scenario holds. HELDCALL_HOLD shortens it while
// working on a client.
func holdTime(t *testing.T) time.Duration {
	text := os.Getenv("HELDCALL_HOLD")
	if text == "" {
		return fullHold
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("HELDCALL_HOLD: %v", err)
	}
	return d
}

func scenarioOf(job string) scenario { return scenario(strings.Split(job, "/")[1]) }

// report is the output of a client's program for a job. Finish is null if the SDK does not
// report why an answer ended, Prompt if it does not count it.
type report struct {
	Job   string `json:"job"`
	Text  string `json:"text"`
	Calls []struct {
		ID        string `json:"id"`
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"calls"`
	Finish *string `json:"finish"`
	Usage  *struct {
		Prompt     *int `json:"prompt"`
		Completion int  `json:"completion"`
	} `json:"usage"`
	Next  string `json:"next"`
	Tries int    `json:"tries"` // requests for the first answer that the program made
	Error string `json:"error"`
}

// TestClients lets every client talk to the model through heldcall, in every
// scenario and mode at the same time, so that the long holds are waited for
// once; and for control without heldcall, which is the label control.
func TestClients(t *testing.T) {
	clients := install(t)
	m := newModel()
	upstream := startModel(t, m).URL()
	all := []jobs{{label: "control", baseURL: upstream, scenarios: []scenario{approve, silent}}}
	var listeners []*listener
	for _, heartbeat := range []string{"auto", "comment", "event"} {
		scenarios := []scenario{hold, silent}
		if heartbeat == "auto" {
			scenarios = []scenario{approve, deny, denyFirst, denySecond, edit, question, questions, secret, hold, silent}
		}
		h := conformance.StartHeldcall(t, conformance.Options{
			Upstream: upstream, Policy: questionPolicy, Keepalive: keepalive, Heartbeat: heartbeat,
			Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})),
		})
		review(t, h)
		each := jobs{label: heartbeat, baseURL: h.Proxy + "/v1", scenarios: scenarios}
		if heartbeat != "auto" {
			each.without = isWhole // a whole answer is kept waiting in one way
		}
		all = append(all, each)
		listeners = append(listeners, listenAll(t, h.Proxy+"/v1", heartbeat)...)
	}
	all = append(all, jobs{label: "auto", baseURL: all[1].baseURL, scenarios: []scenario{slow}, without: func(mode string) bool { return mode != "stream" }})
	runs := startAll(t, clients, all, m)
	for _, l := range listeners {
		t.Run(l.job, l.judge)
	}
	for _, r := range runs {
		t.Run(r.client.name, func(t *testing.T) { r.judge(t, m) })
	}
	if everyClient() {
		t.Run("table of clients", func(t *testing.T) { judgeTable(t, m) })
	}
}

func startModel(t *testing.T, m *model) *fakemodel.Server {
	t.Helper()
	return startScript(t, m.reply, m)
}

// startScript starts a server that answers by a script, with these models.
func startScript(t *testing.T, script fakemodel.Script, models ...*model) *fakemodel.Server {
	t.Helper()
	server, err := fakemodel.New(script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Close()
		for _, m := range models {
			for _, problem := range m.problems {
				t.Error(problem)
			}
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
	reviewer := &fakemodel.Reviewer{
		Console: h.Console,
		Every:   500 * time.Millisecond,
		Decide:  func(r approvals.Request) *fakemodel.Ruling { return decide(r, held) },
		Refused: func(r approvals.Request, status int, body string) {
			if status == http.StatusServiceUnavailable {
				return // the store is slow while all clients start: it is decided at the next look
			}
			t.Errorf("the ruling on %s was refused: %d %s", r.ID, status, body)
		},
	}
	running.Go(func() {
		if err := reviewer.Run(ctx); err != nil {
			t.Errorf("reviewing: %v", err)
		}
	})
}

func decide(r approvals.Request, held time.Duration) *fakemodel.Ruling {
	if r.Asks() || r.Kind == approvals.KindResult {
		return rulingOfQuestion(r)
	}
	var arguments struct {
		Job string `json:"job"`
	}
	err := json.Unmarshal(r.Arguments, &arguments)
	job, _, _ := strings.Cut(arguments.Job, "#")
	if err != nil || strings.Count(job, "/") != 3 {
		return &fakemodel.Ruling{Action: approvals.ActionDeny, Note: "no job has such a call"}
	}
	first := r.ToolName == "transfer"
	switch s := scenarioOf(job); {
	case (s == hold || s == silent) && time.Since(r.CreatedAt) < held:
		return nil
	case s == announced, (s == givesUp || s == sdkAsks) && time.Since(r.CreatedAt) < 2*impatience:
		return nil
	case s == deny, s == denyFirst && first, s == denySecond && !first:
		return &fakemodel.Ruling{Action: approvals.ActionDeny, Note: note}
	case s == edit:
		return &fakemodel.Ruling{Action: approvals.ActionModifyArgs, Note: editedNote, ModifiedArgs: json.RawMessage(editedArguments(job))}
	}
	return &fakemodel.Ruling{Action: approvals.ActionApprove}
}

func editedArguments(job string) string { return fmt.Sprintf(`{"job":%q,"amount":10}`, job) }

// jobs are the conversations of every client with a URL: one for each of its modes and each
// scenario. label distinguishes them from others.
type jobs struct {
	label     string
	baseURL   string // with the /v1 of OpenAI's SDKs
	scenarios []scenario
	once      bool // end after the first answer
	limits    limits
	without   func(string) bool // whether a mode is left out; nil: none
}

func isWhole(mode string) bool { return strings.Contains(mode, "whole") }

// run is one client's program with its jobs.
type run struct {
	client client
	jobs   []job
	ended  chan struct{}
	// Set before ended is closed.
	reports map[string]report
	err     error
}

// job is one conversation. Its name contains client, scenario, mode and label.
type job struct {
	Name    string `json:"name"`
	Mode    string `json:"mode"`
	BaseURL string `json:"base_url"`
	Once    bool   `json:"once"` // end after the first answer
	// The rest is that of a user of several: see TestUsersOfOneKey.
	Words  string          `json:"words,omitempty"`  // what the user writes, "" for the name
	Fields json.RawMessage `json:"fields,omitempty"` // in every request
	Kept   string          `json:"kept,omitempty"`   // a field that continues what the provider keeps
	limits
}

// limits are time-outs of a client, in seconds; 0 for none.
type limits struct {
	SDK   int `json:"sdk_timeout,omitempty"` // of the SDK, which announces it
	Total int `json:"timeout,omitempty"`     // after which the program ends the connection
	Tries int `json:"tries,omitempty"`       // requests that the program makes until it has an answer
}

// startAll starts every client's program with all of its jobs. A few start at a time, until the model gets their first
// requests.
func startAll(t *testing.T, clients []client, all []jobs, m *model) []*run {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), holdTime(t)+patience)
	var runs []*run
	slots := make(chan struct{}, starting)
	t.Cleanup(func() {
		cancel()
		for _, r := range runs {
			<-r.ended
		}
	})
	for _, c := range clients {
		r := &run{client: c, jobs: []job{}, ended: make(chan struct{})}
		for _, jobs := range all {
			for _, s := range jobs.scenarios {
				for _, mode := range c.modes {
					if jobs.without != nil && jobs.without(mode) {
						continue
					}
					name := strings.Join([]string{c.name, string(s), mode, jobs.label}, "/")
					r.jobs = append(r.jobs, job{Name: name, Mode: mode, BaseURL: jobs.baseURL, Once: jobs.once, limits: jobs.limits})
				}
			}
		}
		runs = append(runs, r)
		go func() {
			defer close(r.ended)
			slots <- struct{}{}
			go func() {
				m.awaitFirst(r)
				<-slots
			}()
			r.reports, r.err = r.play(ctx)
		}()
	}
	return runs
}

// play runs the program to its end and reads its reports.
func (r *run) play(ctx context.Context) (map[string]report, error) {
	work, err := json.Marshal(map[string]any{"jobs": r.jobs})
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
		judge(t, r.client.api, got, m)
	}
}
