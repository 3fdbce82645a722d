package judge_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/approvals/policy/workspace"
	"github.com/heldcall/heldcall/intercept"
)

const editHere = "workspace: [WORK]\nrules:\n  - allow: [\"Edit(./**)\"]\n"

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func folderOf(t *testing.T, path string) *workspace.Workspace {
	t.Helper()
	folder, err := workspace.NewFolder(path, "")
	if err != nil {
		t.Fatal(err)
	}
	return workspace.New([]workspace.Folder{folder})
}

// TestWorkspaceOfAClient: a client's workspace and folder count in place of those of the policy.
func TestWorkspaceOfAClient(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "policy.yaml")
	writeFile(t, file, strings.ReplaceAll(editHere, "WORK", "main"))
	j := judge.New(judge.Options{File: file, Clients: []judge.ClientPolicy{
		{KeySHA256: "a", Principal: ann, Workspace: folderOf(t, filepath.Join(dir, "ann"))},
		{KeySHA256: "b", Principal: bob, Folder: filepath.Join(dir, "main", "b")},
	}})
	if err := j.Load(); err != nil {
		t.Fatal(err)
	}
	j.LoadGrants()
	for _, tt := range []struct {
		key, path string
		want      policy.Action
	}{
		{"", dir + "/main/x", policy.Allow},
		{"", dir + "/ann/x", policy.Ask},
		{"", "x", policy.Ask},
		{"a", dir + "/ann/x", policy.Allow},
		{"a", dir + "/main/x", policy.Ask},
		{"b", "x", policy.Allow},
		{"b", "../x", policy.Allow},
		{"b", "../../x", policy.Ask},
	} {
		call := intercept.Call{Name: "Edit", Arguments: `{"file_path":"` + tt.path + `","old_string":"a","new_string":"b"}`}
		got, err := j.For(tt.key, "").Judge(t.Context(), judge.Origin{}, call, nil)
		if err != nil || got.Verdict.Action != tt.want || got.Policy != "policy.yaml" {
			t.Errorf("client %q, %s: %s by %s (%v), want %s", tt.key, tt.path, got.Verdict.Action, got.Verdict.Rule, err, tt.want)
		}
	}
}

// TestWorkspaceWithOwnFiles: a policy whose workspace holds heldcall's files is refused.
func TestWorkspaceWithOwnFiles(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "policy.yaml")
	writeFile(t, file, strings.ReplaceAll(editHere, "WORK", "main"))
	for own, want := range map[string]string{filepath.Join(dir, "main", "state"): "holds heldcall's own file", filepath.Join(dir, "state"): ""} {
		err := judge.New(judge.Options{File: file, Own: []string{own}}).Load()
		if (want == "") != (err == nil) || (err != nil && !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", own, err, want)
		}
	}
}

// TestPolicyInItsOwnWorkspace: while heldcall runs, a policy that the agent can write is read again
// on request only.
func TestPolicyInItsOwnWorkspace(t *testing.T) {
	for folder, held := range map[string]bool{".": true, "main": false} {
		dir := t.TempDir()
		file := filepath.Join(dir, "policy.yaml")
		rules := strings.ReplaceAll(editHere, "WORK", folder)
		writeFile(t, file, rules)
		j := judge.New(judge.Options{File: file})
		if err := j.Load(); err != nil {
			t.Fatal(err)
		}
		j.LoadGrants()
		writeFile(t, file, rules+"  - allow: [bash]\n")
		source := j.Sources()[0]
		changed, err := source.Reload(false)
		if changed == held || (err != nil) != held || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("workspace %s: changed %t, %v", folder, changed, err)
		}
		if changed, err := source.Reload(true); !changed || err != nil {
			t.Errorf("workspace %s, on request: changed %t, %v", folder, changed, err)
		}
	}
}

// TestByPolicyInTheWorkspace: a policy that the agent could have written denies calls that wait, and approves none.
func TestByPolicyInTheWorkspace(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "policy.yaml")
	for rules, want := range map[string]struct{ outside, inside approvals.Action }{
		"  - allow: [\"Edit(./**)\"]\n":        {approvals.ActionApprove, ""},
		"  - deny: [Edit]\n":                   {approvals.ActionDeny, approvals.ActionDeny},
		"  - ask: [Edit]\n":                    {"", ""},
		"  - deny: [\"Edit(./private/**)\"]\n": {"", ""},
	} {
		for _, work := range []string{"main", "."} {
			writeFile(t, file, "default: ask\nworkspace: ["+work+"]\nrules:\n"+rules)
			j := judge.New(judge.Options{File: file})
			if err := j.Load(); err != nil {
				t.Fatal(err)
			}
			j.LoadGrants()
			expected := want.outside
			if work == "." {
				expected = want.inside
			}
			arguments, _ := json.Marshal(map[string]string{"file_path": filepath.Join(dir, "main", "x.go"), "old_string": "a", "new_string": "b"})
			d, ok := j.ByPolicy(t.Context(), approvals.Request{Kind: approvals.KindPermission, ToolName: "Edit", Arguments: arguments, RequiredApprovals: 1, Details: approvals.Details{Policy: "policy.yaml"}})
			if ok != (expected != "") || (ok && (d.Action != expected || d.ReviewerID != approvals.ReviewerPolicy || d.Rule != "policy.yaml:4")) {
				t.Errorf("%q, workspace %s: %s by %s (%t), want %q", rules, work, d.Action, d.Rule, ok, expected)
			}
		}
	}
}
