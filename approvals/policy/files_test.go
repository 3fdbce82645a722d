package policy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/approvals/policy/workspace"
)

// TestVerdictFiles: a verdict that asks has the facts about the files that the call writes: whether they are there, the lines
// of its edits, and the text that it overwrites. Of files that are outside, reached by a link, hidden or secret it has no text.
func TestVerdictFiles(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(dir, "work")
	for name, text := range map[string]string{
		"work/a.go": "package a\n\nvar b = 1\n", "work/.env": "A=1\n", "work/credentials.json": "{}", "outside/a.go": "package a\n", "work/long": strings.Repeat("a\n", 20_000),
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"out.go": "../outside/a.go", "env": ".env"} {
		if err := os.Symlink(to, filepath.Join(work, link)); err != nil {
			t.Fatal(err)
		}
	}
	p, err := policy.Parse("policy.yaml", fmt.Appendf(nil, "default: ask\nworkspace: [%q]\nrules:\n  - allow: [\"Write(./allowed.go)\"]\n", work))
	if err != nil {
		t.Fatal(err)
	}
	seen := p.In(p.Workspace().Of(workspace.Agent{Folder: work, Seen: true}))
	write := func(path string) policy.Call {
		return policy.Call{Tool: "Write", Arguments: fmt.Sprintf(`{"file_path":%q,"content":"a"}`, path)}
	}
	edit := func(path, before string) policy.Call {
		return policy.Call{Tool: "Edit", Arguments: fmt.Sprintf(`{"file_path":%q,"old_string":%q,"new_string":"x"}`, path, before)}
	}
	file := func(path string, exists bool, text string, lines ...int) []approvals.File {
		return []approvals.File{{Path: path, Exists: exists, Source: approvals.FromWorkspace, Text: text, Lines: lines}}
	}
	for name, test := range map[string]struct {
		call policy.Call
		want []approvals.File
	}{
		"a new file":             {write("new/b.go"), file("new/b.go", false, "")},
		"a file that is there":   {write("a.go"), file("a.go", true, "package a\n\nvar b = 1\n")},
		"a long file":            {write("long"), file("long", true, "")},
		"an edit":                {edit(work+"/a.go", "var b"), file(work+"/a.go", true, "", 3)},
		"an edit that is lost":   {edit("a.go", "var c"), file("a.go", true, "")},
		"a patch":                {policy.Call{Tool: "apply_patch", Arguments: `{"input":"*** Begin Patch\n*** Update File: a.go\n@@\n-var b = 1\n+var b = 2\n*** Add File: c.go\n+x\n*** End Patch"}`}, append(file("a.go", true, "", 3), file("c.go", false, "")...)},
		"outside":                {write("../outside/a.go"), nil},
		"a link out":             {write("out.go"), nil},
		"a link to a hidden one": {write("env"), file("env", true, "")},
		"hidden":                 {write(".env"), file(".env", true, "")},
		"a secret":               {write("credentials.json"), file("credentials.json", true, "")},
		"home":                   {write("~/.ssh/config"), nil},
		"a shell":                {policy.Call{Tool: "bash", Arguments: `{"command":"cat a.go"}`}, nil},
		"allowed":                {write("allowed.go"), nil},
		"two readings":           {policy.Call{Tool: "Write", Arguments: `{"file_path":"a.go","file_path":"b.go","content":"a"}`, Ambiguous: []string{"The wire has two readings."}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, seen.Judge(test.call).Files); diff != "" {
				t.Error(diff)
			}
		})
	}
	if files := p.Judge(write("a.go")).Files; files != nil {
		t.Errorf("of files that heldcall does not see: %+v", files)
	}
}
