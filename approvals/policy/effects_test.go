package policy

import (
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/approvals/policy/effects"
	"github.com/heldcall/heldcall/approvals/policy/shell"
	"github.com/heldcall/heldcall/approvals/policy/workspace"
)

// everyRule is a policy that compares every call.
type everyRule struct{}

func (everyRule) Compares(string, call.Kind) bool { return true }
func (everyRule) AllowsAny(*call.Call) bool       { return false }
func (everyRule) Patterns() int                   { return 1 }

func read(t *testing.T, c call.Call) *call.Reading {
	t.Helper()
	app, err := workspace.NewFolder("/app", "/")
	if err != nil {
		t.Fatal(err)
	}
	known := &call.Known{
		Profiles: call.KnownProfiles(), Programs: shell.KnownPrograms(),
		Workspace: workspace.New([]workspace.Folder{app}).Of(workspace.Agent{Folder: "/app"}),
	}
	return call.Read(c, known, everyRule{})
}

func ofCommand(t *testing.T, command string) *call.Reading {
	t.Helper()
	arguments, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		t.Fatal(err)
	}
	return read(t, call.Call{Tool: "Bash", Arguments: string(arguments)})
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
		c := ofCommand(t, command)
		if list, _ := effects.Of(c); contained(c, list) {
			t.Errorf("%q is contained: %s", command, approvals.EffectsText(list))
		}
	}
}

// Plain work in the workspace is contained, else a trust window would be of no use.
func TestCommandsThatAreContained(t *testing.T) {
	for _, command := range []string{"ls", "cat a.go", "git status", "git diff", "grep -rn x src", "mkdir -p a/b", "touch a", "cp a b", "mv a b", "cd src && ls", "ls | head -5", "echo hi", "wc -l a.go && pwd"} {
		c := ofCommand(t, command)
		if list, _ := effects.Of(c); !contained(c, list) {
			t.Errorf("%q is not contained: %s", command, approvals.EffectsText(list))
		}
	}
}

// The name of a tool is no proof that a call stays in the workspace.
func TestToolsThatAreNotContained(t *testing.T) {
	for _, c := range []call.Call{
		{Tool: "parse_file", Arguments: `{"path":"/app/a"}`},
		{Tool: "get_file", Arguments: `{"path":"/app/a"}`},
		{Tool: "write_file2", Arguments: `{"path":"/app/a"}`},
		{Tool: "think", Arguments: `{"thought":"x"}`},
		{Tool: "calculate", Arguments: `{"expression":"1"}`},
		{Tool: "Write", Arguments: `{"file_path":"/app/.env","content":""}`},
		{Tool: "Write", Arguments: `{"file_path":"/srv/a","content":""}`},
		{Tool: "Write", Arguments: `{"file_path":"/app/a","content":"secret://TOKEN"}`, Secrets: []string{"TOKEN"}},
	} {
		c := read(t, c)
		if list, _ := effects.Of(c); contained(c, list) {
			t.Errorf("%s %s is contained: %s", c.Call.Tool, c.Call.Arguments, approvals.EffectsText(list))
		}
	}
	c := read(t, call.Call{Tool: "Write", Arguments: `{"file_path":"/app/a","content":""}`})
	if list, _ := effects.Of(c); !contained(c, list) {
		t.Errorf("a write in the workspace is not contained: %s", approvals.EffectsText(list))
	}
}
