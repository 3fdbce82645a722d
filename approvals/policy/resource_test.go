package policy

import (
	"testing"

	"github.com/heldcall/heldcall/approvals"
)

// TestBuiltInRisks: a profile's risk decides only if the policy does not, and only calls
// that are certain and access no secret.
func TestBuiltInRisks(t *testing.T) {
	f := func(src string, c Call, want Action) {
		t.Helper()
		if v := mustParse(t, src).Judge(c); v.Action != want {
			t.Errorf("%s%s %s: %s by %s (%s)", src, c.Tool, c.Arguments, v.Action, v.Rule, v.Reason)
		}
	}
	read := func(path string) Call {
		return Call{Tool: "Read", Arguments: argument("file_path", path)}
	}
	f("", read("src/a.go"), Allow)
	f("default: ask\n", read("src/a.go"), Ask)
	f("default: deny\n", read("src/a.go"), Deny)
	f("profiles: none\n", read("src/a.go"), Ask)
	f("profiles: [codex]\n", read("src/a.go"), Ask)
	f("profiles: [claude-code]\n", read("src/a.go"), Allow)
	f("tools: {Read: {risk: medium}}\n", read("src/a.go"), Ask)
	f("tools: {Read: {resource: file_path, as: path}}\n", read("src/a.go"), Ask)
	f("rules: [{allow: ['Read(docs/**)']}]\n", read("src/a.go"), Ask)
	f("rules: [{deny: ['Read(src/**)']}]\n", read("src/a.go"), Deny)
	f("rules: [{allow: ['Read(**)']}]\n", read("x/.env"), Ask)
	f("rules: [{allow: ['Read(**/.env)']}]\n", read("x/.env"), Allow)
	f("rules: [{allow: [Read]}]\n", read("x/.env"), Allow)
	for _, path := range []string{".env", "/work/.env.local", "~/.ssh/config", "certs/server.pem", "SECRETS/x", "my_credentials.json", "/proc/self/environ", "", "a\u200bb"} {
		f("", read(path), Ask)
	}
	f("", Call{Tool: "Read", Arguments: `{"file_path":"a","follow":"http://evil"}`}, Ask)
	f("", Call{Tool: "Read", Arguments: `{"path":"a"}`}, Ask)
	f("", Call{Tool: "Glob", Arguments: `{"pattern":"**/*.go"}`}, Allow)
	f("", Call{Tool: "read_many_files", Arguments: `{"paths":["a","b"]}`}, Allow)
	f("", Call{Tool: "read_many_files", Arguments: `{"paths":["a",".env"]}`}, Ask)
	f("", Call{Tool: "Bash", Arguments: argument("command", "ls")}, Ask)
	f("default: allow\n", Call{Tool: "Bash", Arguments: argument("command", "ls > x")}, Allow)
	if v := Default().Judge(read("src/a.go")); v.Action != Ask || v.Risk != approvals.RiskLow || v.Rule != "default" {
		t.Errorf("without a policy: %+v", v)
	}
	if v := mustParse(t, "").Judge(Call{Tool: "Bash", Arguments: argument("command", "ls")}); v.Risk != approvals.RiskLow || v.Rule != "built-in profile of Bash" {
		t.Errorf("%+v", v)
	}
	if _, ok := mustParse(t, "").allowsAny(&Call{Tool: "Read"}); ok {
		t.Error("a reader is allowed by name")
	}
}

// TestResources: the resources of the calls of known tools.
func TestResources(t *testing.T) {
	p := mustParse(t, `
ambiguous: deny
tools:
  cp: {resource: [from, to], as: path}
  run: {resource: argv, as: shell, workdir: dir, args: [timeout]}
  get: {resource: urls, as: url}
  in: {resource: path, as: path, workdir: dir}
rules:
  - allow: ["cp(src/**)", "run(ls *)", "run(git commit -m *)", "get(https://a.example)", "apply_patch(src/**)", "shell(ls *)", "in(/work/src/**)"]
  - deny: ["*(rm *)", "apply_patch(**/.env)", "cp(secret)"]
  - deny: ["*(*forbidden*)"]
    match: arguments
`)
	f := func(tool, args string, want Action, resource string) {
		t.Helper()
		v := p.Judge(Call{Tool: tool, Arguments: args})
		if v.Action != want || v.Resource != resource {
			t.Errorf("%s %s: %s of %q by %s (%s), want %s of %q", tool, args, v.Action, v.Resource, v.Rule, v.Reason, want, resource)
		}
	}
	f("cp", `{"from":"src/a","to":"src/b"}`, Allow, "src/a, src/b")
	f("cp", `{"from":"src/a","to":"/etc/b"}`, Ask, "src/a, /etc/b")
	f("cp", `{"from":"src/a","to":"secret"}`, Deny, "src/a, secret")
	f("cp", `{"from":"src/a"}`, Allow, "src/a")
	f("run", `{"argv":["ls","src"]}`, Allow, "ls src")
	f("run", `{"argv":["ls","src"],"timeout":5}`, Allow, "ls src")
	f("run", `{"argv":["ls","src"],"shell":"/evil"}`, Ask, "ls src")
	f("run", `{"argv":["ls","; rm x"]}`, Deny, "ls '; rm x'")
	f("run", `{"argv":["ls","$(x)"]}`, Ask, "ls '$(x)'")
	f("run", `{"argv":["ls","a b"]}`, Allow, "ls 'a b'")
	f("run", `{"argv":["bash","-lc","ls src && ls x"]}`, Allow, "ls src && ls x")
	f("run", `{"argv":["bash","-lc","ls src; rm x"]}`, Deny, "ls src; rm x")
	f("run", `{"argv":["sudo","rm","x"]}`, Deny, "sudo rm x")
	f("run", `{"argv":["git","commit","-m","a --no-verify"]}`, Ask, "git commit -m 'a --no-verify'")
	f("run", `{"argv":[]}`, Ask, `{"argv":[]}`)
	f("run", `{"argv":["ls",5]}`, Ask, `{"argv":["ls",5]}`)
	f("get", `{"urls":["https://a.example/x","https://a.example/y"]}`, Allow, "https://a.example/x, https://a.example/y")
	f("get", `{"urls":["https://a.example/x","https://b.example/y"]}`, Ask, "https://a.example/x, https://b.example/y")
	f("in", `{"path":"src/a","dir":"/work"}`, Allow, "/work/src/a")
	f("in", `{"path":"../src/a","dir":"/work"}`, Ask, "/work/../src/a")
	f("in", `{"path":"/work/src/a","dir":"/x"}`, Allow, "/work/src/a")
	f("apply_patch", `{"input":"*** Begin Patch\n*** Update File: src/a.go\n@@\n-a\n+b\n*** End Patch"}`, Allow, "src/a.go")
	f("apply_patch", `{"input":"*** Begin Patch\n*** Update File: src/a.go\n*** Move to: b.go\n@@\n-a\n+b\n*** End Patch"}`, Ask, "src/a.go, b.go")
	f("apply_patch", `{"input":"*** Begin Patch\n*** Add File: src/.env\n+b\n*** End Patch"}`, Deny, "src/.env")
	f("apply_patch", `{"input":"*** Begin Patch\n*** Update File: src/a.go\n@@\n-a\n+b\n*** End Patch\n*** Begin Patch\n*** Add File: b\n*** End Patch"}`, Ask, "src/a.go, b")
	f("shell", `{"command":["ls","src"],"workdir":"/x"}`, Ask, "ls src")
	f("shell", `{"command":["ls","src"],"workdir":"./sub"}`, Allow, "ls src")
	f("other", `{"x":{"y":"so forbidden"}}`, Deny, `{"x":{"y":"so forbidden"}}`)
	f("cp", `{"from":"src/a","from":"src/b"}`, Deny, `{"from":"src/a","from":"src/b"}`)
	if v := p.Judge(Call{Tool: "apply_patch", Arguments: "*** Begin Patch\n*** Delete File: src/a\n*** End Patch\n", FreeText: true}); v.Action != Allow {
		t.Errorf("a patch as free text: %+v", v)
	}
	if v := p.Judge(Call{Tool: "cp", Arguments: `{"from":"src/a","from":"src/b"}`}); v.Rule != "ambiguous (policy.yaml:2)" {
		t.Errorf("%+v", v)
	}
}
