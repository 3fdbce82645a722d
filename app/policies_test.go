package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
)

// writeFile writes what a test needs and returns where.
func writeFile(t *testing.T, file, content string) string {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// logs waits until the log has one more line with a text than it had before do.
func (w *world) logs(text string, do func()) {
	w.t.Helper()
	before := strings.Count(w.log.String(), text)
	do()
	for deadline := time.Now().Add(soon); strings.Count(w.log.String(), text) == before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("%q is not in the log: %s", text, w.log.String())
		}
	}
}

// TestPolicyOfAClient: a client with a policy of its own is judged by that alone,
// which is reloaded as the main one is; so are edits of its calls.
func TestPolicyOfAClient(t *testing.T) {
	t.Parallel()
	own := writeFile(t, filepath.Join(t.TempDir(), "own.yaml"), allowAll)
	w := build(t, denyAll, callThenText, func(c *app.Config) {
		c.Proxy.Clients = []app.Client{{Key: "own", Agent: "own", Policy: own}, {Key: "other", Agent: "other"}}
	})
	gets := func(key string) bool {
		return leaks(w.post("/v1/chat/completions", wholeRequest, "Authorization", "Bearer "+key).rest()) != ""
	}
	if !gets("own") || gets("other") || gets("nobody") {
		t.Error("a client is not judged by its own policy, or others are")
	}
	w.logs("the policy has changed", func() { writeFile(t, own, denyAll) })
	if gets("own") {
		t.Error("the changed policy does not hold")
	}
	w.logs("own.yaml:1: default: is", func() { writeFile(t, own, "default: maybe\n") })
	if gets("own") || !strings.Contains(w.get(w.app.ConsoleURL()+"/metrics"), "heldcall_policy_valid 0") {
		t.Error("a bad policy is taken, or not reported")
	}
	w.logs("the policy has changed", func() { writeFile(t, own, "rules:\n  - ask: [bash]\n  - deny: ['bash(*rm*)']\n    match: arguments\n") })
	answer := make(chan bool, 1)
	go func() { answer <- gets("own") }()
	r := w.pending(1)[0]
	if r.Rule != "own.yaml:2" {
		t.Errorf("the rule is %s", r.Rule)
	}
	edit := approvals.Decision{RequestID: r.ID, Action: approvals.ActionModifyArgs, ModifiedArgs: []byte(`{"command":"rm x"}`)}
	if _, err := w.console.Decide(t.Context(), edit); err == nil || !strings.Contains(err.Error(), "own.yaml:3 denies them") {
		t.Errorf("an edit that the client's policy denies: %v", err)
	}
	w.decide(r.ID, approvals.Decision{Action: approvals.ActionApprove})
	if !<-answer {
		t.Error("the approved call was not released")
	}
}

// TestPolicyIsReadAgain: a requested reload logs its result, changed or not.
func TestPolicyIsReadAgain(t *testing.T) {
	t.Parallel()
	file := ""
	w := build(t, denyAll, callThenText, func(c *app.Config) { file = c.Policy.File })
	w.logs("the policy has been read again", w.app.Reload)
	w.logs("refused", func() { writeFile(t, file, "default: maybe\n") })
	w.logs("refused", w.app.Reload)
	writeFile(t, file, denyAll)
	w.logs("the policy has", w.app.Reload)
}
