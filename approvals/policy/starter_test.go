package policy

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
)

// TestStarter judges calls by the starter policy.
func TestStarter(t *testing.T) {
	p := mustParse(t, string(Starter()))
	f := func(want Action, tool, field string, texts ...string) {
		t.Helper()
		for _, text := range texts {
			if v := p.Judge(Call{Tool: tool, Arguments: argument(field, text)}); v.Action != want {
				t.Errorf("%s %q: %s by %s (%s), want %s", tool, text, v.Action, v.Rule, v.Reason, want)
			}
		}
	}
	f(Allow, "Bash", "command", "git status", "git log --oneline", "ls -la && git diff", "pwd")
	f(Allow, "exec_command", "cmd", "git diff --stat")
	f(Deny, "Bash", "command", "rm -rf /", "rm -fr /", "sudo rm -rf /", "ls; rm -rf ~", "rm -rf $HOME", "mkfs.ext4 /dev/sda1", ":(){ :|:& };:", "echo '-----BEGIN RSA PRIVATE KEY-----'")
	f(Ask, "Bash", "command", "rm -rf x", "git push", "ls > x", "npm test", "curl x", "cat $X", "cat ~/.ssh/id_rsa", "grep -r . ~/.aws", "git diff /dev/null ~/.ssh/id_rsa")
	f(Allow, "Read", "file_path", "/work/src/a.go", "README.md")
	f(Ask, "Read", "file_path", "/work/.env", "~/.ssh/id_rsa")
	f(Ask, "Write", "file_path", "src/a.go")
	f(Ask, "WebFetch", "url", "https://example.org/")
	f(Ask, "unknown", "x", "y")
	f(Allow, "execute_command", "command", "git status")
	f(Ask, "Bash", "command", "sudo rm -rf /usr", "ls; rm -rf ~/x", "dd if=/dev/zero of=/dev/sda", "mkfs.ext4 disk.img", "git show HEAD:.env", "cp x policy.yaml", "ls ~/.ssh")
	f(Ask, "WebSearch", "query", "dd examples", "rm -rf / explained", "curl x")
	if v := p.Judge(Call{Tool: "WebFetch", Arguments: argument("url", "https://example.org/")}); len(v.Flags) > 0 {
		t.Errorf("a URL is not what the rules are about: %q", v.Flags)
	}
}

// TestStarterAsksOfShellsOnly is finding 11 (14 of the report, and F1): patterns for
// shell commands do not match tools that read files or search the web.
func TestStarterAsksOfShellsOnly(t *testing.T) {
	p := mustParse(t, string(Starter()))
	for _, c := range []Call{
		{Tool: "Grep", Arguments: `{"pattern":"foo"}`},
		{Tool: "Grep", Arguments: `{"pattern":"foo","path":"."}`},
		{Tool: "Grep", Arguments: `{"pattern":"rm -rf /","path":"/Users/a/repo/src"}`},
		{Tool: "grep", Arguments: `{"pattern":"curl x","include":"*.go"}`},
		{Tool: "Read", Arguments: `{"file_path":"/home/me/app/policy_test.go"}`},
	} {
		if v := p.Judge(c); v.Action != Allow {
			t.Errorf("%s %s: %s by %s (%s)", c.Tool, c.Arguments, v.Action, v.Rule, v.Reason)
		}
	}
	v := p.Judge(Call{Tool: "WebSearch", Arguments: `{"query":"dd examples"}`})
	if v.Action != Ask || v.Risk != approvals.RiskMedium || len(v.Flags) > 0 || strings.Contains(v.Rule, "policy.yaml") {
		t.Errorf("a search of the web: %+v", v)
	}
}

// TestStarterDeniesLittle is finding 11 (F3): commands that somebody may want are asked
// about as critical, and only commands without any use are denied.
func TestStarterDeniesLittle(t *testing.T) {
	p := mustParse(t, string(Starter()))
	for _, script := range []string{"rm -rf /tmp/build-x && mkdir /tmp/build-x", "rm -rf /tmp/x && git clone https://a.example/x", "dd if=/tmp/a of=/tmp/b", "rm -rf ~/x", "rm -rf /*", "shutdown -h now"} {
		v := p.Judge(Call{Tool: "Bash", Arguments: argument("command", script)})
		if v.Action != Ask || v.Risk != approvals.RiskCritical {
			t.Errorf("%s: %s, %s risk, by %s (%s)", script, v.Action, v.Risk, v.Rule, v.Reason)
		}
	}
}

// TestStarterKeepsItsFiles is finding 11: file tools do not write heldcall's own
// files, however they are named, and the rest is asked about as before.
func TestStarterKeepsItsFiles(t *testing.T) {
	p := mustParse(t, string(Starter())+"  - allow: [\"Write(**)\", \"Edit(**)\", \"Edit(/home/me/app/**)\", \"shell(cp *)\"]\n")
	f := func(want Action, tool, args string) {
		t.Helper()
		if v := p.Judge(Call{Tool: tool, Arguments: args}); v.Action != want {
			t.Errorf("%s %s: %s by %s (%s), want %s", tool, args, v.Action, v.Rule, v.Reason, want)
		}
	}
	for _, path := range []string{"policy.yaml", "./a/../policy.yaml", "/home/me/app/policy.yaml", "heldcall.yaml", "data/jetstream/x", "/etc/heldcall/environment", "/var/lib/heldcall/x", "~/.local/state/heldcall/run/x"} {
		f(Deny, "Write", argument("file_path", path))
		f(Deny, "Edit", argument("file_path", path))
		f(Deny, "write_to_file", argument("path", path))
		f(Deny, "str_replace_based_edit_tool", argument("path", path))
		f(Deny, "mcp__filesystem__move_file", `{"source":"x","destination":"`+path+`"}`)
		f(Deny, "apply_patch", argument("input", "*** Begin Patch\n*** Add File: "+path+"\n+x\n*** End Patch"))
		f(Ask, "Bash", argument("command", "cp evil "+path))
	}
	f(Allow, "Write", argument("file_path", "src/a.go"))
	f(Allow, "Edit", argument("file_path", "/home/me/app/src/a.go")) // F5: absolute paths want an absolute pattern
	f(Ask, "Edit", argument("file_path", "/home/me/other/a.go"))
	f(Allow, "Bash", argument("command", "cp a b"))
}

// TestShellClass: shell(...) is for every tool that runs shell scripts, and for no
// other; shell alone is a tool's name.
func TestShellClass(t *testing.T) {
	p := mustParse(t, `
default: ask
tools:
  mine:  {resource: script, as: shell}
  notes: {resource: text}
rules:
  - deny: ["shell(rm *)"]
  - ask: ["shell(git push:*)"]
    risk: high
  - allow: ["shell(ls *)", "shell(git *)", "other(*)"]
`)
	f := func(want Action, tool, args string) {
		t.Helper()
		c := Call{Tool: tool, Arguments: args}
		v := p.Judge(c)
		if v.Action != want {
			t.Errorf("%s %s: %s by %s (%s), want %s", tool, args, v.Action, v.Rule, v.Reason, want)
		}
		if e := p.Explain(c); e.Verdict.Action != want || (e.Rules[0].Says == "is for another tool") != (tool == "notes" || tool == "Read") {
			t.Errorf("%s %s: explained as %+v", tool, args, e)
		}
	}
	for tool, field := range map[string]string{"mine": "script", "Bash": "command", "shell": "command", "exec_command": "cmd"} {
		f(Deny, tool, argument(field, "ls x; rm x"))
		f(Ask, tool, argument(field, "git push"))
		f(Allow, tool, argument(field, "ls x"))
		if _, ok := p.AllowsByName(approvals.Principal{}, tool); ok {
			t.Errorf("%s is allowed by name", tool)
		}
	}
	f(Ask, "notes", argument("text", "rm x"))
	f(Ask, "Read", argument("file_path", "rm x"))
	p = mustParse(t, "default: ask\nrules: [{allow: [shell]}]\n")
	if v := p.Judge(Call{Tool: "Bash", Arguments: argument("command", "ls")}); v.Action != Ask {
		t.Errorf("shell alone is a tool's name: %+v", v)
	}
	for _, grant := range []string{"shell(ls *)", "shell(*)"} {
		c, err := CompileGrant(approvals.Grant{ID: "g", Effect: approvals.GrantAllow, Scope: approvals.GrantUser, Patterns: []string{grant}})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.CheckGrant(c); (err == nil) != (grant == "shell(ls *)") {
			t.Errorf("%s: %v", grant, err)
		}
		if !c.IsFor("Bash") || !c.IsFor("shell") || c.IsFor("Read") {
			t.Errorf("%s is for other tools", grant)
		}
	}
	if _, err := Parse("policy.yaml", []byte("rules: [{allow: ['shell(a && b)']}]\n")); err == nil {
		t.Error("an allow pattern that is no command is taken")
	}
}
