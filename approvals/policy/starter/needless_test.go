package starter_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/approvals/policy/starter"
)

// TestNeedless judges calls that need no person, and at least as many that look like them and do.
func TestNeedless(t *testing.T) {
	if info, err := os.Stat("/var/tmp"); err == nil && info.IsDir() {
		t.Setenv("TMPDIR", "/var/tmp") // the neighbours of the repository are in no folder for temporary files
	}
	p, folder := inFolder(t, starter.Options{})
	places := strings.NewReplacer(placesOf(t, folder)...)
	text, err := os.ReadFile("testdata/needless.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var classes map[string]struct{ Allowed, Asked []string }
	if err := yaml.Unmarshal(text, &classes); err != nil {
		t.Fatal(err)
	}
	for class, calls := range classes {
		if len(calls.Asked) < len(calls.Allowed) {
			t.Errorf("%s: %d calls are asked about, fewer than the %d that pass", class, len(calls.Asked), len(calls.Allowed))
		}
		for want, texts := range map[policy.Action][]string{policy.Allow: calls.Allowed, policy.Ask: calls.Asked} {
			for _, one := range texts {
				c := policy.Call{}
				one = places.Replace(one)
				if command, ok := strings.CutPrefix(one, "$ "); ok {
					c.Tool, c.Arguments = "Bash", argument("command", command)
				} else {
					c.Tool, c.Arguments, _ = strings.Cut(one, " ")
				}
				if v := p.Judge(c); v.Action != want {
					t.Errorf("%s: %s: %s by %s (%s), want %s", class, one, v.Action, v.Rule, v.Reason, want)
				}
			}
		}
	}
}

// placesOf makes the repository and its neighbours, and returns their names and paths.
func placesOf(t *testing.T, app string) []string {
	t.Helper()
	base := filepath.Dir(app)
	in := func(folder string, words ...string) {
		t.Helper()
		command := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"}, words...)...)
		command.Dir, command.Env = folder, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v: %s", words, err, output)
		}
	}
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	in(app, "init", "-q")
	for _, name := range []string{"a.go", "changed.go", "skipped.go", "src/b.go", "src/1.go", "same.go", "src/same.go", ".github/workflows/ci.yml", "src/password.go"} {
		write(filepath.Join(app, name), "package a\n")
	}
	write(filepath.Join(app, ".gitignore"), "*.log\n")
	in(app, "add", "-A")
	in(app, "commit", "-qm", "first")
	in(app, "branch", "feature")
	in(app, "worktree", "add", "-q", filepath.Join(base, "wt"), "-b", "wt")
	in(app, "update-index", "--assume-unchanged", "skipped.go")
	for _, name := range []string{"changed.go", "same.go", "untracked.go", "ignored.log", "skipped.go", "staged.go"} {
		write(filepath.Join(app, name), "package changed\n")
	}
	in(app, "add", "staged.go")
	for link, target := range map[string]string{"link.go": "a.go", "linked": "src"} {
		if err := os.Symlink(target, filepath.Join(app, link)); err != nil {
			t.Fatal(err)
		}
	}
	in(app, "add", "link.go", "linked")
	forged, stolen, other := filepath.Join(base, "forged"), filepath.Join(base, "stolen"), filepath.Join(base, "other")
	write(filepath.Join(forged, ".git"), "gitdir: "+filepath.Join(app, ".git/worktrees/forged")+"\n")
	write(filepath.Join(stolen, ".git"), "gitdir: "+filepath.Join(app, ".git/worktrees/wt")+"\n")
	write(filepath.Join(forged, "a.go"), "package a\n")
	write(filepath.Join(stolen, "a.go"), "package a\n")
	write(filepath.Join(other, "a.go"), "package a\n")
	in(other, "init", "-q")
	return []string{"APP", app, "WORKTREE", filepath.Join(base, "wt"), "FORGED", forged, "STOLEN", stolen, "OTHER", other}
}
