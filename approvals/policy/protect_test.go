package policy

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/rule"
)

// Finding 7 (control side): an agent that an ordinary policy lets write files and run
// commands changed policy.yaml, and what it had allowed was released unasked.
func TestProtectedFilesAreNotWritten(t *testing.T) {
	folder := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(folder, link); err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(t.TempDir(), "state")
	p := mustParse(t, `
tools:
  bash: {resource: command, as: shell}
  keep: {resource: to, as: path}
rules:
  - allow: ["bash", "Write", "Read", "apply_patch", "keep", "note", "move_file"]
`).Protect(link, filepath.Join(link, "policy.yaml"), filepath.Join(link, "data"), state)
	for _, one := range []struct {
		tool, arguments string
		want            Action
	}{
		{"Write", `{"file_path":"policy.yaml","content":"default: allow"}`, Deny},
		{"Write", `{"file_path":"./x/../policy.yaml","content":""}`, Deny},
		{"Write", `{"file_path":"` + folder + `/policy.yaml","content":""}`, Deny},
		{"Write", `{"file_path":"` + link + `/policy.yaml","content":""}`, Deny},
		{"Write", `{"file_path":"data/heldcall.lock","content":""}`, Deny},
		{"Write", `{"file_path":"` + state + `/jetstream/x","content":""}`, Deny},
		{"Write", `{"file_path":"POLICY.yaml","content":""}`, Ask},
		{"Write", `{"file_path":"docs/policy.yaml","content":""}`, Allow},
		{"Write", `{"file_path":"database/x","content":""}`, Allow},
		{"keep", `{"to":"policy.yaml"}`, Deny},
		{"move_file", `{"source":"evil","destination":"policy.yaml"}`, Deny},
		{"apply_patch", `{"input":"*** Begin Patch\n*** Update File: policy.yaml\n@@\n-a\n+b\n*** End Patch"}`, Deny},
		{"Read", `{"file_path":"policy.yaml"}`, Allow},
		{"note", `{"text":"policy.yaml"}`, Allow},
		{"bash", `{"command":"cp evil policy.yaml"}`, Ask},
		{"bash", `{"command":"git checkout evil -- ./policy.yaml"}`, Ask},
		{"bash", `{"command":"echo 'default: allow' >policy.yaml"}`, Ask},
		{"bash", `{"command":"mv evil pol''icy.yaml"}`, Ask},
		{"bash", `{"command":"rm -r data"}`, Ask},
		{"bash", `{"command":"sh -c \"cp x data/y\""}`, Ask},
		{"bash", `{"command":"(cd sub); cp evil policy.yaml"}`, Ask},
		{"bash", `{"command":"cd sub & cp evil policy.yaml"}`, Ask},
		{"bash", `{"command":"true || cd sub; cp evil policy.yaml"}`, Ask},
		{"bash", `{"command":"cd a; (cd b); cp evil ../policy.yaml"}`, Ask},
		{"bash", `{"command":"` + strings.Repeat("cd a; ", 40) + `cp evil policy.yaml"}`, Ask},
		{"bash", `{"command":"cd sub && cp evil x.yaml"}`, Allow},
		{"bash", `{"command":"cp x policy.yaml.bak"}`, Allow},
		{"bash", `{"command":"ls database"}`, Allow},
	} {
		if v := p.Judge(Call{Tool: one.tool, Arguments: one.arguments}); v.Action != one.want {
			t.Errorf("%s %s: %s by %s (%s), want %s", one.tool, one.arguments, v.Action, v.Rule, v.Reason, one.want)
		} else if v.Action == Ask && v.Rule == rule.Protection && v.Risk != approvals.RiskCritical {
			t.Errorf("%s %s is rated %s", one.tool, one.arguments, v.Risk)
		}
	}
	for tool, streams := range map[string]bool{"note": true, "bash": false, "Write": false} {
		if _, by := p.allowsAny(&Call{Tool: tool}); by != streams {
			t.Errorf("%s is allowed whatever its arguments: %t", tool, by)
		}
	}
}

// A script that cannot be read may name a protected file: people are asked, and the flag
// names the reason.
func TestProtectedFilesOfUnreadableScripts(t *testing.T) {
	p := mustParse(t, "tools: {bash: {resource: command, as: shell}}\nrules: [{allow: [bash]}]").Protect("/work", "/work/policy.yaml")
	v := p.Judge(Call{Tool: "bash", Arguments: `{"command":"echo ("}`})
	if v.Action != Ask || v.Rule != rule.Protection || !slices.ContainsFunc(v.Flags, func(flag string) bool { return strings.Contains(flag, "cannot be parsed as a shell script") }) {
		t.Errorf("%s by %s: %q", v.Action, v.Rule, v.Flags)
	}
}

// Without files there is nothing to add.
func TestProtectNothing(t *testing.T) {
	p := mustParse(t, "rules: [{allow: [bash]}]")
	if p.Protect("/work") != p {
		t.Error("the policy is another one")
	}
}
