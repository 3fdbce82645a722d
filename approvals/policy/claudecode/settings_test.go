package claudecode

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/approvals/policy/workspace"
)

// imported imports settings that are in the project folder, and parses the policy.
func imported(t *testing.T, settings string) (page string, rules *policy.Policy, left []Left) {
	t.Helper()
	project := t.TempDir()
	text, left, err := Import("heldcall policy import", filepath.Join(project, ".claude", "settings.json"), []byte(settings))
	if err != nil {
		t.Fatal(err)
	}
	rules, err = policy.Parse(filepath.Join(t.TempDir(), "policy.yaml"), text)
	if err != nil {
		t.Fatalf("%s\n%s", err, text)
	}
	rules = rules.In(rules.Workspace().Of(workspace.Agent{Folder: project}))
	return strings.ReplaceAll(string(text), filepath.ToSlash(project), "PROJECT"), rules, left
}

// TestImport: the rules of the settings judge the same calls.
func TestImport(t *testing.T) {
	_, rules, left := imported(t, `{"permissions": {
		"allow": ["Bash(npm run test:*)", "Bash(git commit *)", "Bash(make lint)", "Edit(/src/**)", "Read(//opt/docs/**)", "WebFetch(domain:docs.python.org)", "mcp__github", "Task(Explore)"],
		"ask": ["Bash(git push:*)", "WebFetch(domain:*.example)"],
		"deny": ["Bash(curl:*)", "Read(./.env)", "Read(secrets/)", "Edit(*.lock)", "mcp__evil", "WebFetch(domain:*.evil.io)"]}}`)
	if len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	for _, tt := range []struct {
		tool, field, text string
		want              policy.Action
	}{
		{"Bash", "command", "npm run test:unit -- --watch", policy.Allow},
		{"Bash", "command", "git commit -m x", policy.Allow},
		{"Bash", "command", "make lint", policy.Allow},
		{"Bash", "command", "make deploy", policy.Ask},
		{"Bash", "command", "git push origin main", policy.Ask},
		{"Bash", "command", "ls; curl https://a.example", policy.Deny},
		{"Edit", "file_path", "src/a.go", policy.Allow},
		{"Write", "file_path", "src/a.go", policy.Allow},
		{"Write", "file_path", "src/x/go.lock", policy.Deny},
		{"Edit", "file_path", "other/a.go", policy.Ask},
		{"Read", "file_path", "/opt/docs/a.md", policy.Allow},
		{"Read", "file_path", ".env", policy.Deny},
		{"Grep", "path", "secrets", policy.Deny},
		{"Read", "file_path", "secrets/a", policy.Deny},
		{"WebFetch", "url", "https://docs.python.org/3/", policy.Allow},
		{"WebFetch", "url", "https://docs.python.org.evil.io/3/", policy.Deny},
		{"WebFetch", "url", "https://a.b.evil.io/", policy.Deny},
		{"WebFetch", "url", "https://a.example/", policy.Ask},
		{"mcp__github__get", "x", "y", policy.Allow},
		{"mcp__evil__get", "x", "y", policy.Deny},
		{"Task", "subagent_type", "Explore", policy.Allow},
	} {
		arguments, err := json.Marshal(map[string]string{tt.field: tt.text})
		if err != nil {
			t.Fatal(err)
		}
		if v := rules.Judge(policy.Call{Tool: tt.tool, Arguments: string(arguments), Offered: true}); v.Action != tt.want {
			t.Errorf("%s %s: %s by %s (%s), want %s", tt.tool, tt.text, v.Action, v.Rule, v.Reason, tt.want)
		}
	}
}

// TestImportLeaves: what a policy cannot have is named, in the policy too.
func TestImportLeaves(t *testing.T) {
	page, _, left := imported(t, `{"hooks": {}, "model": "x", "permissions": {"defaultMode": "acceptEdits", "new": [1],
		"allow": ["Bash(sudo:*)", "Bash(cd x && ls)", "Bash(X=1 make)", "Frob(x)", "Edit", "Bash(ls", "Read(../x)"], "deny": ["Read(!x)"],
		"additionalDirectories": ["/", "docs"]}}`)
	var all []string
	for _, one := range left {
		all = append(all, one.What)
		if !strings.Contains(page, "#   - "+one.What) || one.Why == "" {
			t.Errorf("%s: %q is not in the policy:\n%s", one.What, one.Why, page)
		}
	}
	want := `hooks, permissions.defaultMode "acceptEdits", permissions.new [1], permissions.additionalDirectories /, deny Read(!x), allow Bash(sudo:*), allow Bash(cd x && ls), allow Bash(X=1 make), allow Frob(x), allow Bash(ls, allow Read(../x)`
	if got := strings.Join(all, ", "); got != want {
		t.Errorf("left: %s\nwant: %s", got, want)
	}
	if !strings.Contains(page, `workspace: ["PROJECT", "PROJECT/docs"]`) || !strings.Contains(page, `"Edit(./**)"`) {
		t.Errorf("the policy is\n%s", page)
	}
}

// TestImportIsStrict: settings that two decoders could read differently are an error.
func TestImportIsStrict(t *testing.T) {
	for _, settings := range []string{
		``, `[]`, `{"permissions": {"allow": ["a"], "allow": ["b"]}}`, `{"permissions": {}, "permissions": {"allow": ["Bash"]}}`, `{"permissions": []}`,
		`{"permissions": {"allow": [1]}}`, `{"permissions": {"allow": "Bash"}}`, `{"permissions": {"deny": {}}}`, `{} {}`, "{\"permissions\": {\"allow\": [\"a\xff\"]}}", `{/*x*/}`, `{"permissions": {"allow": ["a",]}}`,
	} {
		if text, _, err := Import("x", "settings.json", []byte(settings)); err == nil {
			t.Errorf("%s is imported:\n%s", settings, text)
		}
	}
	for _, settings := range []string{`{}`, `{"permissions": {}}`, `{"permissions": {"allow": []}}`} {
		if _, left, err := Import("x", "settings.json", []byte(settings)); err != nil || len(left) > 0 {
			t.Errorf("%s: %v, %v", settings, err, left)
		}
	}
}

// TestImportEscapes: texts of the settings begin no line of the policy.
func TestImportEscapes(t *testing.T) {
	page, rules, _ := imported(t, `{"permissions": {"allow": ["Bash(ls)\nrules: x", "Bash(echo \"a: b\")"], "new\ndefault: allow": 1}}`)
	if strings.Contains(page, "\nrules: x") || strings.Contains(page, "\ndefault") {
		t.Errorf("the policy is\n%s", page)
	}
	if v := rules.Judge(policy.Call{Tool: "Bash", Arguments: `{"command":"echo 'a: b'"}`, Offered: true}); v.Action != policy.Allow {
		t.Errorf("%s by %s", v.Action, v.Rule)
	}
}
