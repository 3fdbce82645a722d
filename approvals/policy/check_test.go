package policy

import (
	"fmt"
	"strings"
	"testing"
)

// TestCheckedPatterns: a check states of each pattern calls that pass and calls that do not, and these do so; a pattern that
// covers nothing is found.
func TestCheckedPatterns(t *testing.T) {
	for _, tt := range namedPrograms {
		p := mustParse(t, fmt.Sprintf("tools: {bash: {resource: command, as: shell}}\nrules:\n  - allow: [%q]\n", "bash("+tt.pattern+")"))
		checks := p.CheckPatterns()
		if len(checks) != 1 {
			t.Fatalf("%s: %d checks", tt.pattern, len(checks))
		}
		c := checks[0]
		if covers := len(tt.pass) > 0; (c.Nothing == "") != covers || (len(c.Passes) > 0) != covers || len(c.Stays) == 0 || c.Covers == "" {
			t.Errorf("%s: %+v", tt.pattern, c)
		}
		for _, command := range c.Passes {
			if got := judgedBash(t, p, command); got != Allow {
				t.Errorf("%s: %q is stated to pass and is %s", tt.pattern, command, got)
			}
		}
		for _, command := range c.Stays {
			if got := judgedBash(t, p, command); got == Allow {
				t.Errorf("%s: %q is stated not to pass and does", tt.pattern, command)
			}
		}
	}
}

// TestCheckedTools: patterns for other tools and with conditions are described too, and alike ones are one line.
func TestCheckedTools(t *testing.T) {
	p := mustParse(t, `
workspace: [/work/app]
tools:
  bash: {resource: command, as: shell}
  send: {resource: to, as: plain}
rules:
  - allow: ["Edit(./**)", "Write(./**)", "Read(/work/docs/*.md)", "WebFetch(https://example.org)", "send(*@example.org)", "todo"]
  - allow: ["shell(*)"]
    does: [read]
    within: workspace
  - allow: ["shell(> build/*)"]
  - allow: ["bash(gh *)"]
    when: "!run.tainted"
  - deny: ["bash(gh repo delete *)"]
`)
	var page strings.Builder
	for _, c := range p.CheckPatterns() {
		fmt.Fprintf(&page, "%s+%d|%s|%s|%s\n", c.Pattern, c.Alike, strings.Join(c.Passes, ", "), strings.Join(c.Stays, ", "), c.Covers)
	}
	want := `Edit(./**)+1|./a.txt, ./b/c.txt|./.env, ./../../x|every path below ./
Read(/work/docs/*.md)+0|/work/docs/a.md, /work/docs/b.md|/work/docs/.env.md, /work/docs/a/b.md|paths in one folder
WebFetch(https://example.org)+0|https://example.org/x, https://example.org/x/y|https://example.org.evil.example/x, http://other.example/x|all pages of example.org
send(*@example.org)+0|x@example.org, y z@example.org|other, other text|calls with this text
todo+0|||every call, whatever its arguments
shell(*)+0|ls src, cat a.txt|curl https://example.com, rm -rf src|every program with operands and listed options, but those that run others; only what does no more than read and stays within the workspace
shell(> build/*)+0|> build/x|> /etc/hosts, > other.txt|writing files like build/x
bash(gh *)+0|gh status, gh issue list|gh alias x, gh --admin x|all of gh but what runs, writes or sends something else; only what fulfils !run.tainted; also gh release delete, gh repo delete
`
	if page.String() != want {
		t.Errorf("%s\nwant\n%s", page.String(), want)
	}
}
