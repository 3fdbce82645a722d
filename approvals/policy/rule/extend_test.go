package rule

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals/policy/starter"
)

// places returns where a pattern of a list is from, in the order of the places.
func places(index *Index, text string) (found []string) {
	for _, p := range index.All {
		if p.Text == text {
			found = append(found, p.Where)
		}
	}
	slices.Sort(found)
	return found
}

// lineOf returns the line of the first version of the starter that has a text.
func lineOf(t *testing.T, text string) string {
	t.Helper()
	whole := string(starter.Versions()[0].Text)
	before, _, found := strings.Cut(whole, text)
	if !found {
		t.Fatalf("starter/1 has no %s", text)
	}
	return "starter/1:" + strconv.Itoa(strings.Count(before, "\n")+1)
}

// TestExtends: a policy has its own rules and those of the starter, each with the place where people find it.
func TestExtends(t *testing.T) {
	own := "extends: starter/1\nworkspace: [.]\ntaint: [mail]\ntools:\n  shell: {risk: low}\n  deploy: {risk: critical}\nrules:\n  - allow: [\"shell(git push:*)\", extra]\n"
	set := mustParse(t, own)
	for _, want := range []struct {
		index *Index
		text  string
		place []string
	}{
		{set.Allow, "shell(git push:*)", []string{"policy.yaml:8"}},
		{set.Allow, "extra", []string{"policy.yaml:8"}},
		{set.Ask, "shell(git push:*)", []string{lineOf(t, `"shell(git push:*)"`)}},
		{set.Allow, "shell(git fetch)", []string{lineOf(t, `"shell(git fetch)"`)}},
		{set.Allow, "shell(rm -rf *)", []string{lineOf(t, `"shell(rm -rf *)"`)}},
		{set.Allow, "shell(git status:*)", nil}, // of policies without a workspace
	} {
		if got := places(want.index, want.text); !slices.Equal(got, want.place) {
			t.Errorf("%s is from %q, want %q", want.text, got, want.place)
		}
	}
	var taints []string
	for _, p := range set.Results.Taint {
		taints = append(taints, p.Text)
	}
	if !slices.Contains(taints, "mail") || !slices.Contains(taints, "WebFetch") {
		t.Errorf("results that taint: %q", taints)
	}
	if shell := set.Known.Tool("shell"); shell.Risk != "low" || !slices.Contains(shell.Args, "with_escalated_permissions") || !strings.HasSuffix(shell.Where, "(policy.yaml:5)") {
		t.Errorf("the policy's own entry for a tool of the starter: %+v", shell)
	}
	if exec := set.Known.Tool("exec_command"); !exec.Listed || !strings.Contains(exec.Where, "starter/1:") {
		t.Errorf("the starter's entry for a tool: %+v", exec)
	}
	if got := set.Widened(); got != nil {
		t.Errorf("reported as wider than in language 1: %q", got)
	}
	if got := set.Extends; got.Version.Name != "starter/1" || got.Parts != (starter.Parts{Workspace: true, Checks: true}) {
		t.Errorf("extends %s with %+v", got.Version.Name, got.Parts)
	}
}

// TestExtendsWithout: a policy leaves out parts and patterns, and rules that then have no pattern.
func TestExtendsWithout(t *testing.T) {
	plain := mustParse(t, "extends: starter/1\n")
	if got := places(plain.Allow, "shell(git status:*)"); len(got) != 1 || len(plain.Results.Taint) > 0 || len(places(plain.Allow, "shell(*)")) > 0 {
		t.Errorf("without a workspace: %q, %d patterns taint", got, len(plain.Results.Taint))
	}
	less := mustParse(t, "extends: starter/1\nworkspace: [.]\nwithout: [checks, 'shell(git push:*)', mcp__*, 'shell(docker inspect:*)', 'shell(lsof:*)']\n")
	whole := mustParse(t, "extends: starter/1\nworkspace: [.]\n")
	if got, before := len(places(less.Allow, "shell(*)")), len(places(whole.Allow, "shell(*)")); got != 1 || before != 3 {
		t.Errorf("%d patterns for all commands, %d with checks", got, before)
	}
	for _, text := range []string{"shell(git push:*)", "shell(docker inspect:*)", "shell(lsof:*)"} {
		if got := places(less.Ask, text); got != nil || places(whole.Ask, text) == nil {
			t.Errorf("%s is asked about by %q", text, got)
		}
	}
	if got := places(less.Ask, "shell(sudo *)"); len(got) != 1 {
		t.Errorf("another pattern of the rule: %q", got)
	}
	if got, before := len(less.Results.Taint), len(whole.Results.Taint); got != before-1 {
		t.Errorf("%d patterns taint, %d before", got, before)
	}
}

// TestExtendsErrors: mistakes are reported at the lines of the file, and those about the starter at its lines.
func TestExtendsErrors(t *testing.T) {
	for _, tt := range []struct{ src, want string }{
		{"extends: starter/9\n", `policy.yaml:1: extends: is "starter/9", which this heldcall does not have: write starter/1`},
		{"extends: [starter/1]\n", "policy.yaml:1: extends: must be a text"},
		{"rules: []\nwithout: [checks]\n", "policy.yaml:2: without: has no effect: the policy has no extends"},
		{"extends: starter/1\nwithout: ['shell(nothing)']\n", "policy.yaml:2: without: \"shell(nothing)\" is neither checks nor a pattern of starter/1, which `heldcall policy show starter/1` prints"},
		{"extends: starter/1\nwithout: checks\n", "policy.yaml:2: without: must be a list"},
		{"language: 1\nextends: starter/1\n", "policy.yaml:1: language: is 1, and starter/1 is written in language 2: write 2"},
		{"extends: starter/1\nrules:\n  - alow: [x]\n", "policy.yaml:3: rules[0].alow: unknown key"},
		{"extends: starter/1\nextends: starter/1\n", "policy.yaml:2: extends: is given twice"},
		{"extends: starter/1\nrules: yes\n", "policy.yaml:2: rules: must be a list"},
		{"extends: starter/1\nworkspace: [.]\ntools: {Edit: {resource: file_path, as: url}}\n", lineOf(t, `"Edit(./**)"`) + ": rules["},
	} {
		_, err := Parse("dir/policy.yaml", []byte(tt.src))
		if err == nil || !strings.Contains(err.Error(), strings.Replace(tt.want, "policy.yaml:", "dir/policy.yaml:", 1)) {
			t.Errorf("%q: %v, want %s", tt.src, err, tt.want)
		}
	}
}

// TestShow: the whole policy is a policy by itself with the same patterns and tools, and has their places.
func TestShow(t *testing.T) {
	for _, src := range []string{
		"extends: starter/1\n",
		"extends: starter/1\nworkspace: [/work/app]\n",
		"# mine\nlanguage: 2\nextends: starter/1\nwithout: [checks, 'shell(ssh *)']\nworkspace: [/work/app]\nprofiles: [codex]\ntaint: [mail]\ntools: {shell: {risk: low}}\nrules:\n  # of my own\n  - allow: ['shell(make staging)']\n",
	} {
		text, err := Show("policy.yaml", []byte(src))
		if err != nil {
			t.Fatal(err)
		}
		set, whole := mustParse(t, src), mustParse(t, string(text))
		if whole.Extends.Version.Name != "" || strings.Contains(string(text), "without:") {
			t.Errorf("the whole policy extends another:\n%s", text)
		}
		for name, lists := range map[string][2]*Index{"deny": {set.Deny, whole.Deny}, "ask": {set.Ask, whole.Ask}, "allow": {set.Allow, whole.Allow}} {
			if got, want := described(lists[1].All), described(lists[0].All); !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		if got, want := described(whole.Results.Taint), described(set.Results.Taint); !slices.Equal(got, want) {
			t.Errorf("taint: %q, want %q", got, want)
		}
		for _, tool := range set.Known.Tools {
			got, want := whole.Known.Tool(tool.Name), set.Known.Tool(tool.Name)
			if got.Risk != want.Risk || !slices.Equal(got.Args, want.Args) {
				t.Errorf("tool %s: %+v, want %+v", tool.Name, got, want)
			}
		}
		if !strings.Contains(string(text), "# "+lineOf(t, `- deny: ["shell(rm -rf /)"`)+"\n") {
			t.Errorf("no place of the starter's first rule:\n%s", text)
		}
	}
	same := "rules:\n    - allow: [a]\n"
	if text, err := Show("policy.yaml", []byte(same)); err != nil || string(text) != same {
		t.Errorf("a policy that extends nothing: %q, %v", text, err)
	}
}

// described returns the patterns with what decides about their rules.
func described(patterns []*Pattern) (texts []string) {
	for _, p := range patterns {
		texts = append(texts, strings.Join([]string{p.Text, string(p.Rule.Risk), p.Rule.Reason, p.Rule.When.text()}, "|"))
	}
	slices.Sort(texts)
	return texts
}
