package call

import (
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/shell"
)

// noRules are the rules of a policy that compares every call.
type noRules struct{}

func (noRules) Compares(string, Kind) bool { return true }
func (noRules) AllowsAny(*Call) bool       { return false }
func (noRules) Patterns() int              { return 1 }

func known() *Known {
	text := func(name string, k Kind) *Tool {
		return &Tool{Name: name, Names: match.NewGlob(name), Typed: true, Fields: [][]string{{"x"}}, Kind: k, Workdir: [][]string{{"dir"}}}
	}
	return &Known{
		Tools:    []*Tool{text("path", Path), text("shell", Shell), text("url", URL), text("plain", Plain)},
		Profiles: KnownProfiles().Of(nil), Programs: shell.KnownPrograms(),
	}
}

func TestParseFindsTheResource(t *testing.T) {
	f := func(tool, arguments, text string, resources int, unclear, beyond string) {
		t.Helper()
		c := Read(Call{Tool: tool, Arguments: arguments}, known(), noRules{})
		if c.Text != text || len(c.Resources()) != resources || !strings.Contains(c.Ambiguity, unclear) || (unclear == "") != (c.Ambiguity == "") || !strings.Contains(c.Partial, beyond) || (beyond == "") != (c.Partial == "") {
			t.Errorf("%s %s: %q, %d resources, unclear %q, beyond %q", tool, arguments, c.Text, len(c.Resources()), c.Ambiguity, c.Partial)
		}
	}
	f("path", `{"x":"a/b"}`, "a/b", 1, "", "")
	f("path", `{"x":"b","dir":"/a"}`, "/a/b", 1, "", "")
	f("path", `{"x":["a","b"]}`, "a, b", 2, "", "")
	f("path", `{"X":"a"}`, `{"X":"a"}`, 0, "another letter case", "")
	f("path", `{"x":5}`, `{"x":5}`, 0, "not a string", "")
	f("path", `{}`, `{}`, 0, "not have the field x", "")
	f("path", `{"x":"a","other":"b"}`, "a", 1, "", "argument other")
	f("path", `{"x":"a","n":1}`, "a", 1, "", "")
	f("shell", `{"x":"ls"}`, "ls", 1, "", "")
	f("shell", `{"x":["ls","a b"]}`, "ls 'a b'", 1, "", "")
	f("shell", `{"x":"ls","dir":"/tmp"}`, "ls", 1, "", "another folder")
	f("shell", `{"x":"("}`, "(", 1, "cannot be parsed", "")
	f("url", `{"x":"https://a.example"}`, "https://a.example", 1, "", "")
	f("url", `{"x":"a.example"}`, "a.example", 1, "scheme", "")
	f("plain", `{"x":{"b":1,"a":2}}`, `{"a":2,"b":1}`, 1, "", "")
	f("none", `{"b":1,"a":2}`, `{"a":2,"b":1}`, 1, "", "")
}

func TestDoubtfulCallsHaveEveryCandidate(t *testing.T) {
	c := Read(Call{Tool: "path", Arguments: `{"x":"a","x":"b"}`, Ambiguous: []string{"Cut off."}}, known(), noRules{})
	var texts []string
	for _, one := range c.Candidates {
		texts = append(texts, one.Text)
	}
	if len(c.Doubts) != 2 || c.Doubts[0] != "Cut off." || len(c.Resources()) != 0 || !slices.Contains(texts, "a") || !slices.Contains(texts, "b") {
		t.Errorf("%q: %q", c.Doubts, texts)
	}
	if !c.Keys.Any {
		t.Error("only some patterns are compared with a call in doubt")
	}
}

func TestKeysOfPaths(t *testing.T) {
	c := Read(Call{Tool: "path", Arguments: `{"x":"/A/b"}`}, known(), noRules{})
	for _, key := range []string{"b", match.SegmentKey("a"), RootKey(&c.Candidates[0].Path, "a")} {
		if !slices.Contains(c.Keys.Texts, key) {
			t.Errorf("%q has no %q", c.Keys.Texts, key)
		}
	}
	if c.Keys.Any {
		t.Error("every pattern is compared with the path")
	}
}

func TestEntriesExtendProfiles(t *testing.T) {
	profile := &Tool{Name: "read", Fields: [][]string{{"path"}}, Typed: true, Kind: Path, Args: []string{"limit"}, Listed: true, Builtin: true, Risk: "low"}
	entry := &Tool{Name: "re*", Fields: [][]string{{"file"}}, Typed: true, Risk: "high"}
	both := entry.over(profile)
	if len(both.Fields) != 2 || both.Kind != Path || both.Listed || !both.Own || both.Builtin || both.Risk != "high" || both.Name != "re*" {
		t.Errorf("%+v", both)
	}
	entry.Replace = true
	if both := entry.over(profile); len(both.Fields) != 1 || both.Kind != Plain {
		t.Errorf("replaced: %+v", both)
	}
}

func TestNameDoubt(t *testing.T) {
	for name, want := range map[string]bool{"bash": false, "mcp__a-b.c": false, "": true, "a b": true, "bäsh": true, "a(": true, "a\n": true} {
		if got := NameDoubt(name) != ""; got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

func TestSecretPaths(t *testing.T) {
	p := KnownProfiles()
	f := func(text string, tree, want bool) {
		t.Helper()
		if got := p.secretPath(text, match.LocationOf(text), tree) != ""; got != want {
			t.Errorf("%q, of a tree %v: %v", text, tree, got)
		}
	}
	f(".env", false, true)
	f("a/.env.example", false, false)
	f("~/.ssh/id_rsa", false, true)
	f("src", true, false)
	f("/", true, true)
	f("~", true, true)
	f("..", true, true)
	f("~", false, false)
	f("*.pem", false, true)
	f("*.go", false, false)
	f(strings.Repeat("a", maxPath+1), false, true)
	for word, want := range map[string]bool{"--file=.env": true, "HEAD:.env": true, "@.env": true, "README.md": false, "-f.env": true} {
		if got := p.isSecretWord(word, false); got != want {
			t.Errorf("%q: %v", word, got)
		}
	}
}

// The doubt of the answer's reader and that of policy about the same JSON are one sentence,
// with the cause.
func TestInvalidJSONIsOneDoubt(t *testing.T) {
	c := Read(Call{Tool: "path", Arguments: `{"x":"a","x":"b"}`, Ambiguous: []string{"Cut off.", match.InvalidJSON + "."}}, known(), noRules{})
	if want := []string{"Cut off.", match.InvalidJSON + `: duplicate key "x".`}; !slices.Equal(c.Doubts, want) {
		t.Errorf("doubts %q, want %q", c.Doubts, want)
	}
}
