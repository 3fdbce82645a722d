package rule

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/approvals/policy/match"
)

// noCalls are the rules of a policy that allows no call by name.
type noCalls struct{ *Set }

func (noCalls) Patterns() int { return 0 }

func (noCalls) AllowsAny(*call.Call) bool { return false }

func mustParse(t *testing.T, src string) *Set {
	t.Helper()
	set, err := Parse("policy.yaml", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func parseCall(set *Set, tool, arguments string) *call.Reading {
	return call.Read(call.Call{Tool: tool, Arguments: arguments}, &set.Known, noCalls{set})
}

const tools = "tools: {path: {resource: x, as: path}, shell: {resource: x, as: shell}, url: {resource: x, as: url}, plain: {resource: x}}\n"

func TestPatternsAreComparedByKind(t *testing.T) {
	f := func(pattern, tool, x string, want match.Result, covers bool) {
		t.Helper()
		set := mustParse(t, tools+"rules: [{deny: ['"+pattern+"']}]\n")
		p := set.Deny.All[0]
		c := parseCall(set, tool, `{"x":"`+x+`"}`)
		if got := p.Compare(c); got != want {
			t.Errorf("%s matches %s %q: %v, want %v", pattern, tool, x, got, want)
		}
		if tool == "shell" {
			script := c.Candidates[0].Script
			if got := len(script.Commands) == 1 && p.CoversCommand(c, script.Commands[0]); got != covers {
				t.Errorf("%s covers %q: %v, want %v", pattern, x, got, covers)
			}
		} else if got := p.IsFor(tool, c.Kind) && p.Covers(c, &c.Resources()[0]); got != covers {
			t.Errorf("%s covers %s %q: %v, want %v", pattern, tool, x, got, covers)
		}
	}
	f("path(src/**)", "path", "src/a", match.Yes, true)
	f("path(src/**)", "path", "SRC/a", match.Maybe, false)
	f("path(src/**)", "path", "b", match.No, false)
	f("path", "path", "b", match.Yes, true)
	f("*(a)", "plain", "a", match.Yes, true)
	f("*(a)", "plain", "A", match.Maybe, false)
	f("path(a)", "plain", "a", match.No, false)
	f("url(https://a.example)", "url", "https://a.example/x", match.Yes, true)
	f("url(https://a.example)", "url", "http://a.example/x", match.Maybe, false)
	f("shell(rm *)", "shell", "sudo rm x", match.Yes, false)
	f("shell(rm *)", "shell", "rm x", match.Yes, true)
	f("shell(cat *)", "shell", "cat .env", match.Yes, false) // names no secret
	f("path(**)", "path", ".env", match.Yes, false)
}

func TestPatternMistakes(t *testing.T) {
	for text, want := range map[string]string{"": "names no tool", "a b": "no tool name", "a(b": "does not end", "a()": "empty argument"} {
		if _, err := NewPattern(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	p, err := NewPattern("x(a; b)")
	if err != nil {
		t.Fatal(err)
	}
	if p.Fits([]call.Kind{call.Shell}, true) == nil || p.Fits([]call.Kind{call.Shell}, false) != nil || p.Fits([]call.Kind{call.Shell, call.Plain}, true) != nil {
		t.Error("the pattern does not fit as it should")
	}
}

// TestIndexFindsWhatMatches: the patterns that an index finds are all those that match a
// call by its resource, or may by an unknown argument.
func TestIndexFindsWhatMatches(t *testing.T) {
	src := tools + "rules:\n"
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		src += "  - deny: ['shell(" + name + " *)', 'path(" + name + "/**)', 'path(**/" + name + ".x)', 'url(https://" + name + ".example/**)', 'plain(" + name + ")']\n"
	}
	set := mustParse(t, src)
	f := func(tool, arguments string) {
		t.Helper()
		c := parseCall(set, tool, arguments)
		found := slices.Collect(set.Deny.Candidates(tool, c.Kind, c.Keys.Texts, c.Keys.Any))
		for _, p := range set.Deny.All {
			if p.IsFor(tool, c.Kind) && p.Compare(c) != match.No && !slices.Contains(found, p) {
				t.Errorf("%s %s: %s matches and is not found", tool, arguments, p.Text)
			}
		}
		if len(found) > 16 && !c.Keys.Any { // those for paths are compared with each shell command
			t.Errorf("%s %s: compared with %d patterns", tool, arguments, len(found))
		}
		if c.Keys.Any && !strings.Contains(arguments, "%") {
			t.Errorf("%s %s: compared with all patterns", tool, arguments)
		}
	}
	for _, tt := range []struct{ tool, neutral, x string }{
		{"shell", "ls", "sudo c x"},
		{"shell", "ls", "frob -xc"},
		{"shell", "ls", "C x"},
		{"shell", "ls", "echo c x | d"},
		{"path", "z", "c/y"},
		{"path", "z", "z/c.x"},
		{"path", "z", "../c/y"},
		{"path", "z", "none"},
		{"url", "https://z.example", "https://c.example/y"},
		{"url", "https://z.example", "http://C.example/y"},
		{"url", "https://z.example", "https://c%2eexample"},
		{"plain", "z", "c"},
		{"plain", "z", "C"},
	} {
		f(tt.tool, `{"x":"`+tt.x+`"}`)
		f(tt.tool, `{"x":"`+tt.neutral+`","more":"`+tt.x+`"}`)
	}
	if set.Deny.AnyFor("other", call.Plain) || !set.Compares("path", call.Path) {
		t.Error("patterns are not found by their tools")
	}
}

func TestStrictestSettings(t *testing.T) {
	pattern := func(s Settings) *Pattern { return &Pattern{Rule: &Rule{Settings: s}} }
	session, user := approvals.GrantSession, approvals.GrantUser
	a := pattern(Settings{Risk: approvals.RiskLow, Timeout: time.Hour, Scopes: []approvals.GrantScope{session}})
	b := pattern(Settings{Risk: approvals.RiskHigh, Timeout: time.Minute, Scopes: []approvals.GrantScope{session, user}})
	c := pattern(Settings{Scopes: []approvals.GrantScope{user}, NoRemember: true})
	if all := StrictestSettings([]*Pattern{a, b}, false); all.Risk != approvals.RiskHigh || all.Timeout != time.Minute || !slices.Equal(all.Scopes, []approvals.GrantScope{session}) || all.NoRemember {
		t.Errorf("%+v", all)
	}
	if all := StrictestSettings([]*Pattern{a, b}, true); all.Timeout != time.Hour {
		t.Errorf("where silence approves: %+v", all)
	}
	if all := StrictestSettings([]*Pattern{a, c}, false); !all.NoRemember || all.Timeout != DefaultTimeout {
		t.Errorf("without a common scope: %+v", all)
	}
}

func TestEditsApply(t *testing.T) {
	f := func(arguments, want, problem string, edits ...Edit) {
		t.Helper()
		c := Change{Patterns: []*Pattern{{Where: "policy.yaml:1", Rule: &Rule{Edits: edits}}}}
		c.Apply(arguments)
		if c.Text != want || !strings.Contains(c.Problem, problem) || (problem == "") != (c.Problem == "") {
			t.Errorf("%s: %s, %q; want %s, %q", arguments, c.Text, c.Problem, want, problem)
		}
	}
	set := func(path, value string) Edit { return Edit{path: path, set: []byte(value)} }
	f(`{"a":1}`, `{"a":2}`, "", set("a", "2"))
	f(`{"a":2.0}`, `{"a":2}`, "", set("a", "2"))
	f(`{"a": {"c":1, "b":2}}`, "", "", set("a", `{"b":2,"c":1}`)) // is there already
	f(`{"a":1,"b":{"c":2}}`, `{"a":1,"b":{}}`, "", Edit{path: "b.c"})
	f(`{"a":1}`, "", "", Edit{path: "b"})
	f(`{}`, "", "changed in two ways", set("a", "1"), set("a.b", "2"))
}

func TestGrantsHold(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		g    Granted
		now  time.Time
		want bool
	}{
		{Granted{}, time.Time{}, true},
		{Granted{Expires: now}, now.Add(-time.Second), true},
		{Granted{Expires: now}, now, false},
		{Granted{Expires: now}, time.Time{}, false},
		{Granted{Expires: now, Deny: true}, time.Time{}, true},
	} {
		if got := tt.g.Holds(tt.now); got != tt.want {
			t.Errorf("%+v at %s: %v", tt.g, tt.now, got)
		}
	}
	asks := []*Pattern{{Rule: &Rule{Settings: Settings{Reviewers: []string{"finance"}}}}}
	for _, tt := range []struct {
		g    Granted
		want bool
	}{{Granted{}, false}, {Granted{Groups: []string{"finance"}}, true}, {Granted{ByHand: true}, true}} {
		if got := tt.g.OverridesAll(asks); got != tt.want {
			t.Errorf("%+v: %v", tt.g, got)
		}
	}
}
