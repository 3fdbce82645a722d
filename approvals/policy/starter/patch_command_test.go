package starter_test

import (
	"testing"

	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/approvals/policy/starter"
)

// TestPatchCommands: apply_patch as a command, as Codex writes it, is judged by the files that its patch names.
func TestPatchCommands(t *testing.T) {
	p, _ := inFolder(t, starter.Options{})
	f := func(want policy.Action, commands ...string) {
		t.Helper()
		for _, command := range commands {
			if v := p.Judge(policy.Call{Tool: "Bash", Arguments: argument("command", command)}); v.Action != want {
				t.Errorf("%q: %s by %s, want %s", command, v.Action, v.Rule, want)
			}
		}
	}
	patch := func(header string) string { return "*** Begin Patch\n" + header + "\n+x = %w[a b]\n*** End Patch\n" }
	document := func(header string) string { return "apply_patch <<'EOF'\n" + patch(header) + "EOF\n" }
	good := document("*** Add File: src/x.go")
	f(policy.Allow, good, "cd src && "+document("*** Update File: x.go"), "apply_patch '"+patch("*** Update File: src/x.go")+"'", "applypatch '"+patch("*** Update File: src/x.go")+"'",
		"timeout 5 "+good, "apply_patch <<EOF\n"+patch("*** Add File: src/x.go")+"EOF\n", good+"go vet ./...", "git status\n"+document("*** Update File: a\n*** Move to: src/b"), document("*** Add File: /tmp/notes"), "apply_patch \"$(cat <<'EOF'\n"+patch("*** Update File: src/x.go")+"EOF\n)\"")
	for _, file := range []string{"../x", "/etc/x", "~/.bashrc", ".env", "id_rsa", ".git/hooks/pre-commit", ".husky/pre-commit", ".github/workflows/ci.yml", ".claude/settings.json", "go.sum"} {
		f(policy.Ask, document("*** Update File: "+file), document("*** Update File: src/a\n*** Move to: "+file), "apply_patch '"+patch("*** Add File: "+file)+"'", good+document("*** Delete File: "+file))
	}
	f(policy.Deny, document("*** Update File: policy.yaml"), "cd src && "+document("*** Update File: ../policy.yaml"))
	f(policy.Ask,
		"cd .git && "+document("*** Update File: config"), "cd /etc && "+document("*** Update File: hosts"), "(cd /etc; "+good+")", "env -C /etc "+good, "sudo "+good, "ssh host "+good, "docker exec x "+good,
		"apply_patch <<EOF\n"+patch("*** Add File: src/x.go\n+$X")+"EOF\n", "apply_patch <<EOF\n"+patch("*** Add File: src/x.go\n+$(evil)")+"EOF\n", "apply_patch <<-'EOF'\n"+patch("*** Add File: src/x.go")+"EOF\n",
		"apply_patch <<'EOF' < other\n"+patch("*** Add File: src/x.go")+"EOF\n", "apply_patch < other <<'EOF'\n"+patch("*** Add File: src/x.go")+"EOF\n", "apply_patch 0<other <<'EOF'\n"+patch("*** Add File: src/x.go")+"EOF\n", "apply_patch <<'EOF' <&3\n"+patch("*** Add File: src/x.go")+"EOF\n", "apply_patch 3<<'EOF'\n"+patch("*** Add File: src/x.go")+"EOF\n",
		"cat p | apply_patch", "cat p | "+good, "apply_patch", "apply_patch p", "apply_patch -f '"+patch("*** Add File: src/x.go")+"'", "apply_patch '"+patch("*** Add File: src/x.go")+"' y", "apply_patch '"+patch("*** Add File: src/x.go")+"' <<'EOF'\n"+patch("*** Add File: /etc/x")+"EOF\n",
		document("*** Update File: src/x:y"), document("rm -rf x"), document(" *** Update File: /etc/x"), "./apply_patch <<'EOF'\n"+patch("*** Add File: .env")+"EOF\n",
		"apply_patch() { evil; }; "+good, "alias apply_patch=evil; "+good, "PATH=. "+good,
	)
}
