package policy

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/rule"
)

func mustParse(t testing.TB, src string) *Policy {
	t.Helper()
	p, err := Parse("dir/policy.yaml", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// marshal returns a value as JSON, which is YAML too.
func marshal(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// designPolicy is the example of the package's doc, with a few tools more.
const designPolicy = `default: ask
tools:
  bash: {resource: command, as: shell, risk: high}
  read_file: {resource: path, as: path, risk: low}
  write_file: {resource: file.path, as: path, default: deny}
  transfer: {resource: amount, risk: critical}
  list_tools: {risk: low}
  mcp__*: {default: deny}
  mcp__docs__*: {default: allow}
rules:
  - deny: ["bash(rm -rf *)", "read_file(./secrets/**)", "nothing(*secret*)"]
    reason: Not here.
  - allow: ["bash(npm run test:*)", "bash(git status)", "bash(ls *)", "read_file(./src/**)", "write_file(out/**)"]
  - ask: ["transfer"]
    reviewers: [ops, finance]
    required_approvals: 2
    timeout: 30m
    remember: false
  - allow: ["clock", "bash(pwd)"]
`

func TestJudge(t *testing.T) {
	p := mustParse(t, designPolicy)
	f := func(tool, args string, action Action, rule string) {
		t.Helper()
		v := p.Judge(Call{Tool: tool, Arguments: args})
		if v.Action != action || v.Rule != rule {
			t.Errorf("%s(%s): %s by %s (%s), want %s by %s", tool, args, v.Action, v.Rule, v.Reason, action, rule)
		}
		if v.Reason == "" || v.Risk == "" {
			t.Errorf("%s(%s): no reason or risk: %+v", tool, args, v)
		}
	}
	f("bash", `{"command":"rm -rf /"}`, Deny, "policy.yaml:11")
	f("bash", `{"command":"npm run test"}`, Allow, "policy.yaml:13")
	f("bash", `{"command":"npm run test:unit"}`, Allow, "policy.yaml:13")
	f("bash", `{"command":"npm run tests"}`, Ask, "tool bash (policy.yaml:3)")
	f("bash", `{"command":"git status && ls src\nls 'a b' | npm run test x"}`, Allow, "policy.yaml:13")
	f("bash", `{"command":"pwd; git status"}`, Allow, "policy.yaml:19, policy.yaml:13")
	f("bash", `{"command":"git status -s"}`, Ask, "tool bash (policy.yaml:3)")
	f("bash", `{"cmd":"git status"}`, Allow, "policy.yaml:13")
	f("bash", `{"text":"git status"}`, Ask, "tool bash (policy.yaml:3)")
	f("read_file", `{"path":"./src/a/b.go"}`, Allow, "policy.yaml:13")
	f("read_file", `{"path":"src/../secrets/key"}`, Deny, "policy.yaml:11")
	f("read_file", `{"path":"README.md"}`, Allow, "tool read_file (policy.yaml:4)")
	f("write_file", `{"file":{"path":"out/x"}}`, Allow, "policy.yaml:13")
	f("write_file", `{"file.path":"out/x"}`, Deny, "tool write_file (policy.yaml:5)")
	f("transfer", `{"amount":1}`, Ask, "policy.yaml:14")
	f("list_tools", ``, Allow, "tool list_tools (policy.yaml:7)")
	f("mcp__x", `{}`, Deny, "tool mcp__* (policy.yaml:8)")
	f("mcp__docs__find", `{}`, Allow, "tool mcp__docs__* (policy.yaml:9)")
	f("clock", " \n", Allow, "policy.yaml:19")
	f("clock", `{"zone":"a","zone":"b"}`, Ask, "default")
	f("unheard_of", `{}`, Ask, "default")
	f("nothing", `{"deep":[{"text":"a secret here"}]}`, Deny, "policy.yaml:11")
}

func TestAskIsComplete(t *testing.T) {
	p := mustParse(t, designPolicy)
	got := p.Judge(Call{Tool: "transfer", Arguments: `{"amount":100}`})
	want := Verdict{
		Action: Ask, Rule: "policy.yaml:14", Reason: "A policy rule requires approval for transfer.", Risk: approvals.RiskCritical,
		Resource: "100", Preview: "100", Suggested: []string{"transfer(100)"}, Timeout: 30 * time.Minute,
		OnTimeout: approvals.OnTimeoutDeny, Reviewers: []string{"finance", "ops"}, RequiredApprovals: 2, DenyOnly: true,
		Effects: []approvals.Effect{{Kind: approvals.EffectSend, Target: "100", Irreversible: true}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	got = Default().Judge(Call{Tool: "x", Arguments: `{"b": 1, "a": "\u002f"}`})
	want = Verdict{
		Action: Ask, Rule: "default", Reason: "No rule matches this call; the policy's default is to ask.",
		Risk: approvals.RiskMedium, Resource: `{"a":"/","b":1}`, Preview: `{"b":1,"a":"/"}`,
		Suggested: []string{`x({"a":"/","b":1})`}, ByDefault: true, Timeout: rule.DefaultTimeout, OnTimeout: approvals.OnTimeoutDeny,
		RequiredApprovals: 1, AllowRemember: true, Effects: []approvals.Effect{{Kind: approvals.EffectUnknown, Target: "x"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestStrictestQuestion(t *testing.T) {
	p := mustParse(t, `
rules:
  - ask: ["pay"]
    on_timeout: approve
    timeout: 5m
    reviewers: [anyone]
  - ask: ["pay(*)", "other"]
    risk: high
    required_approvals: 3
    reviewers: [finance]
    timeout: 2m
    remember: false
`)
	v := p.Judge(Call{Tool: "pay", Arguments: `{}`})
	if v.OnTimeout != approvals.OnTimeoutDeny || v.Timeout != 2*time.Minute || v.RequiredApprovals != 3 ||
		v.Risk != approvals.RiskHigh || v.AllowRemember || !cmp.Equal(v.Reviewers, []string{"anyone", "finance"}) || len(v.Demands) != 2 {
		t.Errorf("not the strictest: %+v", v)
	}
}

// TestSilenceNeverApprovesInDoubt: on_timeout approve is for calls with one
// reading only.
func TestSilenceNeverApprovesInDoubt(t *testing.T) {
	p := mustParse(t, `
tools: {f: {resource: path, as: path}}
rules:
  - {ask: [f], on_timeout: approve}
  - {deny: ["f(./secret/**)"]}
`)
	f := func(args, want string) {
		t.Helper()
		if v := p.Judge(Call{Tool: "f", Arguments: args}); v.OnTimeout != want {
			t.Errorf("%s: %+v", args, v)
		}
	}
	f(`{"path":"x"}`, approvals.OnTimeoutApprove)
	f(`{"path":"x","path":"x"}`, approvals.OnTimeoutDeny)
	f(`{"path":"/work/secret/x"}`, approvals.OnTimeoutDeny)
	f(`{}`, approvals.OnTimeoutDeny)
}

func TestAllowsAny(t *testing.T) {
	f := func(src, tool string, want bool) {
		t.Helper()
		p := mustParse(t, src)
		v, got := p.allowsAny(&Call{Tool: tool})
		if got != want {
			t.Errorf("%s: %v, want %v\n%s", tool, got, want, src)
		}
		if !got {
			return
		}
		for _, args := range []string{"", "{}", `{"command":"rm -rf / > x"}`, `{"a":[1,{"b":null}]}`} {
			if j := p.Judge(Call{Tool: tool, Arguments: args}); j.Action != Allow || j.Rule != v.Rule {
				t.Errorf("by name %+v, but %s gives %+v", v, args, j)
			}
		}
	}
	f("default: allow", "x", true)
	f("default: allow", "x y", false)
	f("default: ask", "x", false)
	f("rules: [{allow: [x]}]", "x", true)
	f("rules: [{allow: ['x*']}]", "xyz", true)
	f("rules: [{allow: ['x(*)']}]", "x", false)
	f("rules: [{allow: [x]}, {deny: ['x(rm *)']}]", "x", false)
	f("rules: [{allow: [x]}, {ask: ['*(rm *)']}]", "x", false)
	f("rules: [{allow: [x]}, {deny: ['y']}]", "x", true)
	f("tools: {x: {risk: low}}", "x", true)
	f("tools: {x: {risk: medium}}", "x", false)
	f("{default: allow, tools: {x: {risk: medium}}}", "x", false)
	f("tools: {x: {risk: high, default: allow}}", "x", true)
	f("{default: allow, tools: {x: {resource: command, as: shell}}}", "x", false)
	f("{rules: [{allow: [x]}], tools: {x: {resource: command, as: shell}}}", "x", true)
}

// TestOrderOfRulesMeansNothing shuffles rules, lists and tools and compares the
// verdicts, but for the lines they name.
func TestOrderOfRulesMeansNothing(t *testing.T) {
	tools := []string{
		"bash: {resource: command, as: shell, risk: high}", "b*: {risk: low}", "ba*: {default: deny}",
		"read: {resource: path, as: path}", "'*': {risk: medium}",
	}
	rules := []string{
		`{deny: ["bash(rm *)"], reason: one}`, `{deny: ["bash(rm -rf *)", "b*(* /)"], reason: two, risk: critical}`,
		`{allow: ["bash(ls *)", "bash(git status)", "read(src/**)"]}`, `{allow: ["b*"], reason: all}`, `{allow: ["read(**)"], risk: low}`,
		`{ask: ["bash(git *)", "read(src/a)"], reviewers: [a], timeout: 1m}`, `{ask: ["b*(git:*)"], on_timeout: approve, required_approvals: 2}`,
		`{ask: ["read(**/a)"], reviewers: [b], risk: critical, remember: false}`, `{deny: ["read(.env)"]}`,
	}
	calls := []Call{}
	for _, c := range []string{"ls", "ls src", "git status", "rm -rf /", "rm x", "sudo rm x", "git status; ls x", "$X y"} {
		calls = append(calls, Call{Tool: "bash", Arguments: fmt.Sprintf(`{"command":%q}`, c)}, Call{Tool: "bx", Arguments: fmt.Sprintf(`{"x":%q}`, c)})
	}
	for _, path := range []string{"src/a", "src/b", ".env", "/w/.env", "../x", "src/../.env"} {
		calls = append(calls, Call{Tool: "read", Arguments: fmt.Sprintf(`{"path":%q}`, path)})
	}
	judge := func() []Verdict {
		p := mustParse(t, "tools:\n  "+strings.Join(tools, "\n  ")+"\nrules:\n  - "+strings.Join(rules, "\n  - ")+"\n")
		var all []Verdict
		for _, c := range calls {
			v := p.Judge(c)
			v.Rule = ""
			for i := range v.Flags {
				v.Flags[i], _, _ = strings.Cut(v.Flags[i], "(policy.yaml")
			}
			for i := range v.Demands {
				v.Demands[i].Rule = ""
			}
			all = append(all, v)
		}
		return all
	}
	want := judge()
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		rnd.Shuffle(len(tools), func(i, j int) { tools[i], tools[j] = tools[j], tools[i] })
		rnd.Shuffle(len(rules), func(i, j int) { rules[i], rules[j] = rules[j], rules[i] })
		if got := judge(); !reflect.DeepEqual(want, got) { // cmp takes long, also for equal values
			t.Fatalf("tools %q\nrules %q\n%s", tools, rules, cmp.Diff(want, got))
		}
	}
}

// TestSuggestionsAllow: a suggested pattern, made a rule, allows the call.
func TestSuggestionsAllow(t *testing.T) {
	const tools = "tools:\n  bash: {resource: command, as: shell}\n  read: {resource: path, as: path}\n"
	f := func(tool, args string, want ...string) {
		t.Helper()
		c := Call{Tool: tool, Arguments: args}
		got := mustParse(t, tools).Judge(c).Suggested
		if !cmp.Equal(got, append([]string{}, want...)) {
			t.Errorf("%s: suggested %q, want %q", args, got, want)
		}
		for i, s := range got {
			rule := fmt.Sprintf("rules:\n  - allow: [%q]\n", s)
			if strings.Contains(args, ";") {
				rule = fmt.Sprintf("rules:\n  - allow: [%q, %q]\n", got[0], got[1])
			}
			if v := mustParse(t, tools+rule).Judge(c); v.Action != Allow {
				t.Errorf("suggestion %d %s does not allow %s: %+v", i, s, args, v)
			}
		}
	}
	f("bash", `{"command":"npm run lint"}`, "bash(npm run lint)")
	f("bash", `{"command":"git commit -m 'a b'"}`, "bash(git commit -m 'a b')")
	f("bash", `{"command":"rm -rf x"}`, "bash(rm -rf x)")
	f("bash", `{"command":"echo \"it's\" a"}`, `bash(echo 'it'"'"'s' a)`, `bash(echo:./**)`)
	f("bash", `{"command":"ls a; ls b"}`, "bash(ls a)", "bash(ls b)", "bash(ls:./a/**)", "bash(ls:./**)", "bash(ls:./b/**)")
	f("bash", `{"command":"python x.py"}`, "bash(python x.py)")
	f("bash", `{"command":"curl x | sh"}`)
	f("bash", `{"command":"echo $HOME"}`)
	f("read", `{"path":"src/a.go"}`, "read(src/a.go)", "read(src/**)", "read(./**)")
	f("read", `{"path":"src/[id]/{x}.go"}`, "read(src/[id]/{x}.go)", "read(src/[id]/**)", "read(src/**)")
	f("read", `{"path":"src/"}`, "read(src)", "read(./**)")
	f("read", `{"path":"src/*"}`)
	f("other", `{"x":"a(b)"}`, `other({"x":"a(b)"})`)
	f("other", `{"x":"a","x":"b"}`)
}

func TestPreview(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := match.Preview(in); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	f("plain é 界", "plain é 界")
	f("a\nb\x1b[2J\u202e\u200b\x7f\xff", `a\nb\x1b[2J\u202e\u200b\x7f\xff`)
	f(strings.Repeat("é", 200), strings.Repeat("é", 160)+"… (80 more bytes)")
}
