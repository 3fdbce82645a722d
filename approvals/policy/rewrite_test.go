package policy

import (
	"slices"
	"strings"
	"testing"
)

func TestRewrite(t *testing.T) {
	p := mustParse(t, `
default: ask
tools: {bash: {resource: command, as: shell}, fixed: {default: allow}, "*": {risk: low}}
rules:
  - rewrite: ["query"]
    set: {limit: 100, options.dry_run: true, tags: [a, b]}
    delete: [secret, options.force]
  - rewrite: ["query", "fixed", "text"]
    when: has(args.n) && args.n > 5
    set: {n: 5}
  - rewrite: ["bash(rm *)"]
    set: {command: "rm -rf /"}
  - rewrite: ["clash"]
    set: {a: 1}
  - rewrite: ["clash"]
    set: {a.b: 1}
  - rewrite: ["leaf(*)"]
    set: {a.b: 1}
  - allow: ["bash(rm *)", "bash(ls *)"]
  - ask: ["query(*force*)"]
  - deny: ["bash(rm -rf /)"]
`)
	f := func(tool, args string, want Action, arguments string, says ...string) {
		t.Helper()
		v := p.Judge(Call{Tool: tool, Arguments: args})
		if v.Action != want || v.Arguments != arguments || (v.RewrittenBy == "") != (arguments == "") {
			t.Errorf("%s %s: %s %s by %q, %s by %s", tool, args, v.Action, v.Arguments, v.RewrittenBy, v.Reason, v.Rule)
		}
		for _, text := range says {
			if !strings.Contains(v.Reason+strings.Join(v.Flags, " "), text) {
				t.Errorf("%s %s: %q %q, want %q", tool, args, v.Reason, v.Flags, text)
			}
		}
		if _, ok := p.allowsAny(&Call{Tool: tool}); ok && tool != "other" {
			t.Errorf("%s is allowed by name", tool)
		}
	}
	f("query", `{"limit": 5, "secret":"x", "z":1}`, Allow, `{"limit": 100, "z":1,"options":{"dry_run":true},"tags":["a","b"]}`)
	f("query", `{"limit":100,"options":{"dry_run":true},"tags":["a", "b"]}`, Allow, "") // it is so already
	f("query", `{"limit":100,"options":{"dry_run":true,"force":1},"tags":["a","b"]}`, Ask, `{"limit":100,"options":{"dry_run":true},"tags":["a","b"]}`, "has changed the arguments")
	f("query", `{"limit":1,"limit":2}`, Ask, "")
	f("fixed", `{"n":7}`, Allow, `{"n":5}`)
	f("fixed", `{"n":4}`, Allow, "")
	f("bash", argument("command", "rm x"), Deny, "")
	f("bash", argument("command", "ls x"), Allow, "")
	f("clash", `{}`, Ask, "", "changed in two ways")
	f("leaf", `{"a":"text"}`, Allow, `{"a":{"b":1}}`)
	f("other", `{}`, Allow, "")
	for _, c := range []Call{{Tool: "fixed", Arguments: `{"n":7}`, Fixed: true}, {Tool: "query", Arguments: "x", FreeText: true}} {
		if v := p.Judge(c); v.Action != Ask || v.Arguments != "" || !strings.Contains(v.Reason, "covers this call") {
			t.Errorf("%+v: %+v", c, v)
		}
	}
	if v := p.Judge(Call{Tool: "query", Arguments: `{"options":{"force":1}}`}); !strings.Contains(v.Resource, `"limit":100`) || strings.Contains(v.Preview, "force") {
		t.Errorf("people are shown the call before its change: %+v", v)
	}
	if e := p.Explain(Call{Tool: "query", Arguments: `{"n":7}`}); !slices.ContainsFunc(e.Rules, func(r RuleExplanation) bool { return r.List == "rewrite" && r.Applies }) {
		t.Errorf("%+v", e.Rules)
	}
}

func TestRewriteMistakes(t *testing.T) {
	f := func(rule, want string) {
		t.Helper()
		_, err := Parse("p", []byte("rules:\n  - "+rule+"\n"))
		if err == nil || !strings.HasPrefix(err.Error(), "p:2: "+want) {
			t.Errorf("%s: %v, want %s", rule, err, want)
		}
	}
	f("{rewrite: [x]}", "rules[0]: has a rewrite list and no change")
	f("{allow: [x], set: {a: 1}}", "rules[0].set: has no effect: the rule has no rewrite list")
	f("{rewrite: [x], set: {a: 1}, delete: [a]}", "rules[0].delete[0]: contradicts the change of a")
	f("{rewrite: [x], set: {a: {b: 1}, a.b: 2}}", "rules[0].set.a.b: contradicts the change of a")
	for _, path := range []string{"a*", "a|b", "a.#", "@this", "a..b", "-1", "a.-1", "a b", "a:b", `a\\.b`, ""} {
		f(`{rewrite: [x], set: {"`+path+`": 1}}`, "rules[0].set."+strings.ReplaceAll(path, `\\`, `\`))
	}
	f("{rewrite: ['Bash(a && b)'], set: {a: 1}}", "rules[0].rewrite[0]: Bash(a && b) is not one command")
}
