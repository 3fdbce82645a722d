package policy

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/internal/strictyaml"
)

func TestParseErrors(t *testing.T) {
	f := func(src string, want ...string) {
		t.Helper()
		_, err := Parse("policy.yaml", []byte(src))
		if err == nil {
			t.Errorf("no error\n%s", src)
			return
		}
		got := strings.Split(err.Error(), "\n")
		for i := range max(len(got), len(want)) {
			if i >= len(got) || i >= len(want) || !strings.HasPrefix(got[i], want[i]) {
				t.Errorf("got\n%s\nwant\n%s", err, strings.Join(want, "\n"))
				return
			}
		}
		var one *strictyaml.Error
		if !errors.As(err, &one) || one.File != "policy.yaml" || one.Problem == "" {
			t.Errorf("not an *Error: %#v", err)
		}
	}
	f("defalt: ask\n", "policy.yaml:1: defalt: unknown key; the keys here are language, extends, without, default, ambiguous, profiles, programs, tools, rules")
	f("default: maybe\n", `policy.yaml:1: default: is "maybe": write ask, allow, deny`)
	f("default: true\n", `policy.yaml:1: default: must be a text, and is "true" (bool)`)
	f("default:\n", "policy.yaml:1: default: must be a text, and is empty")
	f("default: ask\ndefault: allow\n", "policy.yaml:2: default: is given twice, first in line 1")
	f("- a\n", "policy.yaml:1: must be a mapping")
	f("a: [b\n", "policy.yaml:2: not valid YAML: did not find")
	f("default: ask\n---\ndefault: ask\n", "policy.yaml:2: a second YAML document starts here")
	f("rules:\n  - deny: [bash, *x]\n", "policy.yaml: not valid YAML: unknown anchor 'x' referenced")
	f("default: &a ask\nrules:\n  - deny: [*a]\n", "policy.yaml:3: rules[0].deny[0]: must be a text, and is an alias (*a)")
	f("tools:\n  <<: {a: 1}\n", "policy.yaml:2: tools: has")
	f("limits: {}\nrules:\n  - allow: [x]\n    scope: user\n  - ask: [x]\n    limit: {}\n",
		"policy.yaml:1: limits: is not supported yet by this version",
		"policy.yaml:4: rules[0].scope: is not supported yet by this version",
		"policy.yaml:6: rules[1].limit: limits nothing: write per_turn, per_run or per_minute")
	f("rules:\n  - deny: [x]\n    limit: {per_run: 1}\n  - ask: [x]\n    limit: {per_run: 1, then: ask}\n  - allow: [x]\n    timeout: 5m\n    limit: {per_run: 0, per_minute: 100000, then: allow, per_hour: 1}\n"+
		"  - allow: [x]\n    timeout: 5m\n    limit: {per_run: 1, then: deny}\n",
		"policy.yaml:3: rules[0].limit: has no effect: the rule has neither an allow list nor an ask list",
		"policy.yaml:5: rules[1].limit: then: ask has no effect in a rule with an ask list: write then: deny",
		`policy.yaml:8: rules[2].limit.per_run: must be a whole number from 1 up, and is "0" (int)`,
		"policy.yaml:8: rules[2].limit.per_minute: must be at most 10000",
		`policy.yaml:8: rules[2].limit.then: is "allow": write ask, deny`,
		"policy.yaml:8: rules[2].limit.per_hour: unknown key; the keys here are per_turn, per_run, per_minute, then",
		"policy.yaml:10: rules[3].timeout: has no effect: the rule has no ask list")
	f("tools:\n  a: {as: uri}\n  b: {resource: [x, 1]}\n  c: {resource: a..b, risk: big, default: deny, why: x}\n  d:\n  e(x): {}\n  f g: {}\n",
		`policy.yaml:2: tools.a.as: is "uri": write plain, path, shell, url, patch`,
		`policy.yaml:3: tools.b.resource[1]: must be a text, and is "1" (int)`,
		`policy.yaml:4: tools.c.resource: "a..b" is not a field`,
		`policy.yaml:4: tools.c.risk: is "big": write low, medium, high, critical`,
		"policy.yaml:4: tools.c.why: unknown key",
		"policy.yaml:5: tools.d: must be a mapping of keys to values, and is empty",
		"policy.yaml:6: tools.e(x): must be a tool's name",
		`policy.yaml:7: tools.f g: "f g" is no tool name`)
	f("rules:\n  - allow:\n      - x\n      - (y)\n      - x(y\n      - x()\n      - 12\n      - 'x y'\n      - ''\n",
		"policy.yaml:4: rules[0].allow[1]: names no tool",
		"policy.yaml:5: rules[0].allow[2]: does not end with )",
		"policy.yaml:6: rules[0].allow[3]: has an empty argument: write x for any arguments",
		`policy.yaml:7: rules[0].allow[4]: must be a text, and is "12" (int)`,
		`policy.yaml:8: rules[0].allow[5]: "x y" is no tool name`,
		"policy.yaml:9: rules[0].allow[6]: is empty")
	f("rules:\n  - reason: x\n  - deny: x\n  - allow: []\n  - x\n  - allow: [x]\n    timeout: 5m\n    remember: false\n",
		"policy.yaml:2: rules[0]: names no deny, ask, allow or rewrite list",
		`policy.yaml:3: rules[1].deny: must be a list of patterns, and is "x" (str)`,
		"policy.yaml:4: rules[2].allow: is empty",
		`policy.yaml:5: rules[3]: must be a mapping`,
		"policy.yaml:7: rules[4].timeout: has no effect",
		"policy.yaml:8: rules[4].remember: has no effect")
	f("rules:\n  - ask: [x]\n    timeout: 30\n  - ask: [x]\n    timeout: 0s\n    on_timeout: escalate\n    required_approvals: 0\n    reviewers: ops\n    remember: 'no'\n",
		"policy.yaml:3: rules[0].timeout: has no unit: write 30s",
		"policy.yaml:5: rules[1].timeout: must be at least 1s",
		"policy.yaml:6: rules[1].on_timeout: cannot be escalate, which is a key of its own: write escalate: {after: 5m, to: [GROUP]}, and here deny or approve",
		`policy.yaml:7: rules[1].required_approvals: must be a whole number from 1 up, and is "0" (int)`,
		"policy.yaml:8: rules[1].reviewers: must be a list of reviewers",
		`policy.yaml:9: rules[1].remember: must be true or false, and is "no" (str)`)
	f("rules:\n  - ask: [x]\n    confirm: passkey\n    remember: [session]\n  - ask: [x]\n    confirm: passkey\n    remember: true\n",
		"policy.yaml:2: rules[0].remember: cannot be used with confirm: passkey: a grant would let calls pass without the passkey",
		"policy.yaml:5: rules[1].remember: cannot be used with confirm: passkey")
	f("rules:\n  - ask: [x]\n    confirm: passkey\n  - ask: [x]\n    confirm: 'yes'\n  - allow: [x]\n    confirm: type\n",
		`policy.yaml:5: rules[1].confirm: is "yes": write type, passkey`,
		"policy.yaml:7: rules[2].confirm: has no effect")
	f("tools:\n  bash: {resource: c, as: shell}\n  r*: {resource: p, as: path}\nrules:\n"+
		"  - allow: ['bash(a && b)', 'bash($X)', 'bash(a > b)', 'b*(A=1 b)', 'bash(a #b)', 'bash(a {b})']\n"+
		"  - deny: ['read(a/*/../b)', 'r*(a**b)', 'read(c\\x)', 'bash(a && b)', 'read(*)']\n",
		"policy.yaml:5: rules[0].allow[0]: bash(a && b) is not one command of plain words",
		"policy.yaml:5: rules[0].allow[1]: bash($X) is not one command",
		"policy.yaml:5: rules[0].allow[2]: bash(a > b) is not one command",
		"policy.yaml:5: rules[0].allow[3]: b*(A=1 b) is not one command",
		"policy.yaml:5: rules[0].allow[4]: bash(a #b) is not one command",
		"policy.yaml:5: rules[0].allow[5]: bash(a {b}) has \"{b}\", which a shell may expand",
		"policy.yaml:6: rules[1].deny[0]: read(a/*/../b) has a .. after a *",
		`policy.yaml:6: rules[1].deny[1]: r*(a**b) has "a**b"`,
		"policy.yaml:6: rules[1].deny[2]: read(c\\x) cannot be compared with a path")
}

func TestParseAccepts(t *testing.T) {
	for _, src := range []string{"", "# nothing\n", "{}\n", "rules:\n", "rules: []\n", "default: ask\nrules:\n  - deny: [x]\n    allow: [y]\n    ask: ['*(a)']\n    timeout: 1h\n"} {
		if _, err := Parse("p", []byte(src)); err != nil {
			t.Errorf("%q: %v", src, err)
		}
	}
}

func TestLoad(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mine.yaml")
	if _, err := Load(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if err := os.WriteFile(file, []byte("\nrules:\n  - deny: [x]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if v := p.Judge(Call{Tool: "x"}); v.Action != Deny || v.Rule != "mine.yaml:3" {
		t.Errorf("%+v", v)
	}
	if err := os.WriteFile(file, []byte("x: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(file); err == nil || !strings.HasPrefix(err.Error(), file+":1: x: ") {
		t.Errorf("%v", err)
	}
}
