package policy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

var monday = time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)

func conditional() Call {
	return Call{
		Tool: "bash", Arguments: `{"command":"ls x; sudo git log","n":5,"f":2.5,"deep":{"list":["a","b"]},"big":9007199254740992}`,
		Principal: approvals.Principal{Tenant: "acme", User: "ann", Agent: "codex"},
		Session:   "s1", Run: "r1", Model: "gpt", Dialect: "chat", Subagent: "/root/look", Now: monday,
	}
}

func TestConditions(t *testing.T) {
	f := func(when string, want bool) {
		t.Helper()
		p := mustParse(t, fmt.Sprintf("default: ask\ntools: {bash: {resource: command, as: shell, args: [n, f, deep, big], risk: high}}\nrules:\n  - deny: [bash]\n    when: %q\n", when))
		v := p.Judge(conditional())
		if (v.Action == Deny) != want || len(v.Flags) > 0 {
			t.Errorf("%s: %+v", when, v)
		}
		p = mustParse(t, fmt.Sprintf("default: ask\ntools: {bash: {resource: command, as: shell, args: [n, f, deep, big], risk: high}}\nrules:\n  - allow: [bash]\n    when: %q\n", when))
		if v := p.Judge(conditional()); (v.Action == Allow) != want {
			t.Errorf("allow when %s: %+v", when, v)
		}
		if _, ok := p.allowsAny(&Call{Tool: "bash"}); ok {
			t.Errorf("allowed by name when %s", when)
		}
	}
	for _, when := range []string{
		"true", `tool == "bash"`, "args.n == 5", "args.n > 4.5", "args.f < 3", `args.deep.list[1] == "b"`, "has(args.deep)", "args.big == 9007199254740992",
		`resource.startsWith("ls")`, `commands.exists(c, c == "git log")`, "size(commands) == 3", `principal.user == "ann" && principal.tenant == "acme" && principal.agent == "codex"`,
		`session == "s1" && run == "r1" && model == "gpt" && dialect == "chat"`, `subagent == "/root/look"`, `subagent.startsWith("/root/")`, `risk == "high"`, "now.getDayOfWeek() == 1", `now > timestamp("2026-01-01T00:00:00Z")`,
		`args.command.matches("^ls")`, `"n" in args`, `args.command.lowerAscii().contains("sudo")`,
	} {
		f(when, true)
	}
	for _, when := range []string{"false", "args.n > 5", `principal.user == "bob"`, `subagent == ""`, "has(args.missing)", "now.getHours() < 9"} {
		f(when, false)
	}
}

// TestFailingConditions: what cannot be evaluated counts against the call.
func TestFailingConditions(t *testing.T) {
	f := func(list, when string, change func(*Call), want Action, flagged bool) {
		t.Helper()
		p := mustParse(t, fmt.Sprintf("default: ask\ntools: {x: {default: allow}}\nrules:\n  - %s: [x]\n    when: %q\n", list, when))
		c := Call{Tool: "x", Arguments: `{"n":5,"s":"` + strings.Repeat("a", 5000) + `"}`, Now: monday}
		change(&c)
		v := p.Judge(c)
		if v.Action != want || (len(v.Flags) > 0) != flagged {
			t.Errorf("%s %s: %s %q", list, when, v.Action, v.Flags)
		}
	}
	as := func(*Call) {}
	costly := `[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, [1,2,3,4,5,6,7,8,9].all(c, [1,2,3,4,5,6,7,8,9].all(d, args.s.contains("b") == false))))`
	for _, when := range []string{"args.missing > 5", `args.s > 5`, "args.n", costly, "1 / (args.n - 5) == 1"} {
		f("deny", when, as, Deny, true)
		f("ask", when, as, Ask, true)
	}
	f("allow", "args.missing > 5", as, Allow, false) // by the tool's default
	allow := func(when string) Action {
		return mustParse(t, fmt.Sprintf("rules:\n  - allow: [x]\n    when: %q\n", when)).Judge(Call{Tool: "x", Arguments: `{"n":5}`}).Action
	}
	for _, when := range []string{"args.missing > 5", "args.n", "now > now", "1 / 0 == 1"} {
		if got := allow(when); got != Ask {
			t.Errorf("allow when %s: %s", when, got)
		}
	}
	f("deny", "now.getHours() > 0", func(c *Call) { c.Now = time.Time{} }, Deny, true)
	f("deny", "args.n == 6", func(c *Call) { c.Arguments = `{"n":5,"n":6}` }, Ask, true)
	f("deny", "args.n == 6", func(c *Call) { c.FreeText = true }, Deny, true)
	f("deny", "args.n == 6", as, Allow, false)
}

func TestConditionMistakes(t *testing.T) {
	f := func(src, want string) {
		t.Helper()
		_, err := Parse("policy.yaml", []byte(src))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	f("rules:\n  - deny: [x]\n    when: args.a >\n", "policy.yaml:3: rules[0].when: column 9: Syntax error")
	f("rules:\n  - deny: [x]\n    when: tool > 5\n", "policy.yaml:3: rules[0].when: column 6: found no matching overload")
	f("rules:\n  - deny: [x]\n    when: who == 1\n", "policy.yaml:3: rules[0].when: column 1: undeclared reference to 'who'")
	f("rules:\n  - deny: [x]\n    when: principal.name == ''\n", "policy.yaml:3: rules[0].when: column 10: undefined field 'name'")
	f("rules:\n  - deny: [x]\n    when: |\n      tool == 'x' &&\n        tool > 5\n", "policy.yaml:5: rules[0].when: column 8: found no matching overload")
	f("rules:\n  - deny: [x]\n    when: size(tool)\n", "policy.yaml:3: rules[0].when: column 1: is int and must be true or false")
	f("rules:\n  - deny: [x]\n    when: true\n", `policy.yaml:3: rules[0].when: must be a text`)
}
