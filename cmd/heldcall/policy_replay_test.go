package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/client"
	"github.com/heldcall/heldcall/internal/policylearn"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// TestPolicyReplay records calls with a whole heldcall - allowed by rule and by name,
// approved, denied, rewritten and not strict - and judges them again.
func TestPolicyReplay(t *testing.T) {
	t.Parallel()
	const was = "tools:\n  bash: {resource: command, as: shell}\nrules:\n  - allow: ['bash(ls *)', read]\n  - deny: ['bash(rm *)']\n" +
		"  - rewrite: ['bash(git *)']\n    set: {timeout: 1}\n  - ask: ['bash(git push:*)']\n"
	calls := []fakemodel.Call{
		{ID: "1", Name: "bash", Arguments: `{"command":"ls a"}`},
		{ID: "2", Name: "bash", Arguments: `{"command":"ls a"}`},
		{ID: "3", Name: "bash", Arguments: `{"command":"rm x"}`},
		{ID: "4", Name: "bash", Arguments: `{"command":"git push origin"}`},
		{ID: "5", Name: "read", Arguments: `{"path":"x"}`},
		{ID: "6", Name: "bash", Arguments: `{"command":"ls a","command":"ls b"}`},
	}
	w := startRecorder(t, was, calls)
	answer := make(chan error, 1)
	go func() { answer <- w.post() }()
	w.approve(2)
	if err := <-answer; err != nil {
		t.Fatal(err)
	}

	replays := func(policy string, code int, args ...string) string {
		t.Helper()
		file := filepath.Join(t.TempDir(), "new.yaml")
		if err := os.WriteFile(file, []byte(policy), 0o600); err != nil {
			t.Fatal(err)
		}
		var out, problems bytes.Buffer
		command := append([]string{"policy", "replay", "--policy", file, "--console", w.console.url}, args...)
		if got := execute(t.Context(), command, &streams{nil, &out, &problems}, newHangups()); got != code {
			t.Errorf("%v exits with %d, want %d: %s", args, got, code, problems.String())
		}
		return out.String()
	}
	if got := replays(was, exitDone); got != "6 calls judged: 6 as they were, 0 otherwise; 0 not judged\n" {
		t.Errorf("by the policy of then: %s", got)
	}
	const changed = "default: ask\ntools:\n  bash: {resource: command, as: shell}\nrules:\n  - allow: ['bash(ls *)']\n    limit: {per_turn: 1, then: deny}\n  - allow: ['bash(rm *)', 'bash(git push *)']\n"
	want := []policylearn.Change{
		{Was: "allow", Now: "ask", Calls: 1, Tool: "read", Preview: `{"path":"x"}`, WasRule: "policy.yaml:4", Rule: "default", Reason: "No rule matches this call; the policy's default is to ask."},
		{Was: "ask", Now: "allow", Calls: 1, Tool: "bash", Preview: "git push origin", WasRule: "policy.yaml:8", Rule: "new.yaml:7", Reason: "A policy rule allows bash(git push *)."},
		{Was: "allow", Now: "deny", Calls: 1, Tool: "bash", Preview: "ls a", WasRule: "policy.yaml:4", Rule: "new.yaml:5", Reason: "The policy's limit of 1 call a turn for bash(ls *) is reached."},
		{Was: "deny", Now: "allow", Calls: 1, Tool: "bash", Preview: "rm x", WasRule: "policy.yaml:5", Rule: "new.yaml:7", Reason: "A policy rule allows bash(rm *)."},
	}
	var got struct {
		Judged, Same, Changed, Skipped int
		Changes                        []policylearn.Change
	}
	if err := json.Unmarshal([]byte(replays(changed, exitFailed, "-o", "json")), &got); err != nil {
		t.Fatal(err)
	}
	byTool := func(all []policylearn.Change) map[policylearn.Change]bool {
		set := map[policylearn.Change]bool{}
		for _, item := range all {
			set[item] = true
		}
		return set
	}
	if diff := cmp.Diff(byTool(want), byTool(got.Changes)); diff != "" || got.Judged != 6 || got.Same != 2 || got.Changed != 4 {
		t.Errorf("%+v\n%s", got, diff)
	}
	if got := replays(changed, exitFailed); !strings.Contains(got, "deny   allow  1      bash  rm x") || !strings.HasSuffix(got, "6 calls judged: 2 as they were, 4 otherwise; 0 not judged\n") {
		t.Errorf("for people: %s", got)
	}
	for _, args := range [][]string{{"--agent", "nobody"}, {"--since", "0s"}} {
		if got := replays(changed, exitDone, args...); got != "0 calls judged: 0 as they were, 0 otherwise; 0 not judged\n" {
			t.Errorf("%v: %s", args, got)
		}
	}
	replays(changed, exitUsage, "--since", "yesterday")
	replays("default: maybe\n", exitFailed)
}

// recorder is a heldcall that records what becomes of some calls.
type recorder struct {
	t       *testing.T
	app     *app.App
	console struct {
		*client.Client
		url string
	}
}

func startRecorder(t *testing.T, policy string, calls []fakemodel.Call) *recorder {
	t.Helper()
	upstream, err := fakemodel.New(func(r *fakemodel.Request) fakemodel.Reply { return fakemodel.Answer{Calls: calls}.Reply(r) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(upstream.Close)
	dir := t.TempDir()
	c := app.DefaultConfig(func(string) (string, bool) { return "", false })
	c.Proxy.Listen, c.Console.Listen, c.NATS.Listen, c.NATS.Dir = "127.0.0.1:0", "127.0.0.1:0", "", filepath.Join(dir, "data")
	c.Proxy.Upstreams = []app.Upstream{{Prefix: "/v1", URL: upstream.URL()}}
	c.Policy.File, c.Policy.FileNamed = filepath.Join(dir, "policy.yaml"), true
	if err := os.WriteFile(c.Policy.File, []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
	w := &recorder{t: t}
	if w.app, err = app.New(app.Options{Config: c, Version: "test"}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.app.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	<-w.app.Started()
	w.console.url = w.app.ConsoleURL()
	if w.console.Client, err = client.New(w.console.url); err != nil {
		t.Fatal(err)
	}
	return w
}

// post is the agent's request.
func (w *recorder) post() error {
	body := `{"model":"m","stream":true,"messages":[{"role":"user","content":"do it"}],"tools":[{"type":"function","function":{"name":"bash"}},{"type":"function","function":{"name":"read"}}]}`
	response, err := http.Post("http://"+w.app.ProxyAddr()+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, err = new(bytes.Buffer).ReadFrom(response.Body)
	return err
}

// approve waits for n pending requests and approves them.
func (w *recorder) approve(n int) {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		page, err := w.console.Requests(w.t.Context(), approvals.Filter{Status: approvals.StatusPending})
		if err != nil || time.Now().After(deadline) {
			w.t.Fatalf("%d requests wait (%v)", len(page.Items), err)
		}
		if len(page.Items) < n {
			continue
		}
		for _, r := range page.Items {
			if _, err := w.console.Decide(w.t.Context(), approvals.Decision{RequestID: r.ID, Action: approvals.ActionApprove}); err != nil {
				w.t.Fatal(err)
			}
		}
		return
	}
}

// TestPolicyLearn records approvals and a denial with a whole heldcall, and learns rules from them.
func TestPolicyLearn(t *testing.T) {
	t.Parallel()
	const was = "# of the team\ntools:\n  bash: {resource: command, as: shell}\nrules:\n  - deny: ['bash(rm *)'] # never\n\n# nothing yet\ntaint: []\n"
	calls := []fakemodel.Call{
		{ID: "1", Name: "bash", Arguments: `{"command":"go vet ./a"}`},
		{ID: "2", Name: "bash", Arguments: `{"command":"go vet ./b"}`},
		{ID: "3", Name: "bash", Arguments: `{"command":"go vet ./c"}`},
		{ID: "4", Name: "bash", Arguments: `{"command":"make"}`},
	}
	w := startRecorder(t, was, calls)
	answer := make(chan error, 1)
	go func() { answer <- w.post() }()
	w.approve(4)
	if err := <-answer; err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, []byte(was), 0o640); err != nil {
		t.Fatal(err)
	}
	learns := func(code int, args ...string) string {
		t.Helper()
		var out, problems bytes.Buffer
		command := append([]string{"policy", "learn", "--policy", file, "--console", w.console.url}, args...)
		if got := execute(t.Context(), command, &streams{nil, &out, &problems}, newHangups()); got != code {
			t.Errorf("%v exits with %d, want %d: %s", args, got, code, problems.String())
		}
		return out.String()
	}
	if got := learns(exitDone, "--verbose"); got != "Not proposed:\n"+
		"  bash(go vet ./a): approved once in 1 session; a proposal needs 3 in 2\n"+
		"  bash(go vet ./b): approved once in 1 session; a proposal needs 3 in 2\n"+
		"  bash(go vet ./c): approved once in 1 session; a proposal needs 3 in 2\n"+
		"  bash(go vet:./**): approved 3 times in 1 session; a proposal needs 3 in 2\n"+
		"  bash(make): approved once in 1 session; a proposal needs 3 in 2\n"+
		"No rule is proposed, from 4 requests.\n" {
		t.Errorf("without enough sessions:\n%s", got)
	}
	line := "- allow: ['bash(go vet:./**)'] # approved 3 times in 1 session by " + time.Now().UTC().Format(time.DateOnly)
	want := "bash(go vet:./**)\n  approved 3 times in 1 session, never denied; 3 prompts fewer, of 4\n  allows " + approvals.AllowsOf("bash(go vet:./**)") +
		"\n     1x bash go vet ./a\n     1x bash go vet ./b\n     1x bash go vet ./c\n\n" +
		"--- " + file + "\n+++ " + file + "\n@@ -3,6 +3,7 @@\n   bash: {resource: command, as: shell}\n rules:\n   - deny: ['bash(rm *)'] # never\n+  " + line + "\n \n # nothing yet\n taint: []\n"
	if got := learns(exitDone, "--sessions", "1"); got != want {
		t.Errorf("the diff: %s", cmp.Diff(want, got))
	}
	var found approvals.Proposals
	if err := json.Unmarshal([]byte(learns(exitDone, "--sessions", "1", "--write", "-o", "json")), &found); err != nil || len(found.Items) != 1 || found.Items[0].Line != line {
		t.Errorf("as JSON: %+v, %v", found, err)
	}
	after := strings.Replace(was, "# never\n", "# never\n  "+line+"\n", 1)
	info, err := os.Stat(file)
	if content, _ := os.ReadFile(file); err != nil || string(content) != after || info.Mode().Perm() != 0o640 {
		t.Errorf("the written policy, %v:\n%s", info.Mode(), content)
	}
	if got := learns(exitDone, "--sessions", "1"); got != "No rule is proposed, from 1 requests.\n" {
		t.Errorf("after it was written: %s", got)
	}
	if got := learns(exitDone, "--sessions", "1", "--agent", "nobody"); got != "No rule is proposed, from 0 requests.\n" {
		t.Errorf("of another agent: %s", got)
	}
	learns(exitUsage, "--approved", "0")
	if err := os.WriteFile(file, []byte("rules: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	learns(exitFailed, "--sessions", "1")
}
