package policy

import (
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/workspace"
)

const windowPolicy = `
workspace: [/app]
tools:
  careful: {resource: path, as: path, default: ask}
  mine: {resource: path, as: path, risk: medium}
rules:
  - deny: ["Write(**/denied)"]
  - deny: ["Write(**/risky)"]
    when: args.content == "x"
  - ask: ["Write(**/asked)", "Bash(git log:*)"]
  - ask: ["Write(**/quorum)"]
    reviewers: [ops]
    required_approvals: 2
  - rewrite: ["Edit(**/rewritten)"]
    set: {new_string: '"b"'}
`

// TestTrustWindow: an open window lets calls pass that are known to read and write in the workspace, and
// nothing else.
func TestTrustWindow(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	end := now.Add(15 * time.Minute)
	who := approvals.Principal{Tenant: "default", User: "ann", Agent: "coder"}
	compiled, err := CompileGrant(approvals.Grant{
		ID: "W", Effect: approvals.GrantAllow, Scope: approvals.GrantSession, Principal: who, SessionID: "s", RunID: "r", Window: true,
		Patterns: []string{}, GrantedBy: "rita", RequestID: "Q", ExpiresAt: &end,
	})
	if err != nil {
		t.Fatal(err)
	}
	p := mustParse(t, windowPolicy)
	p = p.In(p.Workspace().Of(workspace.Agent{Folder: "/app"})).With(NewGrants(compiled))
	bash := func(command string) Call { return Call{Tool: "Bash", Arguments: argument("command", command)} }
	write := func(path string) Call {
		return Call{Tool: "Write", Arguments: `{"file_path":"` + path + `","content":"x"}`}
	}
	f := func(name string, c Call, want Action) {
		t.Helper()
		if c.Principal.Tenant == "" {
			c.Principal = who
		}
		if c.Session == "" {
			c.Session = "s"
		}
		if c.Run == "" {
			c.Run = "r"
		}
		if c.Now.IsZero() {
			c.Now = now
		}
		v := p.Judge(c)
		if byWindow := v.Rule == "grant W"; v.Action != want || byWindow != (want == Allow) {
			t.Errorf("%s: %s by %s, want %s (%s)", name, v.Action, v.Rule, want, v.Reason)
		}
	}
	f("a write", write("/app/a"), Allow)
	f("a relative write", write("src/a"), Allow)
	unoffered := write("/app/a")
	unoffered.Unoffered = "It is not offered."
	f("not offered", unoffered, Ask)
	f("a command", bash("mkdir -p a && cat b"), Allow)
	f("a loop", bash("for f in a b; do cat $f; done"), Ask)
	f("a branch", bash("if true; then mkdir a; fi"), Ask)

	f("denied", write("/app/denied"), Deny)
	f("denied under a condition", write("/app/risky"), Deny)
	f("asked by a rule", write("/app/asked"), Ask)
	f("a command asked by a rule", bash("git log"), Ask)
	f("a quorum", write("/app/quorum"), Ask)
	f("asked by the default of the tool", Call{Tool: "careful", Arguments: `{"path":"/app/a"}`}, Ask)
	f("a tool of unknown effects", Call{Tool: "mine", Arguments: `{"path":"/app/a"}`}, Ask)
	f("another unknown tool", Call{Tool: "deploy", Arguments: `{"to":"/app/a"}`}, Ask)
	f("rewritten", Call{Tool: "Edit", Arguments: `{"file_path":"/app/rewritten","old_string":"a","new_string":"c"}`}, Ask)
	f("outside", write("/srv/a"), Ask)
	f("above", write("../a"), Ask)
	f("a secret", write("/app/.env"), Ask)
	f("code that git runs", write("/app/.git/hooks/pre-commit"), Ask)
	f("the policy", write("/app/policy.yaml/../.github/workflows/a.yml"), Ask)
	f("ambiguous", Call{Tool: "Write", Arguments: `{"file_path":"/app/a","file_path":"/app/b","content":""}`}, Ask)
	f("an unknown argument", Call{Tool: "Write", Arguments: `{"file_path":"/app/a","content":"","mode":"x"}`}, Ask)
	for _, command := range []string{"rm a", "npm test", "npm install x", "curl x", "git push", "git commit -m x", "sudo ls", "cat .env", "cat $F", "ls; frobnicate", "ls > /etc/x", "git reset --hard", "echo /etc/passwd | xargs cat"} {
		f(command, bash(command), Ask)
	}
	f("of another run", Call{Tool: "Write", Arguments: write("/app/a").Arguments, Run: "r2"}, Ask)
	f("of another session", Call{Tool: "Write", Arguments: write("/app/a").Arguments, Session: "s2"}, Ask)
	f("of another agent", Call{Tool: "Write", Arguments: write("/app/a").Arguments, Principal: approvals.Principal{Tenant: "default", User: "ann", Agent: "other"}}, Ask)
	f("at its end", Call{Tool: "Write", Arguments: write("/app/a").Arguments, Now: end}, Ask)
	f("tainted", Call{Tool: "Write", Arguments: write("/app/a").Arguments, Tainted: true}, Ask)
	f("run by the provider", Call{Tool: "Write", Arguments: write("/app/a").Arguments, Fixed: true}, Ask)
	f("with a secret's value", Call{Tool: "Write", Arguments: `{"file_path":"/app/a","content":"secret://T"}`, Secrets: []string{"T"}}, Ask)
	if v, ok := p.allowsAny(&Call{Principal: who, Tool: "Write"}); ok {
		t.Errorf("a window allows a tool by name: %+v", v)
	}
}
