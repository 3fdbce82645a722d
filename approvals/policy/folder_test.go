package policy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/approvals/policy/workspace"
)

// TestVerdictFolder: the verdict on a call names the repository beside the workspace that would let it pass, and none where
// that is not the only reason why people are asked.
func TestVerdictFolder(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"work/.git", "other/.git", "other/src", "third/.git", "plain", ".hidden/.git"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	work := filepath.Join(dir, "work")
	const rules = `default: ask
workspace: [%q]
rules:
  - ask: ["Write(**/go.mod)"]
  - allow: ["Write(./**)"]
  - allow: ["bash(cat:*)", "bash(cp *)", "bash(cd *)"]
    within: workspace
  - deny: ["Write(**/locked.go)"]
`
	p, err := policy.Parse("policy.yaml", fmt.Appendf(nil, rules, work))
	if err != nil {
		t.Fatal(err)
	}
	p = p.In(p.Workspace().Of(workspace.Agent{Folder: work, Seen: true}))
	write := func(path string) policy.Call {
		return policy.Call{Tool: "Write", Arguments: fmt.Sprintf(`{"file_path":%q,"content":"a"}`, path)}
	}
	bash := func(command string) policy.Call {
		return policy.Call{Tool: "bash", Arguments: fmt.Sprintf(`{"command":%q}`, command)}
	}
	other := filepath.Join(dir, "other")
	for name, test := range map[string]struct {
		call policy.Call
		want string
	}{
		"a file of another repository":     {write(other + "/src/a.go"), other},
		"a file in its root":               {write(other + "/a.go"), other},
		"a new folder of it":               {write(other + "/new/deep/a.go"), other},
		"a path with dots":                 {write("../other/src/a.go"), other},
		"a command":                        {bash("cat " + other + "/src/a.go"), other},
		"a command in its folder":          {bash("cd " + other + " && cat src/a.go"), other},
		"inside":                           {write("a.go"), ""},
		"a rule asks":                      {write(other + "/go.mod"), ""},
		"a rule denies":                    {write(other + "/locked.go"), ""},
		"no repository":                    {write(dir + "/plain/a.go"), ""},
		"hidden":                           {write(dir + "/.hidden/a.go"), ""},
		"two repositories":                 {bash("cp " + other + "/a.go " + dir + "/third/a.go"), ""},
		"one repository and a plain place": {bash("cat " + other + "/a.go " + dir + "/plain/a.go"), ""},
		"no rule allows it":                {bash("rm " + other + "/a.go"), ""},
	} {
		call := test.call
		call.Session, call.Run, call.Now = "s", "r", time.Now()
		if got := p.Judge(call).Folder; got != test.want {
			t.Errorf("%s: the folder is %q, want %q", name, got, test.want)
		}
		call.Run = ""
		if got := p.Judge(call).Folder; got != "" {
			t.Errorf("%s, without a run: the folder is %q", name, got)
		}
	}
}
