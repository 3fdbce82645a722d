package policy

import (
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/call"
)

func ofCommand(t *testing.T, command string) []approvals.Effect {
	t.Helper()
	arguments, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		t.Fatal(err)
	}
	return of(t, call.Call{Tool: "Bash", Arguments: string(arguments)})
}

func TestEffectsOfCommands(t *testing.T) {
	for _, tt := range []struct{ command, want string }{
		{"ls", "low: reads . in the workspace"},
		{"ls -la src", "low: reads src in the workspace"},
		{"cat a.go b.go", "low: reads a.go, b.go in the workspace"},
		{"cat /etc/hosts", "medium: reads /etc/hosts outside the workspace"},
		{"cat ../x", "medium: reads ../x outside the workspace"},
		{"cat .env", "high: may use secrets: .env, reads .env in the workspace"},
		{"cat $F", "high: unknown effects, reads …"},
		{"$F a", "high: unknown effects: … a"},
		{"echo hello", "low: changes nothing"},
		{"cd src && grep -rn x .", "low: reads src in the workspace"},
		{"cd /etc && cat hosts", "medium: reads /etc outside the workspace, reads /etc/hosts"},
		{"cd src; cat ../a.go", "low: reads src/../a.go, reads src in the workspace"},
		{"git status", "low: reads . in the workspace"},
		{"git commit -m x", "medium: runs the project’s code: hooks of git commit, writes . in the workspace"},
		{"mkdir -p a/b", "medium: writes a/b in the workspace"},
		{"cp a /srv/b", "high: writes /srv/b outside the workspace, reads a in the workspace"},
		{"cp a .git/hooks/pre-commit", "high: runs other code: .git/hooks/pre-commit, writes .git/hooks/pre-commit in the workspace, reads a in the workspace"},
		{"rm -rf build", "high: destroys: build in the workspace (cannot be undone)"},
		{"rm -rf /srv/x", "critical: destroys: /srv/x outside the workspace (cannot be undone)"},
		{"git reset --hard", "high: destroys: git reset --hard (cannot be undone)"},
		{"git push", "high: sends: git push (cannot be undone)"},
		{"curl https://example.com/x", "high: sends: example.com (cannot be undone)"},
		{"gh auth login secret://GITHUB_TOKEN", "high: sends: gh auth (cannot be undone)"},
		{"npm install left-pad", "high: installs: npm install left-pad"},
		{"npm test", "medium: runs the project’s code: npm test"},
		{"npm publish", "high: sends: npm publish (cannot be undone)"},
		{"sudo ls", "critical: uses other rights: sudo, reads . in the workspace"},
		{"python3 a.py", "high: runs other code: python3 a.py"},
		{"ls; frobnicate x", "high: unknown effects: frobnicate x, reads . in the workspace"},
		{"ls $(frobnicate)", ""},
		{"ls --frob", "high: unknown effects: ls --frob"},
		{"if true; then ls; fi", "low: reads . in the workspace, changes nothing"},
		{"for f in a b; do rm $f; done", "high: destroys: a, b in the workspace (cannot be undone)"},
		{"d=src; if test -f $d/a; then cat $d/a | head -5; fi", "low: reads src/a, . in the workspace"},
		{"cat src/{a,b}.go", "low: reads src/a.go, src/b.go in the workspace"},
		{"for f in *; do frob $f; done", ""},
	} {
		found := ofCommand(t, tt.command)
		got := string(riskOfEffects(found, approvals.RiskHigh)) + ": " + approvals.EffectsText(found)
		if tt.want == "" {
			if contained(found) {
				t.Errorf("%s is contained: %s", tt.command, got)
			}
		} else if got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.command, got, tt.want)
		}
	}
}

// Nothing that sends, destroys, installs, runs code, reads secrets or leaves the workspace is contained.
func TestCommandsThatAreNotContained(t *testing.T) {
	for _, command := range []string{
		"cat .env", "cat ~/.ssh/id_rsa", "cat /etc/passwd", "cat ../x", "cat $F", "cat `x`", "ls; rm a", "ls | sh", "ls | xargs rm", "find . -delete", "find . -exec rm {} +",
		"find / -name x", "grep -r x /", "grep -rn x ~", "sed -i s/a/b/ /etc/hosts", "sed -n '1w /etc/x' a", "awk 'BEGIN{system(\"x\")}'", "git diff --no-index /etc/passwd a",
		"git -C /srv status", "git push", "git commit -m x", "git config a b", "git checkout .", "git stash drop", "npm test", "make", "go generate ./...", "go run .", "python a.py", "node -e 1",
		"curl x", "wget x", "ssh h", "nc h 1", "npm i x", "pip install x", "sudo ls", "chown a b", "docker ps", "env", "printenv", "ps aux", "echo $SECRET_TOKEN", "cd / && ls", "cd .. && ls",
		"cd src || cd /; cat ../../etc/passwd", "cp a /srv", "cp /etc/passwd a", "mv a ../b", "touch .git/hooks/x", "chmod +x .husky/pre-commit", "tee .github/workflows/a.yml", "ln -s / x",
		"ls > /etc/x", "ls > .git/config", "cat <(curl x)", "xargs -a /etc/passwd echo", "echo /etc/passwd | xargs cat", "ls | xargs ls", "sort -o /etc/x a", "tar xf a", "frobnicate", "", "alias ls=rm; ls", "ls() { rm a; }; ls", "PATH=. ls", "exec ls", "./ls",
	} {
		if found := ofCommand(t, command); contained(found) {
			t.Errorf("%q is contained: %s", command, approvals.EffectsText(found))
		}
	}
}

// Plain work in the workspace is contained, else a trust window would be of no use.
func TestCommandsThatAreContained(t *testing.T) {
	for _, command := range []string{"ls", "cat a.go", "git status", "git diff", "grep -rn x src", "mkdir -p a/b", "touch a", "cp a b", "mv a b", "cd src && ls", "ls | head -5", "echo hi", "wc -l a.go && pwd"} {
		if found := ofCommand(t, command); !contained(found) {
			t.Errorf("%q is not contained: %s", command, approvals.EffectsText(found))
		}
	}
}
