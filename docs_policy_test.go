//go:build check

package heldcall_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/approvals/policy/cases"
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/internal/textview"
)

// fieldsOf are the judged fields of the tools in the policies that the documentation
// shows, where these name none.
var fieldsOf = map[string]string{"bash": "command", "read_file": "path", "web_fetch": "url"}

// decoys are arguments beside the judged one that agents' tools take for a path, a
// command or a folder.
var decoys = []string{"file_path", "absolute_path", "target_file", "filePath", "cmd", "script", "command", "path", "workdir", "cwd", "env", "anything"}

// TestPoliciesInTheDocumentationMindDecoys is finding 7: what an example allows with
// an argument is not allowed with another one beside it that nothing is known of, and
// what it denies is not allowed in such a one.
func TestPoliciesInTheDocumentationMindDecoys(t *testing.T) {
	allowed, denied := 0, 0
	for _, page := range pages(t) {
		for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(read(t, page), -1) {
			if !strings.Contains(block[1], "rules:") {
				continue
			}
			rules, err := policy.Parse(page, []byte(block[1]))
			if err != nil {
				t.Fatal(err)
			}
			for _, call := range examples(block[1], "allow") {
				allowed++
				if v := rules.Judge(call.with("", "")); v.Action != policy.Allow {
					t.Errorf("%s: %+v is not allowed: %s", page, call, v.Reason)
				}
				for _, name := range decoys {
					for _, value := range []string{"/opt/decoy", "../decoy --run"} {
						if v := rules.Judge(call.with(name, value)); name != call.field && v.Action == policy.Allow {
							t.Errorf("%s: %s with %s: %s is allowed by %s", page, call.tool, name, value, v.Rule)
						}
					}
				}
			}
			for _, call := range examples(block[1], "deny") {
				for _, name := range decoys {
					denied++
					if v := rules.Judge(example{call.tool, call.field, "harmless"}.with(name, call.value)); v.Action == policy.Allow {
						t.Errorf("%s: %s with %s: %s is allowed by %s", page, call.tool, name, call.value, v.Rule)
					}
				}
			}
		}
	}
	if allowed < 6 || denied < 20 {
		t.Errorf("%d calls that examples allow and %d that they deny were judged", allowed, denied)
	}
}

// example is a call that a pattern of an example is about.
type example struct{ tool, field, value string }

// with is the call with one more argument.
func (e example) with(name, value string) policy.Call {
	args := map[string]string{e.field: e.value}
	if name != "" && name != e.field {
		args[name] = value
	}
	text, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return policy.Call{Tool: e.tool, Arguments: string(text)}
}

// examples are calls that the patterns with an argument in the lists of a policy are
// about, of tools whose field is known.
func examples(source, list string) []example {
	var found []example
	for _, line := range regexp.MustCompile(list+`: \[(.*)\]`).FindAllStringSubmatch(source, -1) {
		for _, pattern := range regexp.MustCompile(`"(\w+)\(([^"]*)\)"`).FindAllStringSubmatch(line[1], -1) {
			if field := fieldsOf[pattern[1]]; field != "" {
				value := strings.NewReplacer(":*", "", "**", "x", "*", "x").Replace(pattern[2])
				found = append(found, example{pattern[1], field, value})
			}
		}
	}
	return found
}

// The recipes in docs/write-a-policy.md give the verdicts that the page names.
func TestRecipes(t *testing.T) {
	const page = "docs/write-a-policy.md"
	recipes := regexp.MustCompile("```yaml\n([^`]*)```\n+```yml\n([^`]*)```").FindAllStringSubmatch(read(t, page), -1)
	if len(recipes) < 10 {
		t.Errorf("%s has %d recipes with cases, not 10", page, len(recipes))
	}
	for _, recipe := range recipes {
		dir := t.TempDir()
		for name, content := range map[string]string{"policy.yaml": recipe[1], "cases.yaml": "policy: policy.yaml\n" + recipe[2]} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		rules, err := policy.Parse("policy.yaml", []byte(recipe[1]))
		if err != nil {
			t.Fatal(err)
		}
		cases, err := cases.Load(filepath.Join(dir, "cases.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range cases.Cases {
			if problem := one.Check(rules); problem != "" {
				t.Errorf("%s: %s\n%s", page, problem, recipe[1])
			}
		}
	}
}

// TestFilesThatRunLaterInTheDocumentation: the table of docs/patterns.md has each class in its words, with files that
// belong to it.
func TestFilesThatRunLaterInTheDocumentation(t *testing.T) {
	page := read(t, "docs/patterns.md")
	for _, class := range call.RunLater() {
		_, row, ok := strings.Cut(page, "| `path(@"+class.Name+")` | "+class.Is+" | ")
		if !ok {
			t.Errorf("docs/patterns.md has no row for path(@%s), %s", class.Name, class.Is)
			continue
		}
		row, _, _ = strings.Cut(row, "\n")
		for _, file := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row, -1) {
			if of := call.ClassOfLater(match.LocationOf(file[1])); of != class {
				t.Errorf("docs/patterns.md: %s is not of the class %s", file[1], class.Name)
			}
		}
	}
}

// TestKeysOfPoliciesAreDocumented: docs/policy.md has a section for each key of a policy and each setting of a rule, a
// row or a text for each key below the others, and the reader of policies names the keys.
func TestKeysOfPoliciesAreDocumented(t *testing.T) {
	page := read(t, "docs/policy.md")
	section := func(level, key string) string {
		for _, heading := range regexp.MustCompile("(?m)^"+level+" (`.*)$").FindAllStringSubmatchIndex(page, -1) {
			if !strings.Contains(page[heading[2]:heading[3]], "`"+key+"`") {
				continue
			}
			text := page[heading[1]:]
			if end := regexp.MustCompile("(?m)^#{2," + strconv.Itoa(len(level)) + "} ").FindStringIndex(text); end != nil {
				text = text[:end[0]]
			}
			return text
		}
		t.Errorf("docs/policy.md has no section %s `%s`", level, key)
		return ""
	}
	for _, key := range policyKeys(t, "unknown: 1") {
		section("##", key)
	}
	for _, key := range policyKeys(t, "rules: [{deny: [a], unknown: 1}]") {
		section("###", key)
	}
	for _, below := range []struct{ level, key, policy string }{
		{"##", "tools", "tools: {a: {unknown: 1}}"},
		{"##", "results", "results: [{deny: [a], unknown: 1}]"},
		{"##", "questions", "questions: {unknown: 1}"},
		{"###", "limit", "rules: [{allow: [a], limit: {unknown: 1}}]"},
	} {
		text := section(below.level, below.key)
		for _, key := range policyKeys(t, below.policy) {
			if !strings.Contains(text, "`"+key+"`") && !strings.Contains(text, "`"+key+":") {
				t.Errorf("the section %s of docs/policy.md does not have %s", below.key, key)
			}
		}
	}
}

// policyKeys are the keys at the place of an unknown one, as the error about it has them.
func policyKeys(t *testing.T, source string) []string {
	t.Helper()
	_, err := policy.Parse("policy.yaml", []byte(source))
	if err == nil {
		t.Fatalf("%s: no error", source)
	}
	_, keys, found := strings.Cut(err.Error(), "the keys here are ")
	if !found {
		t.Fatalf("%s: %v", source, err)
	}
	return strings.Split(keys, ", ")
}

// TestChecksInTheDocumentation: what pages show as the output of policy check is that for the policy before it, and the
// pattern that they name as nearest is.
func TestChecksInTheDocumentation(t *testing.T) {
	for _, shown := range []struct{ page, from, file, command string }{
		{"docs/write-a-policy.md", "## See what a pattern covers", "policy.yaml", "npm run build"},
		{"docs/tutorial.md", "## 4. Decide by a policy", "../policy.yaml", "rm -r out drafts"},
	} {
		page := read(t, shown.page)
		section := page[strings.Index(page, shown.from):]
		source := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindStringSubmatch(section)[1]
		table := regexp.MustCompile("(?s)```text\n(ALLOW PATTERN.*?)```").FindStringSubmatch(section)[1]
		rules, err := policy.Parse("policy.yaml", []byte(source))
		if err != nil {
			t.Fatal(err)
		}
		var output strings.Builder
		if err := textview.Patterns(&output, rules.CheckPatterns()); err != nil {
			t.Fatal(err)
		}
		output.WriteString(shown.file + ": ok\n")
		if diff := cmp.Diff(output.String(), table); diff != "" {
			t.Errorf("%s: the output of policy check: %s", shown.page, diff)
		}
		nearest := rules.Explain(example{"bash", "command", shown.command}.with("", "")).Nearest
		if !strings.Contains(section, "Nearest   "+nearest+"\n") {
			t.Errorf("%s does not show that %s", shown.page, nearest)
		}
	}
}

// The cases in docs/tutorial.md have the verdicts that the policy before them gives.
func TestCasesInTheTutorial(t *testing.T) {
	const page = "docs/tutorial.md"
	_, section, _ := strings.Cut(read(t, page), "## 4. Decide by a policy")
	rules, err := policy.Parse("policy.yaml", []byte(regexp.MustCompile("(?s)```yaml\n(.*?)```").FindStringSubmatch(section)[1]))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "cases.yaml")
	if err := os.WriteFile(file, []byte(regexp.MustCompile("(?s)```yml\n(.*?)```").FindStringSubmatch(section)[1]), 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, err := cases.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range loaded.Cases {
		if problem := one.Check(rules); problem != "" {
			t.Errorf("%s: %s", page, problem)
		}
	}
	if len(loaded.Cases) < 4 {
		t.Errorf("%s has %d cases", page, len(loaded.Cases))
	}
}
