package starter_test

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
)

// TestStarter judges calls by the starter policy.
func TestStarter(t *testing.T) {
	p := plain(t, "")
	f := func(want policy.Action, tool, field string, texts ...string) {
		t.Helper()
		for _, text := range texts {
			if v := p.Judge(policy.Call{Tool: tool, Arguments: argument(field, text)}); v.Action != want {
				t.Errorf("%s %q: %s by %s (%s), want %s", tool, text, v.Action, v.Rule, v.Reason, want)
			}
		}
	}
	f(policy.Allow, "Bash", "command", "git status", "git log --oneline", "ls -la && git diff", "pwd")
	f(policy.Allow, "exec_command", "cmd", "git diff --stat")
	f(policy.Deny, "Bash", "command", "rm -rf /", "rm -fr /", "sudo rm -rf /", "ls; rm -rf ~", "rm -rf $HOME", "mkfs.ext4 /dev/sda1", ":(){ :|:& };:", "echo '-----BEGIN RSA PRIVATE KEY-----'")
	f(policy.Ask, "Bash", "command", "rm -rf x", "git push", "ls > x", "npm test", "curl x", "cat $X", "cat ~/.ssh/id_rsa", "grep -r . ~/.aws", "git diff /dev/null ~/.ssh/id_rsa")
	f(policy.Allow, "Read", "file_path", "/work/src/a.go", "README.md")
	f(policy.Ask, "Read", "file_path", "/work/.env", "~/.ssh/id_rsa")
	f(policy.Ask, "Write", "file_path", "src/a.go")
	f(policy.Ask, "WebFetch", "url", "https://example.org/")
	f(policy.Ask, "unknown", "x", "y")
	f(policy.Allow, "execute_command", "command", "git status")
	f(policy.Ask, "Bash", "command", "sudo rm -rf /usr", "ls; rm -rf ~/x", "dd if=/dev/zero of=/dev/sda", "mkfs.ext4 disk.img", "git show HEAD:.env", "ls ~/.ssh")
	f(policy.Deny, "Bash", "command", "cp x policy.yaml", "echo x > policy.yaml")
	f(policy.Ask, "WebSearch", "query", "dd examples", "rm -rf / explained", "curl x")
	if v := p.Judge(policy.Call{Tool: "WebFetch", Arguments: argument("url", "https://example.org/")}); len(v.Flags) > 0 {
		t.Errorf("a URL is not what the rules are about: %q", v.Flags)
	}
}

// TestStarterAsksOfShellsOnly is finding 11 (14 of the report, and F1): patterns for
// shell commands do not match tools that read files or search the web.
func TestStarterAsksOfShellsOnly(t *testing.T) {
	p := plain(t, "")
	for _, c := range []policy.Call{
		{Tool: "Grep", Arguments: `{"pattern":"foo"}`},
		{Tool: "Grep", Arguments: `{"pattern":"foo","path":"."}`},
		{Tool: "Grep", Arguments: `{"pattern":"rm -rf /","path":"/Users/a/repo/src"}`},
		{Tool: "grep", Arguments: `{"pattern":"curl x","include":"*.go"}`},
		{Tool: "Read", Arguments: `{"file_path":"/home/me/app/policy_test.go"}`},
	} {
		if v := p.Judge(c); v.Action != policy.Allow {
			t.Errorf("%s %s: %s by %s (%s)", c.Tool, c.Arguments, v.Action, v.Rule, v.Reason)
		}
	}
	v := p.Judge(policy.Call{Tool: "WebSearch", Arguments: `{"query":"dd examples"}`})
	if v.Action != policy.Ask || v.Risk != approvals.RiskMedium || len(v.Flags) > 0 || strings.Contains(v.Rule, "policy.yaml") {
		t.Errorf("a search of the web: %+v", v)
	}
}

// TestStarterDeniesLittle is finding 11 (F3): commands that somebody may want are asked
// about as critical, and only commands without any use are denied.
func TestStarterDeniesLittle(t *testing.T) {
	p := plain(t, "")
	for _, script := range []string{"rm -rf /tmp/build-x && mkdir /tmp/build-x", "rm -rf /tmp/x && git clone https://a.example/x", "dd if=/tmp/a of=/tmp/b", "rm -rf ~/x", "rm -rf /*", "shutdown -h now"} {
		v := p.Judge(policy.Call{Tool: "Bash", Arguments: argument("command", script)})
		if v.Action != policy.Ask || v.Risk != approvals.RiskCritical {
			t.Errorf("%s: %s, %s risk, by %s (%s)", script, v.Action, v.Risk, v.Rule, v.Reason)
		}
	}
}

// TestStarterKeepsItsFiles is finding 11: file tools do not write heldcall's own
// files, however they are named, and the rest is asked about as before.
func TestStarterKeepsItsFiles(t *testing.T) {
	p := plain(t, "  - allow: [\"Write(./**)\", \"Edit(./**)\", \"Edit(/home/me/app/**)\", \"shell(cp *)\"]\n")
	f := func(want policy.Action, tool, args string) {
		t.Helper()
		if v := p.Judge(policy.Call{Tool: tool, Arguments: args}); v.Action != want {
			t.Errorf("%s %s: %s by %s (%s), want %s", tool, args, v.Action, v.Rule, v.Reason, want)
		}
	}
	for _, path := range []string{"policy.yaml", "./a/../policy.yaml", "/home/me/app/policy.yaml", "heldcall.yaml", "data/jetstream/x", "/etc/heldcall/environment", "/var/lib/heldcall/x", "~/.local/state/heldcall/run/x"} {
		f(policy.Deny, "Write", argument("file_path", path))
		f(policy.Deny, "Edit", argument("file_path", path))
		f(policy.Deny, "write_to_file", argument("path", path))
		f(policy.Deny, "str_replace_based_edit_tool", argument("path", path))
		f(policy.Deny, "mcp__filesystem__move_file", `{"source":"x","destination":"`+path+`"}`)
		f(policy.Deny, "apply_patch", argument("input", "*** Begin Patch\n*** Add File: "+path+"\n+x\n*** End Patch"))
		f(policy.Deny, "Bash", argument("command", "cp evil "+path))
	}
	f(policy.Allow, "Write", argument("file_path", "src/a.go"))
	f(policy.Allow, "Edit", argument("file_path", "/home/me/app/src/a.go")) // F5: absolute paths want an absolute pattern
	f(policy.Ask, "Edit", argument("file_path", "/home/me/other/a.go"))
	f(policy.Allow, "Bash", argument("command", "cp a b"))
}
