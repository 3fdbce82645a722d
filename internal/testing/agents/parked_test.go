//go:build agents

package agents_test

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/client"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/heldcall/heldcall/internal/testing/testdeps"
)

// goOn is the message with which an agent that has ended is started again.
const goOn = "Go on with the task."

// resumed is the command of an agent that continues its last conversation. Qwen Code is
// not among them: it changes the message that opens the conversation, by which heldcall
// knows a session without a name.
var resumed = map[string]func(argv []string) []string{
	"codex": func(argv []string) []string {
		at := slices.Index(argv, "exec")
		return append(slices.Insert(argv[:len(argv)-1], at+1, "resume", "--last"), goOn)
	},
	"claude-code":   func(argv []string) []string { return append(argv[:len(argv)-1], "--continue", goOn) },
	"opencode-chat": func(argv []string) []string { return append(argv[:len(argv)-1], "--continue", goOn) },
}

// TestParked lets the call of an unattended agent be parked: the agent's run ends with
// the notice. After the approval the agent is started again with its conversation, makes
// the call again, and the call runs.
func TestParked(t *testing.T) { eachResumed(t, 0, agent.workParked) }

// eachResumed plays a scenario with each agent that can resume a run, at the same time. again
// makes the arguments that resume a run from those that began it.
func eachResumed(t *testing.T, scenario int, work func(a agent, t *testing.T, dir, heldcall string, again func([]string) []string)) {
	heldcall := testdeps.Heldcall(t)
	agents := slices.DeleteFunc(fleet(t), func(a agent) bool { return resumed[a.name] == nil })
	for _, a := range ofPart(t, scenario, agents) {
		dir := testdeps.Install(t, a.source)
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			work(a, t, dir, heldcall, resumed[a.name])
		})
	}
}

func (a agent) workParked(t *testing.T, dir, heldcall string, again func([]string) []string) {
	k := newTask(a)
	k.model.Rules = []fakemodel.Rule{{When: func(fakemodel.Conversation) bool { return true }, Say: parkedAnswers(a)}}
	h := configure(t, serve(t, k), "hold: {mode: park, park_after: 2s}\n")
	h.serve(t, heldcall)
	r := newRun(t, a, h.endpoint)
	argv := a.connect(r, dir, h.endpoint)
	proxy := outside(t, a.elsewhere)
	r.play(t, proxy, argv)
	request := onlyPending(t, h)
	if !strings.Contains(r.output, request.ID) {
		t.Errorf("the agent does not end with the notice of %s", request.ID)
	}
	first := steps[0]
	if place := r.find(t, first.said()); place != "" {
		t.Errorf("the parked call reached the agent: it is in %s", place)
	}
	console, err := client.New(h.console)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := console.Decide(t.Context(), approvals.Decision{RequestID: request.ID, Action: approvals.ActionApprove}); err != nil {
		t.Fatal(err)
	}
	r.play(t, proxy, again(slices.Clone(argv)))
	content, err := os.ReadFile(filepath.Join(r.work, first.file()))
	if strings.TrimSpace(string(content)) != first.said() {
		t.Errorf("the approved call has not run: %v, %q", err, content)
	}
	if !a.silent && !strings.Contains(r.output, conclusion) {
		t.Errorf("the agent does not end with %q", conclusion)
	}
	if t.Failed() {
		log, _ := os.ReadFile(h.log)
		t.Logf("heldcall's log:\n%s", log)
	}
}

// parkedAnswers makes the first call, and again when the model reads that it was approved.
func parkedAnswers(a agent) func(fakemodel.Conversation) fakemodel.Answer {
	var calls atomic.Int32
	return func(c fakemodel.Conversation) fakemodel.Answer {
		approved := false
		for _, m := range c.Messages {
			if m.Role == "tool" && strings.Contains(m.Content, steps[0].said()) {
				return fakemodel.Answer{Text: conclusion}
			}
			approved = approved || (m.Role == "tool" && strings.Contains(m.Content, "approved since then"))
		}
		if n := calls.Add(1); n > 1 && !approved {
			return fakemodel.Answer{Text: "It still waits."}
		}
		id := steps[0].id() + map[bool]string{false: "_first", true: "_again"}[approved]
		return fakemodel.Answer{Text: opening, Calls: []fakemodel.Call{a.call(id, steps[0].script())}}
	}
}

// serve runs heldcall serve until the test ends.
func (h *heldcall) serve(t *testing.T, program string) {
	t.Helper()
	log, err := os.Create(h.log)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	serving := exec.CommandContext(ctx, program, "serve", "--config", h.config)
	serving.Dir = filepath.Dir(h.config)
	serving.Stdout, serving.Stderr = log, log
	serving.Cancel = func() error { return serving.Process.Signal(syscall.SIGTERM) }
	serving.WaitDelay = 10 * time.Second
	if err := serving.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); _ = serving.Wait(); _ = log.Close() })
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		resp, err := http.Get(h.console + "/readyz")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("heldcall is not ready: %v", err)
		}
	}
}

// onlyPending returns the one pending request.
func onlyPending(t *testing.T, h *heldcall) approvals.Request {
	t.Helper()
	console, err := client.New(h.console)
	if err != nil {
		t.Fatal(err)
	}
	page, err := console.Requests(t.Context(), approvals.Filter{Status: approvals.StatusPending})
	if err != nil || len(page.Items) != 1 {
		t.Fatalf("%d requests are pending, %v", len(page.Items), err)
	}
	return page.Items[0]
}
