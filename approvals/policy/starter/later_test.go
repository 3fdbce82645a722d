package starter_test

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/approvals/policy/starter"
)

// TestFilesThatRunLater: a write to any file of the table is asked about, by tools and by commands, and
// reading one is not. Files with names like theirs pass.
func TestFilesThatRunLater(t *testing.T) {
	p, _ := inFolder(t, starter.Options{})
	judge := func(tool, field, text string, tainted bool) policy.Verdict {
		return p.Judge(policy.Call{Tool: tool, Arguments: argument(field, text), Tainted: tainted})
	}
	for _, class := range call.RunLater() {
		for _, glob := range class.Files {
			file := strings.NewReplacer("**/", "", "/**", "/x", "*", "x").Replace(glob)
			for _, file := range []string{file, "sub/" + file} {
				for _, tainted := range []bool{false, true} {
					if v := judge("Write", "file_path", file, tainted); v.Action != policy.Ask {
						t.Errorf("%s: Write %s: %s by %s", class.Name, file, v.Action, v.Rule)
					}
					if v := judge("Bash", "command", "cp a '"+file+"'", tainted); v.Action != policy.Ask {
						t.Errorf("%s: cp a %s: %s by %s", class.Name, file, v.Action, v.Rule)
					}
				}
			}
		}
	}
	for _, file := range []string{
		"src/hooks/useUser.ts", "src/ci/run.go", "docs/agents.md.txt", "docs/claude.txt", "src/editor/vim.go", "package.json", "Makefile", "src/deployment.go", "internal/release/note.go",
		"src/hooks/post-list.ts", "web/hooks/pre-fill.ts", "lib/hooks/error-msg", "src/hooks/update.ts", "src/pages/Startup/x.tsx", "docs/autoexec.md", "src/venv/x.py",
		"src/mise/plan.go", "README.md", "lib/cargo/x.rs", "src/profile.ts", "web/service.ts", "gradle/libs.txt", "bin/tool.sh", "tests/lock.py", "src/git/x.go", "cmd/heldcall/main.go",
	} {
		if v := judge("Write", "file_path", file, false); v.Action != policy.Allow {
			t.Errorf("Write %s: %s by %s (%s)", file, v.Action, v.Rule, v.Reason)
		}
	}
	for _, file := range []string{
		"x/refs/heads/main", ".git/hooks/update", "hooks/pre-commit.sh", "hooks/reference-transaction", ".sl/config", "action.yml", ".config/nvim/init.lua", ".emacs.el", ".grok/settings.json", ".rovodev/config.yml", "mise-tasks/build", ".php-version",
		".shadowenv.d/x.lisp", "venv/pyvenv.cfg", ".config/go/env", ".config/nushell/config.nu", ".config/sway/config", ".forward", "MODULE.bazel.lock",
	} {
		if v := judge("Write", "file_path", file, false); v.Action != policy.Ask {
			t.Errorf("Write %s: %s by %s", file, v.Action, v.Rule)
		}
	}
	// A folder moved or linked to where programs look.
	for _, command := range []string{"mv x .venv", "mv x venv", "cp -r x venv", "mv x gradle", "cp -r x gradle", "mv x sub/.venv"} {
		if v := judge("Bash", "command", command, false); v.Action != policy.Ask {
			t.Errorf("%s: %s by %s", command, v.Action, v.Rule)
		}
	}
	for _, command := range []string{"cat .github/workflows/ci.yml", "grep -n run .husky/pre-commit", "ls node_modules/.bin", "head CLAUDE.md go.sum", "git log -- .gitlab-ci.yml"} {
		if v := judge("Bash", "command", command, false); v.Action != policy.Allow {
			t.Errorf("%s: %s by %s (%s)", command, v.Action, v.Rule, v.Reason)
		}
	}
}

// TestHooksInTaintedRuns: git commands that run the hooks of the repository are asked about once a run has read texts
// of others; those that run none are not.
func TestHooksInTaintedRuns(t *testing.T) {
	p, _ := inFolder(t, starter.Options{})
	for command, tainted := range map[string]policy.Action{
		"git commit -m x": policy.Ask, "git commit --amend --no-edit": policy.Ask, "git merge main": policy.Ask, "git switch main": policy.Ask, "git checkout -b x": policy.Ask,
		"git cherry-pick abc": policy.Ask, "git revert HEAD": policy.Ask, "git rebase main": policy.Ask, "yarn why left-pad": policy.Ask, "yarn list": policy.Ask,
		"git add src": policy.Allow, "git stash": policy.Allow, "git status": policy.Allow, "git log": policy.Allow,
	} {
		for run, want := range map[bool]policy.Action{false: policy.Allow, true: tainted} {
			if v := p.Judge(policy.Call{Tool: "Bash", Arguments: argument("command", command), Tainted: run}); v.Action != want {
				t.Errorf("%s, tainted %t: %s by %s (%s), want %s", command, run, v.Action, v.Rule, v.Reason, want)
			}
		}
	}
}
