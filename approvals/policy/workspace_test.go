package policy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals/policy/workspace"
)

// project makes a folder with a policy beside it and returns both.
func project(t *testing.T) (folder, file string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	folder = filepath.Join(base, "app")
	if err := os.MkdirAll(filepath.Join(folder, "src"), 0o755); err != nil {
		t.Fatal(err)
	}
	return folder, filepath.Join(base, "policy.yaml")
}

const inWorkspace = `
workspace: [app]
default: ask
rules:
  - ask: ["path(./.github/**)", "path(**/.git/**)"]
    when: risk != "low"
  - allow: ["Edit(./**)", "apply_patch(./**)"]
  - allow: ["Write", "shell(cat:*)", "shell(grep:*)", "shell(git diff:*)", "shell(git show:*)", "shell(ls:*)", "shell(cd *)", "shell(echo *)"]
    within: workspace
`

// TestWorkspace judges paths and words of commands inside and outside.
func TestWorkspace(t *testing.T) {
	folder, file := project(t)
	unknown, err := Parse(file, []byte(inWorkspace))
	if err != nil {
		t.Fatal(err)
	}
	known := unknown.In(unknown.Workspace().Of(workspace.Agent{Folder: folder}))
	f := func(p *Policy, want Action, tool, field string, texts ...string) {
		t.Helper()
		for _, text := range texts {
			text = strings.ReplaceAll(text, "APP", folder)
			if v := p.Judge(Call{Tool: tool, Arguments: argument(field, text)}); v.Action != want {
				t.Errorf("%s %q: %s by %s (%s), want %s", tool, text, v.Action, v.Rule, v.Reason, want)
			}
		}
	}
	for _, p := range []*Policy{unknown, known} {
		f(p, Allow, "Edit", "file_path", "APP/src/a.go", "APP/src/../b.go", "APP/./c")
		f(p, Allow, "Write", "file_path", "APP/src/a.go")
		f(p, Ask, "Edit", "file_path", "APP/../x", "APPx/a", "/etc/passwd", "~/x", "APP/.env", "APP/.github/workflows/ci.yml", "APP/.GitHub/x", "APP/.git/hooks/pre-commit", `APP\x`, "APP/../policy.yaml")
		f(p, Ask, "Write", "file_path", "/etc/passwd", "APP/../x", "APP/.git/config")
		f(p, Allow, "Bash", "command", "cat APP/src/a.go", "grep -rn foo APP/src", "cd APP && ls", "ls", "git diff", "echo /etc/passwd")
		f(p, Ask, "Bash", "command", "cat /etc/passwd", "cat APP/../x", "git diff /etc/passwd /etc/hosts", "grep -rf/etc/passwd x", "cd /etc && cat passwd", "cat ~/x", "cat APP/.env",
			"cd APP/src && cat ../../x", "cat ../x", "git show --output=/etc/x", "cat $X", "cat src/../../x", "(cd APP/src); cat ../x", "cat file:///etc/passwd", "cd -", "cd APP; cd ..; cat x")
	}
	f(known, Allow, "Edit", "file_path", "src/a.go", "./a")
	f(known, Allow, "apply_patch", "input", "*** Begin Patch\n*** Add File: src/x\n+x\n*** End Patch")
	f(known, Allow, "Bash", "command", "cat src/a.go", "grep -rn foo src | cat", "git show HEAD:src/a.go", "cd src && cat a.go", "cat a.go 2>/dev/null")
	for _, text := range []string{"mkdir .git/hooks", "git mv x .github/workflows/ci.yml", "cd .git && touch x", "cp x APP/.git/config", "frob .github/x"} {
		v := known.Judge(Call{Tool: "Bash", Arguments: argument("command", strings.ReplaceAll(text, "APP", folder))})
		if !strings.HasPrefix(v.Rule, "policy.yaml:5") {
			t.Errorf("%s: %s by %s (%s), want the rule about what is written", text, v.Action, v.Rule, v.Reason)
		}
	}
	f(known, Allow, "Bash", "command", "cat .github/workflows/ci.yml", "git diff .github")
	f(known, Ask, "Bash", "command", "git show HEAD:.env", "cat x > y")
	f(known, Ask, "apply_patch", "input", "*** Begin Patch\n*** Add File: ../x\n+x\n*** End Patch", "*** Begin Patch\n*** Add File: .github/x\n+x\n*** End Patch")
	f(unknown, Ask, "Edit", "file_path", "src/a.go", "./a", "../app/x")
	f(unknown, Ask, "Bash", "command", "cat src/a.go", "cd src && ls")

	shell := func(want Action, p *Policy, args string) {
		t.Helper()
		args = strings.ReplaceAll(args, "APP", folder)
		if v := p.Judge(Call{Tool: "exec_command", Arguments: args}); v.Action != want {
			t.Errorf("%s: %s by %s (%s), want %s", args, v.Action, v.Rule, v.Reason, want)
		}
	}
	for _, p := range []*Policy{unknown, known} {
		shell(Allow, p, `{"cmd":"cat src/a.go","workdir":"APP"}`)
		shell(Allow, p, `{"cmd":"ls","workdir":"APP/src"}`)
		shell(Ask, p, `{"cmd":"cat ../../x","workdir":"APP/src"}`)
		shell(Ask, p, `{"cmd":"cat x","workdir":"/etc"}`)
		shell(Ask, p, `{"cmd":"ls","workdir":"/etc"}`)
		shell(Ask, p, `{"cmd":"ls","workdir":"~"}`)
		shell(Ask, p, `{"cmd":"cat x","workdir":["APP"]}`)
	}
	shell(Allow, known, `{"cmd":"cat x","workdir":"src"}`)
	shell(Ask, unknown, `{"cmd":"cat x","workdir":"src"}`)
}

// TestWorkspaceReason: a question names the path that is outside.
func TestWorkspaceReason(t *testing.T) {
	_, file := project(t)
	p, err := Parse(file, []byte(inWorkspace))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{"cat /etc/hosts": "`/etc/hosts` is outside the workspace", "cat a": "agent's folder, which is not known", "cat ../a": "leads upwards"} {
		if v := p.Judge(Call{Tool: "Bash", Arguments: argument("command", text)}); !strings.Contains(v.Reason, want) {
			t.Errorf("%s: %q", text, v.Reason)
		}
	}
}

// TestWorkspaceLinks: where heldcall sees the files, links that lead out are asked about, and rules
// are about the file that a link leads to.
func TestWorkspaceLinks(t *testing.T) {
	folder, file := project(t)
	link := func(to, name string) {
		t.Helper()
		if err := os.Symlink(to, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{".git", "docs"} {
		if err := os.Mkdir(filepath.Join(folder, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"docs/a", ".env"} {
		if err := os.WriteFile(filepath.Join(folder, filepath.FromSlash(name)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link("/etc", "out")
	link("docs", "in")
	link("nowhere", "broken")
	link(".git", "hidden")
	link(".env", "notes")
	link("../policy.yaml", "rules")
	p, err := Parse(file, []byte(inWorkspace))
	if err != nil {
		t.Fatal(err)
	}
	seen := p.In(p.Workspace().Of(workspace.Agent{Folder: folder, Seen: true}))
	f := func(want Action, path string) {
		t.Helper()
		for _, text := range []string{path, filepath.Join(folder, path)} {
			if v := seen.Judge(Call{Tool: "Edit", Arguments: argument("file_path", text)}); v.Action != want {
				t.Errorf("%q: %s by %s (%s), want %s", text, v.Action, v.Rule, v.Reason, want)
			}
		}
	}
	f(Allow, "docs/a")
	f(Allow, "new/deep/file")
	f(Allow, "in/a")
	for _, path := range []string{"out/passwd", "broken", "broken/x", "hidden/hooks/x", "notes", "rules"} {
		f(Ask, path)
	}
	if v := seen.Judge(Call{Tool: "Bash", Arguments: argument("command", "cat out/passwd")}); v.Action != Ask {
		t.Errorf("cat of a link: %s", v.Action)
	}
	if v := seen.Judge(Call{Tool: "Edit", Arguments: argument("file_path", folder+"/in/../../x")}); v.Action != Ask {
		t.Errorf("up from a link: %s", v.Action)
	}
}

// TestWorkspaceRefused: folders that are too wide or hold heldcall's files are no workspace.
func TestWorkspaceRefused(t *testing.T) {
	folder, file := project(t)
	home := filepath.Join(folder, "..", "home")
	t.Setenv("HOME", home)
	t.Setenv("XDG_STATE_HOME", "")
	if err := os.MkdirAll(filepath.Join(folder, "data", "jetstream"), 0o755); err != nil {
		t.Fatal(err)
	}
	f := func(text, want string) {
		t.Helper()
		_, err := Parse(file, []byte("workspace: ["+text+"]\nrules: []\n"))
		if (want == "") != (err == nil) || (err != nil && !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	f("/", "everything")
	f("home", "home folder")
	f(".", "home folder")
	f("/home/ann", "home folder")
	f("/root", "home folder")
	f("~/x", "depends on a user")
	f("'*'", "pattern")
	f("''", "empty")
	f("app", "heldcall's own files")
	f("/etc", "heldcall's own files")
	f("/var/lib/heldcall/x", "heldcall's own files")
	f("home/.local/state/heldcall/run", "heldcall's own files")
	f("app/src", "")
	f("/work/app", "")
	without, err := Parse(file, []byte("rules: [{allow: ['Bash(ls)'], within: workspace}]\n"))
	if err != nil || len(without.Warnings()) != 1 || !strings.Contains(without.Warnings()[0], "allows nothing") {
		t.Errorf("within without a workspace: %v %q", err, without.Warnings())
	}
	p, err := Parse(file, []byte("workspace: [app/src]\nrules: []\n"))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.CheckOwn(filepath.Join(folder, "src", "x"), file); err == nil || !strings.Contains(err.Error(), "src/x") {
		t.Errorf("a file of heldcall in the workspace: %v", err)
	}
	if err := p.CheckOwn(file); err != nil {
		t.Error(err)
	}
}

// TestWorkspaceNames: the folder's own name makes nothing in it a secret, and a policy in its own
// workspace is not inside.
func TestWorkspaceNames(t *testing.T) {
	folder, _ := project(t)
	dir := filepath.Join(folder, "my-secrets", "app")
	rules := "workspace: [.]\nrules: [{allow: ['Edit(./**)']}, {allow: ['shell(cat:*)'], within: workspace}]\n"
	p, err := Parse(filepath.Join(dir, "rules.yaml"), []byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]Action{"a.go": Allow, ".env": Ask, "id_rsa": Ask, "rules.yaml": Ask, "../x": Ask} {
		if v := p.Judge(Call{Tool: "Edit", Arguments: argument("file_path", filepath.Join(dir, path))}); v.Action != want {
			t.Errorf("%s: %s (%s), want %s", path, v.Action, v.Reason, want)
		}
	}
}

// TestPathClass: path(...) is for every tool that names files, and for no other.
func TestPathClass(t *testing.T) {
	p := mustParse(t, `
default: ask
tools:
  mine: {resource: file, as: path}
rules:
  - deny: ["path(**/x)"]
    when: risk != "low"
  - allow: ["path(**)"]
`)
	for tool, field := range map[string]string{"mine": "file", "Edit": "file_path", "write_file": "path"} {
		for path, want := range map[string]Action{"a/x": Deny, "a/y": Allow} {
			if v := p.Judge(Call{Tool: tool, Arguments: argument(field, path)}); v.Action != want {
				t.Errorf("%s %s: %s by %s", tool, path, v.Action, v.Rule)
			}
		}
	}
	for _, c := range []Call{{Tool: "Read", Arguments: `{"file_path":"a/x"}`}, {Tool: "path", Arguments: `{"a":"b"}`}, {Tool: "Bash", Arguments: `{"command":"cat a/x"}`}} {
		if v := p.Judge(c); v.Action == Deny {
			t.Errorf("%s: %s by %s", c.Tool, v.Action, v.Rule)
		}
	}
}
