package app_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// besideWorkspace starts a heldcall that sees the files of its agent, which writes to a repository beside its workspace.
func besideWorkspace(t *testing.T) (w *world, other string) {
	t.Helper()
	dir := t.TempDir()
	work, other := filepath.Join(dir, "work"), filepath.Join(dir, "other")
	for _, folder := range []string{work, filepath.Join(other, ".git"), filepath.Join(other, "src")} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	policy := fmt.Sprintf("default: ask\nworkspace: [%q]\nrules:\n  - allow: [\"Write(./**)\"]\n", work)
	return build(t, policy, writing(filepath.Join(other, "src", "a.go")), twoClients, func(c *app.Config) {
		c.Policy.WorkDir, c.Policy.SharedFiles = work, true
	}), other
}

// writing calls Write for a file, until the model gets a result or a denial.
func writing(file string) fakemodel.Script {
	return func(r *fakemodel.Request) fakemodel.Reply {
		if strings.Contains(string(r.Body), `"role":"tool"`) {
			return fakemodel.Answer{Text: "Understood."}.Reply(r)
		}
		return fakemodel.Answer{Calls: []fakemodel.Call{{ID: "call_sesame", Name: "Write", Arguments: fmt.Sprintf(`{"file_path":%q,"content":"npm run lint"}`, file)}}}.Reply(r)
	}
}

// TestRunFolder: a reviewer adds a folder to the workspace of one run. What waits there passes, and so do later calls of the
// run until the folder is taken away.
func TestRunFolder(t *testing.T) {
	t.Parallel()
	w, other := besideWorkspace(t)
	run := []string{"X-Heldcall-Session", "s", "X-Heldcall-Run", "r1"}
	answer := w.turn("ann-key", run...)
	r := w.pending(1)[0]
	if r.Details.Folder != other {
		t.Errorf("the request names the folder %q", r.Details.Folder)
	}
	g, err := w.console.Runs().AddFolder(t.Context(), r.RunID, other)
	if err != nil {
		t.Fatal(err)
	}
	<-answer
	ended, err := w.console.Request(t.Context(), r.ID)
	if err != nil || ended.Status != approvals.StatusApproved || ended.Decisions[0].Rule != "grant "+g.ID {
		t.Errorf("the call that waited: %+v, %v", ended, err)
	}
	w.passes("ann-key", run...)
	w.asks("ann-key", "X-Heldcall-Session", "s", "X-Heldcall-Run", "r2")
	w.asks("bob-key", run...)
	if used := w.grants(1)[0]; used.Folder != other || used.Uses == 0 {
		t.Errorf("after its use: %+v", used)
	}
	if _, err := w.console.RevokeGrant(t.Context(), g.ID); err != nil {
		t.Fatal(err)
	}
	w.asks("ann-key", run...)
	added, taken := w.eventsOf(approvals.EventWorkspaceAdded), w.eventsOf(approvals.EventGrantRevoked)
	if len(added) != 1 || len(taken) != 1 || added[0].Grant.Folder != other || added[0].ReviewerID != "local" {
		t.Errorf("added %+v, taken away %+v", added, taken)
	}
}

// TestRunFolderRefused: folders that the key workspace refuses, those with files of heldcall, and unknown runs.
func TestRunFolderRefused(t *testing.T) {
	t.Parallel()
	w, other := besideWorkspace(t)
	answer := w.turn("ann-key", "X-Heldcall-Session", "s", "X-Heldcall-Run", "r1")
	r := w.pending(1)[0]
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"", "/", "other", "~", home, filepath.Dir(home), "/etc", "/etc/heldcall", filepath.Dir(w.policyFile), other + "/*", "/" + strings.Repeat("a", 5000)} {
		invalid := (*approvals.InvalidError)(nil)
		if _, err := w.console.Runs().AddFolder(t.Context(), r.RunID, folder); !errors.As(err, &invalid) || invalid.Field != "folder" {
			t.Errorf("%.40q: %v", folder, err)
		}
	}
	if _, err := w.console.Runs().AddFolder(t.Context(), "no-such-run", other); !errors.Is(err, approvals.ErrUnknownRun) {
		t.Errorf("an unknown run: %v", err)
	}
	w.decide(r.ID, approvals.Decision{Action: approvals.ActionDeny})
	<-answer
	without := build(t, "default: ask\n", writes, twoClients)
	answer = without.turn("ann-key", "X-Heldcall-Session", "s")
	asked := without.pending(1)[0]
	if _, err := without.console.Runs().AddFolder(t.Context(), asked.RunID, other); !errors.As(err, new(*approvals.InvalidError)) || asked.Details.Folder != "" {
		t.Errorf("without a workspace: %v, folder %q", err, asked.Details.Folder)
	}
	without.decide(asked.ID, approvals.Decision{Action: approvals.ActionDeny})
	<-answer
}
