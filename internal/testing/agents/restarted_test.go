//go:build agents && unix

package agents_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/client"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/heldcall/heldcall/internal/testing/testdeps"
)

// startedAgain are the agents that are killed and started again, with whether one card takes the place
// of two: they write the time into their prompt.
var startedAgain = map[string]bool{
	"codex": false, "codex-code-mode": false, "claude-code": false, "opencode-responses": false, "opencode-chat": false, "opencode-messages": false,
	"pi-responses": false, "copilot-chat": true, "copilot-messages": true,
}

// TestStartedAgain kills an agent while its call is held, and starts it again with the same words. People
// see one card for the call.
func TestStartedAgain(t *testing.T) {
	heldcall := testdeps.Heldcall(t)
	agents := fleet(t)
	if *all {
		agents = append(agents, more(t)...)
	}
	for _, a := range agents {
		replaced, ok := startedAgain[a.name]
		if !ok {
			continue
		}
		dir := testdeps.Install(t, a.source)
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			a.workStartedAgain(t, dir, heldcall, replaced)
		})
	}
}

func (a agent) workStartedAgain(t *testing.T, dir, program string, replaced bool) {
	k := newTask(a)
	k.model.Rules = []fakemodel.Rule{{When: func(fakemodel.Conversation) bool { return true }, Say: oneStep(a)}}
	h := configure(t, serve(t, k))
	r := newRun(t, a, h.endpoint)
	config, err := os.ReadFile(h.config)
	if err == nil {
		text := strings.Replace(string(config), "{file: policy.yaml}", "{file: policy.yaml, workdir: "+r.work+"}", 1)
		err = os.WriteFile(h.config, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	h.serve(t, program)
	argv, proxy := a.connect(r, dir, h.endpoint), outside(t, a.elsewhere)
	console, err := client.New(h.console)
	if err != nil {
		t.Fatal(err)
	}
	requests := func() []approvals.Request {
		page, err := console.Requests(t.Context(), approvals.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		return page.Items
	}
	until := func(what string, done func(all []approvals.Request) bool) {
		t.Helper()
		for deadline := time.Now().Add(3 * time.Minute); !done(requests()); time.Sleep(50 * time.Millisecond) {
			if time.Now().After(deadline) {
				log, _ := os.ReadFile(h.log)
				t.Fatalf("never: %s; requests %+v\n%s", what, requests(), log)
			}
		}
	}
	r.kill(t, proxy, argv, func() { until("the call is held", func(all []approvals.Request) bool { return len(all) == 1 }) })
	held := onlyPending(t, h)
	until("the turn has no agent", func(all []approvals.Request) bool {
		return all[0].Agent != nil && all[0].Agent.State == approvals.AgentDetached
	})
	ended := make(chan struct{})
	go func() { defer close(ended); r.play(t, proxy, slices.Clone(argv)) }()
	until("the agent that was started again has the turn", func(all []approvals.Request) bool {
		return slices.ContainsFunc(all, func(q approvals.Request) bool {
			return q.Status == approvals.StatusPending && q.Agent != nil && q.Agent.State == approvals.AgentAttached
		})
	})
	asked := onlyPending(t, h)
	ghost, err := console.Request(t.Context(), held.ID)
	if err != nil {
		t.Fatal(err)
	}
	switch before := asked.Details.Restarted; {
	case !replaced && asked.ID != held.ID:
		t.Errorf("people are asked by request %s, and were by %s", asked.ID, held.ID)
	case replaced && (before == nil || before.RequestID != held.ID || ghost.Details.CancelReason != approvals.CancelAgentRestarted):
		t.Errorf("the card has %+v; the one before has ended because %q", before, ghost.Details.CancelReason)
	}
	if _, err := console.Decide(t.Context(), approvals.Decision{RequestID: asked.ID, Action: approvals.ActionApprove}); err != nil {
		t.Fatal(err)
	}
	<-ended
	first := steps[0]
	if content, err := os.ReadFile(filepath.Join(r.work, first.file())); strings.TrimSpace(string(content)) != first.said() {
		t.Errorf("the approved call has not run: %v, %q", err, content)
	}
	if !a.silent && !strings.Contains(r.output, conclusion) {
		t.Errorf("the agent does not end with %q", conclusion)
	}
	if all := requests(); len(all) != map[bool]int{false: 1, true: 2}[replaced] {
		t.Errorf("%d requests to people", len(all))
	}
}

// oneStep makes the first call each time until the model reads its result.
func oneStep(a agent) func(fakemodel.Conversation) fakemodel.Answer {
	return func(c fakemodel.Conversation) fakemodel.Answer {
		if slices.ContainsFunc(c.Messages, func(m fakemodel.Message) bool {
			return m.Role == "tool" && strings.Contains(m.Content, steps[0].said())
		}) {
			return fakemodel.Answer{Text: conclusion}
		}
		return fakemodel.Answer{Text: opening, Calls: []fakemodel.Call{a.call(steps[0].id(), steps[0].script())}}
	}
}

// kill starts the agent, and kills it with its children when held returns.
func (r *run) kill(t *testing.T, proxy string, argv []string, held func()) {
	t.Helper()
	program := exec.Command(argv[0], argv[1:]...)
	program.Dir = r.work
	program.Env = append(r.environment, "HTTP_PROXY="+proxy, "HTTPS_PROXY="+proxy, "http_proxy="+proxy, "https_proxy="+proxy)
	program.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = program.Wait() }()
	defer func() {
		if err := syscall.Kill(-program.Process.Pid, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}()
	held()
}
