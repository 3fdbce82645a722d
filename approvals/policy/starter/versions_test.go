package starter_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/approvals/policy/rule"
	"github.com/heldcall/heldcall/approvals/policy/starter"
)

// TestPartsKeepLines: what counts of a version has the lines of the whole, and no line of a part that does not count.
func TestPartsKeepLines(t *testing.T) {
	version := starter.Version{Name: "starter/0", Text: []byte("a\n#:workspace\nb\n  #:checks\nc\n  #:end checks\nd\n#:end workspace\n#:no workspace\ne\n#:end no workspace\nf\n")}
	for parts, want := range map[starter.Parts]string{
		{Workspace: true, Checks: true}: "a\n\nb\n\nc\n\nd\n\n\n\n\nf\n",
		{Workspace: true}:               "a\n\nb\n\n\n\nd\n\n\n\n\nf\n",
		{Checks: true}:                  "a\n\n\n\n\n\n\n\n\ne\n\nf\n",
		{}:                              "a\n\n\n\n\n\n\n\n\ne\n\nf\n",
	} {
		if got := string(version.For(parts)); got != want {
			t.Errorf("%+v: %q, want %q", parts, got, want)
		}
	}
}

// TestVersionsHold: every version can be extended, in each of its parts, without mistakes and warnings.
func TestVersionsHold(t *testing.T) {
	for _, version := range starter.Versions() {
		for _, more := range []string{"", "workspace: [/work/app]\n", "workspace: [/work/app]\nwithout: [checks]\n", "profiles: none\n", "profiles: [codex]\nworkspace: [/work/app]\n"} {
			p := parse(t, "policy.yaml", "extends: "+version.Name+"\n"+more)
			if extends := p.Extends().Version; extends.Name != version.Name || !bytes.Equal(extends.Text, version.Text) {
				t.Errorf("extends %s", extends.Name)
			}
		}
	}
}

// TestShownPolicyIsTheSame: the whole policy that `heldcall policy show` prints judges as the one that extends the starter.
func TestShownPolicyIsTheSame(t *testing.T) {
	commands := []string{"git status", "go test ./...", "npm run lint", "rm -rf node_modules", "git commit -m x", "cat src/a.go", "echo x > a", "kubectl get pods"}
	for _, reaching := range hostile {
		for some := range slices.Chunk(reaching, 5) {
			commands = append(commands, some[0])
		}
	}
	for _, o := range []starter.Options{{}, {Workspace: []string{"/work/app"}}, {Workspace: []string{"/work/app"}, AskChecks: true, Business: true, Agents: []string{"claude-code"}}} {
		src, err := starter.Policy(o)
		if err != nil {
			t.Fatal(err)
		}
		shown, err := rule.Show("policy.yaml", src)
		if err != nil {
			t.Fatal(err)
		}
		short, whole := parse(t, "policy.yaml", string(src)), parse(t, "policy.yaml", string(shown))
		for i, command := range commands {
			c := policy.Call{Tool: "Bash", Arguments: argument("command", command), Tainted: i%2 == 1}
			if got, want := whole.Judge(c), short.Judge(c); got.Action != want.Action || got.Risk != want.Risk || got.Reason != want.Reason {
				t.Errorf("%q: %s by %s in the whole policy, %s by %s", command, got.Action, got.Rule, want.Action, want.Rule)
			}
		}
	}
}
