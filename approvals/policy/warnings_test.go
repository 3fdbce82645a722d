package policy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWarnings is finding 7: a pattern that is the name alone of a tool with a
// resource is warned of.
func TestWarnings(t *testing.T) {
	p := mustParse(t, `
tools:
  mine: {resource: script, as: shell}
  todo: {default: ask}
rules:
  - allow: ["mine", "todo", "unknown", "mine(ls *)"]
  - allow: ["Bash"]
  - allow: ["mcp__filesystem__read_*"]
  - deny: ["Read"]
`)
	want := []string{
		"policy.yaml:6: mine allows any arguments of mine, also files that may hold secrets: write mine(...) to allow some.",
		"policy.yaml:7: Bash allows any arguments of Bash, also files that may hold secrets: write Bash(...) to allow some.",
		"policy.yaml:8: mcp__filesystem__read_* allows any arguments of mcp__filesystem__read_file, mcp__filesystem__read_multiple_files, mcp__filesystem__read_text_file, also files that may hold secrets: write mcp__filesystem__read_file(...) to allow some.",
	}
	if diff := cmp.Diff(want, p.Warnings()); diff != "" {
		t.Error(diff)
	}
}

// TestWarningsOfSecrets: a secret that any call of a tool with a resource gets is warned of.
func TestWarningsOfSecrets(t *testing.T) {
	t.Parallel()
	p := mustParse(t, `
secrets:
  - {name: B_KEY, tools: ["bash(gh auth *)", "mcp__github__*"]}
  - {name: A_KEY, tools: ["bash", "bash(*)", "unknown"]}
`)
	want := []string{"policy.yaml:4: any call of bash that is released gets the secret A_KEY: write bash(...) to give it to some."}
	if diff := cmp.Diff(want, p.Warnings()); diff != "" {
		t.Error(diff)
	}
}
