package judge_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/intercept"
)

// An agent that joins is judged by its own policy and folder. Verdicts for other agents stay the same.
func TestJoin(t *testing.T) {
	dir := t.TempDir()
	main, other := filepath.Join(dir, "main.yaml"), filepath.Join(dir, "other.yaml")
	writeFile(t, main, strings.ReplaceAll(editHere, "WORK", "main"))
	writeFile(t, other, strings.ReplaceAll(editHere, "WORK", "other"))
	first := approvals.Principal{Tenant: "default", Agent: "codex ~/main"}
	second := approvals.Principal{Tenant: "default", Agent: "codex ~/other"}
	j := judge.New(judge.Options{File: main, Principals: []approvals.Principal{first}, Clients: []judge.ClientPolicy{{KeySHA256: "a", Principal: ann, File: main}}})
	if err := j.Load(); err != nil {
		t.Fatal(err)
	}
	j.LoadGrants()
	action := func(client, agent, path string) policy.Action {
		t.Helper()
		call := intercept.Call{Name: "Edit", Arguments: `{"file_path":"` + path + `","old_string":"a","new_string":"b"}`}
		return j.For(client, agent).Verdict(judge.Origin{}, call).Action
	}
	joining := judge.Agent{ID: "second", Principal: second, File: other, Folder: filepath.Join(dir, "other"), Protected: []string{filepath.Join(dir, "other", "kept")}}
	leave, err := j.Join(joining)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		client, agent, path string
		want                policy.Action
	}{
		{"", "", dir + "/main/x", policy.Allow},
		{"", "", dir + "/other/x", policy.Ask},
		{"", "second", dir + "/other/x", policy.Allow},
		{"", "second", "x", policy.Allow},
		{"", "second", dir + "/main/x", policy.Ask},
		{"", "second", dir + "/other/kept", policy.Deny},
		{"a", "second", dir + "/main/x", policy.Allow}, // the client has a policy of its own
		{"", "unknown", dir + "/main/x", policy.Allow},
	} {
		if got := action(tt.client, tt.agent, tt.path); got != tt.want {
			t.Errorf("client %q, agent %q, %s: %s, want %s", tt.client, tt.agent, tt.path, got, tt.want)
		}
	}
	sources := j.Sources()
	if len(sources) != 2 || sources[1].Name() != other+" for "+joining.Folder {
		t.Fatalf("the policies are %q and %d", sources[len(sources)-1].Name(), len(sources))
	}
	if j.Judging(sources[1], second) == nil || j.Judging(sources[0], second) != nil || j.Judging(sources[0], first) == nil {
		t.Error("the policies of the two agents are taken for one another")
	}
	same := joining
	same.ID = "third"
	leaveThird, err := j.Join(same)
	if err != nil || len(j.Sources()) != 2 || j.Sources()[1] != sources[1] {
		t.Errorf("a second agent in the folder has a policy of its own: %v", err)
	}
	same.ID, same.Protected = "fourth", []string{filepath.Join(dir, "other", "kept"), filepath.Join(dir, "other", "mine")}
	if _, err := j.Join(same); err == nil || action("", "fourth", dir+"/other/mine") == policy.Allow {
		t.Errorf("an agent shares a policy that does not protect its files: %v", err)
	}
	leave()
	leaveThird()
	if got := action("", "second", dir+"/other/x"); got != policy.Ask {
		t.Errorf("after it has left: %s", got)
	}
	if j.Judging(sources[0], second) != nil {
		t.Error("decisions about an agent that has left count for the policy of another")
	}
	if len(j.Sources()) != 2 {
		t.Error("the policy of its requests is missing")
	}
	if _, err := j.Join(joining); err != nil || len(j.Sources()) != 2 || j.Sources()[1] == sources[1] {
		t.Errorf("it joins again: %v", err)
	}
	joining.File = filepath.Join(dir, "missing.yaml")
	if _, err := j.Join(joining); err == nil {
		t.Error("an agent joins without the policy that it names")
	}
	joining.Optional = true
	if _, err := j.Join(joining); err != nil {
		t.Error(err)
	}
}
