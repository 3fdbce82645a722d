package policy

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/call"
)

var (
	ann  = approvals.Principal{Tenant: "acme", User: "ann", Agent: "coder"}
	bob  = approvals.Principal{Tenant: "acme", User: "bob", Agent: "coder"}
	noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
)

// grant compiles a grant of ann's session s.
func grant(t testing.TB, id string, effect approvals.GrantEffect, scope approvals.GrantScope, patterns ...string) *CompiledGrant {
	t.Helper()
	c, err := CompileGrant(approvals.Grant{ID: id, Effect: effect, Scope: scope, Principal: ann, SessionID: "s", Patterns: patterns, GrantedBy: "rita", RequestID: "R1"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const grantPolicy = `default: ask
tools:
  bash: {resource: command, as: shell}
  read_file: {resource: path, as: path}
rules:
  - deny: ["bash(rm *)"]
  - ask: ["bash(git push:*)"]
  - ask: ["bash(git fetch:*)"]
    remember: [session]
  - ask: ["bash(git pull:*)"]
    remember: true
  - allow: ["bash(ls:*)"]
`

func TestJudgeWithGrants(t *testing.T) {
	g := NewGrants(
		grant(t, "A1", approvals.GrantAllow, approvals.GrantUser, "bash(npm run *)", "bash(rm -rf build)", "bash(git push:*)"),
		grant(t, "A2", approvals.GrantAllow, approvals.GrantUser, "bash(git fetch:*)", "bash(git pull:*)"),
		grant(t, "A3", approvals.GrantAllow, approvals.GrantSession, "bash(git fetch:*)"),
		grant(t, "D1", approvals.GrantDeny, approvals.GrantTenant, "bash(npm run deploy:*)", "read_file(**/*.pem)"),
	)
	p := mustParse(t, grantPolicy).With(g)
	f := func(command string, action Action, rule string, grants ...string) {
		t.Helper()
		v := p.Judge(Call{Tool: "bash", Arguments: fmt.Sprintf(`{"command":%q}`, command), Principal: ann, Session: "s", Now: noon})
		if v.Action != action || v.Rule != rule || !cmp.Equal(v.Grants, grants) {
			t.Errorf("%s: %s by %s %v (%s), want %s by %s %v", command, v.Action, v.Rule, v.Grants, v.Reason, action, rule, grants)
		}
	}
	f("npm run lint", Allow, "grant A1", "A1")
	f("npm run lint && ls", Allow, "grant A1, policy.yaml:12", "A1")
	f("npm run lint && curl x", Ask, "default")
	f("npm run lint > out", Ask, "default")
	f("npm run $X", Ask, "default")
	f("npm install", Ask, "default")
	f("npm run deploy", Deny, "grant D1", "D1")       // a deny grant stands above an allow grant
	f("ls; npm run deploy x", Deny, "grant D1", "D1") // at any depth
	f("rm -rf build", Deny, "policy.yaml:6")          // a deny rule stands above a grant
	f("git push", Ask, "policy.yaml:7")               // so does a rule that asks
	f("git pull", Allow, "grant A2", "A2")            // unless it says that it may be lifted
	f("git fetch", Allow, "grant A3", "A3")           // for a session, not for a user
	if v := p.Judge(Call{Tool: "bash", Arguments: `{"command":"git fetch"}`, Principal: ann, Session: "t", Now: noon}); v.Action != Ask {
		t.Errorf("a grant of a scope that the rule does not permit lifts it: %+v", v)
	}
	v := p.Judge(Call{Tool: "bash", Arguments: `{"command":"npm run lint"}`, Principal: ann, Now: noon})
	if v.Reason != "A grant of rita, from request R1, allows bash(npm run *)." {
		t.Errorf("the reason is %q", v.Reason)
	}
}

// TestGrantsAreForSome: a grant covers the calls of its scope and no others.
func TestGrantsAreForSome(t *testing.T) {
	type caller struct {
		principal approvals.Principal
		session   string
	}
	var (
		own     = caller{ann, "s"}
		other   = caller{ann, "t"}
		agent   = caller{approvals.Principal{Tenant: "acme", User: "ann", Agent: "bot"}, "s"}
		user    = caller{bob, "s"}
		tenant  = caller{approvals.Principal{Tenant: "other", User: "ann", Agent: "coder"}, "s"}
		nobody  = caller{approvals.Principal{Tenant: "acme"}, "s"}
		callers = []caller{own, other, agent, user, tenant, nobody}
	)
	for scope, covered := range map[approvals.GrantScope][]bool{
		approvals.GrantSession: {true, false, false, false, false, false},
		approvals.GrantAgent:   {true, true, false, false, false, false},
		approvals.GrantUser:    {true, true, true, false, false, false},
		approvals.GrantTenant:  {true, true, true, true, false, true},
	} {
		for effect, action := range map[approvals.GrantEffect]Action{approvals.GrantAllow: Allow, approvals.GrantDeny: Deny} {
			p := mustParse(t, grantPolicy).With(NewGrants(grant(t, "G", effect, scope, "bash(npm run *)")))
			for i, c := range callers {
				want := Ask
				if covered[i] {
					want = action
				}
				v := p.Judge(Call{Tool: "bash", Arguments: `{"command":"npm run lint"}`, Principal: c.principal, Session: c.session, Now: noon})
				if v.Action != want {
					t.Errorf("%s for a %s, caller %d: %s, want %s", effect, scope, i, v.Action, want)
				}
			}
		}
	}
}

// TestGrantsEnd: a grant ends by the time of the call. Where that is not known, a
// deny holds and an allow does not.
func TestGrantsEnd(t *testing.T) {
	for effect, action := range map[approvals.GrantEffect]Action{approvals.GrantAllow: Allow, approvals.GrantDeny: Deny} {
		c, err := CompileGrant(approvals.Grant{ID: "G", Effect: effect, Scope: approvals.GrantTenant, Principal: approvals.Principal{Tenant: "acme"}, Patterns: []string{"clock"}, ExpiresAt: &noon})
		if err != nil {
			t.Fatal(err)
		}
		p := Default().With(NewGrants(c))
		unknown := Ask
		if action == Deny {
			unknown = Deny
		}
		for now, want := range map[time.Time]Action{noon.Add(-time.Second): action, noon: Ask, noon.Add(time.Hour): Ask, {}: unknown} {
			if v := p.Judge(Call{Tool: "clock", Principal: ann, Now: now}); v.Action != want {
				t.Errorf("%s at %s: %s, want %s", effect, now, v.Action, want)
			}
		}
	}
}

// TestGrantsDoNotCoverDoubt: no grant allows a call that has more than one reading.
func TestGrantsDoNotCoverDoubt(t *testing.T) {
	p := mustParse(t, grantPolicy).With(NewGrants(grant(t, "G", approvals.GrantAllow, approvals.GrantTenant, "bash(npm run *)", "read_file", "clock")))
	for _, c := range []Call{
		{Tool: "bash", Arguments: `{"command":"npm run lint","command":"npm run lint"}`},
		{Tool: "read_file", Arguments: `{"path":"a"} x`},
		{Tool: "clock", Arguments: `[1]`},
		{Tool: "clock", Arguments: `{}`, Ambiguous: []string{"It is written in two ways."}},
	} {
		c.Principal, c.Now = ann, noon
		if v := p.Judge(c); v.Action != Ask || len(v.Grants) > 0 {
			t.Errorf("%s(%s): %s by %v", c.Tool, c.Arguments, v.Action, v.Grants)
		}
	}
}

// TestAllowsAnyWithGrants: what may be denied is not allowed whatever its arguments.
func TestAllowsAnyWithGrants(t *testing.T) {
	rules := mustParse(t, "default: ask\nrules:\n  - allow: [read_file, clock]\n")
	f := func(c *CompiledGrant, p approvals.Principal, tool string, want bool) {
		t.Helper()
		if _, ok := rules.With(NewGrants(c)).allowsAny(&Call{Principal: p, Tool: tool}); ok != want {
			t.Errorf("%v: %s by name of %v: %t", c.grant.Patterns, tool, p, ok)
		}
	}
	for _, scope := range approvals.GrantScopes() {
		f(grant(t, "D", approvals.GrantDeny, scope, "read_file(**/*.pem)"), ann, "read_file", false)
		f(grant(t, "D", approvals.GrantDeny, scope, "read_*"), ann, "read_file", false)
		f(grant(t, "D", approvals.GrantDeny, scope, "read_file(**/*.pem)"), ann, "clock", true)
		f(grant(t, "D", approvals.GrantDeny, scope, "read_file(**/*.pem)"), bob, "read_file", scope != approvals.GrantTenant)
		f(grant(t, "A", approvals.GrantAllow, scope, "read_file(**/*.pem)"), ann, "read_file", true)
		f(grant(t, "A", approvals.GrantAllow, scope, "search"), ann, "search", false)
	}
}

// TestGrantsChange: a changed set judges as a new one does, and earlier sets do not change.
func TestGrantsChange(t *testing.T) {
	p := mustParse(t, grantPolicy)
	random := rand.New(rand.NewPCG(1, 2))
	scopes := approvals.GrantScopes()
	var g *Grants
	in := map[string]*CompiledGrant{}
	for range 300 {
		before, was := g, g.Len()
		id := fmt.Sprintf("G%02d", random.IntN(40))
		if random.IntN(3) == 0 {
			g = g.Without(id)
			delete(in, id)
		} else {
			effect := []approvals.GrantEffect{approvals.GrantAllow, approvals.GrantDeny}[random.IntN(2)]
			c := grant(t, id, effect, scopes[random.IntN(len(scopes))], fmt.Sprintf("bash(npm run task%d)", random.IntN(10)))
			g = g.And(c)
			in[id] = c
		}
		if before.Len() != was {
			t.Fatal("a set has changed")
		}
		var all []*CompiledGrant
		for _, c := range in {
			all = append(all, c)
		}
		anew := NewGrants(all...)
		for i := range 10 {
			c := Call{Tool: "bash", Arguments: fmt.Sprintf(`{"command":"npm run task%d"}`, i), Principal: ann, Session: "s", Now: noon}
			if got, want := p.With(g).Judge(c), p.With(anew).Judge(c); !reflect.DeepEqual(got, want) {
				t.Fatalf("task%d: %s", i, cmp.Diff(want, got))
			}
		}
		for _, one := range []approvals.Principal{ann, bob} {
			if g.mayDeny(one, "bash", call.Shell) != anew.mayDeny(one, "bash", call.Shell) {
				t.Fatalf("whether bash may be denied to %v differs", one)
			}
		}
	}
}

func TestCompileGrantRefuses(t *testing.T) {
	rules := mustParse(t, grantPolicy)
	f := func(effect approvals.GrantEffect, pattern, problem string) {
		t.Helper()
		c, err := CompileGrant(approvals.Grant{ID: "G", Effect: effect, Scope: approvals.GrantTenant, Principal: ann, Patterns: []string{pattern}})
		if err == nil {
			err = rules.CheckGrant(c)
		}
		switch {
		case err == nil && problem != "", err != nil && (problem == "" || !strings.Contains(err.Error(), problem)):
			t.Errorf("%s %s: %v, want %q", effect, pattern, err, problem)
		}
	}
	f(approvals.GrantAllow, "*", "allows every tool")
	f(approvals.GrantAllow, "**(x)", "allows every tool")
	f(approvals.GrantAllow, "bash", "allows every command")
	f(approvals.GrantAllow, "b*h", "allows every command")
	f(approvals.GrantAllow, "bash(*)", "allows every command")
	f(approvals.GrantAllow, "bash(* run lint)", "does not name the program")
	f(approvals.GrantAllow, "bash(n* run lint)", "does not name the program")
	f(approvals.GrantAllow, "bash(a; b)", "one command")
	f(approvals.GrantAllow, "bash(npm", "does not end with )")
	f(approvals.GrantAllow, "bash(npm run *)", "")
	f(approvals.GrantAllow, "read_file", "")
	f(approvals.GrantDeny, "*", "")
	f(approvals.GrantDeny, "bash", "")
	f(approvals.GrantDeny, "bash(curl:*)", "")
}

// TestGrantNeverLetsAnotherProgramRun: also not one that was recorded when the
// tool was not known to run commands.
func TestGrantNeverLetsAnotherProgramRun(t *testing.T) {
	p := mustParse(t, grantPolicy).With(NewGrants(grant(t, "G", approvals.GrantAllow, approvals.GrantTenant, "bash", "bash(*)", "b*(* x)")))
	if v := p.Judge(Call{Tool: "bash", Arguments: `{"command":"curl x"}`, Principal: ann, Now: noon}); v.Action != Ask {
		t.Errorf("%s by %s", v.Action, v.Rule)
	}
}

func TestCovers(t *testing.T) {
	p := mustParse(t, grantPolicy)
	allow := grant(t, "A", approvals.GrantAllow, approvals.GrantSession, "bash(npm run *)", "bash(rm x)")
	deny := grant(t, "D", approvals.GrantDeny, approvals.GrantSession, "bash(npm run *)")
	for command, want := range map[string][2]bool{
		"npm run a":            {true, true},
		"npm run a; npm run b": {true, true},
		"npm run a; curl b":    {false, true},
		"rm x":                 {true, false}, // what rules say is not asked
		"ls":                   {false, false},
	} {
		c := Call{Tool: "bash", Arguments: fmt.Sprintf(`{"command":%q}`, command), Principal: bob}
		if got := [2]bool{p.Covers(allow, c), p.Covers(deny, c)}; got != want {
			t.Errorf("%s: %v, want %v", command, got, want)
		}
	}
}

// TestUnrelated: of the patterns that a reviewer types, each has to do with the call.
func TestUnrelated(t *testing.T) {
	p := mustParse(t, grantPolicy)
	f := func(effect approvals.GrantEffect, call Call, want string, patterns ...string) {
		t.Helper()
		if got := p.Unrelated(grant(t, "G", effect, approvals.GrantTenant, patterns...), call); got != want {
			t.Errorf("%s of %q to %s: %q has nothing to do with it, want %q", effect, patterns, call.Arguments, got, want)
		}
	}
	script := func(command string) Call {
		return Call{Tool: "bash", Arguments: fmt.Sprintf(`{"command":%q}`, command), Now: noon}
	}
	file := Call{Tool: "read_file", Arguments: `{"path":"src/a.go"}`, Now: noon}
	for _, effect := range []approvals.GrantEffect{approvals.GrantAllow, approvals.GrantDeny} {
		f(effect, script("ls a"), "", "bash(ls a)", "bash(ls *)")
		f(effect, script("ls a; deploy b"), "", "bash(ls *)", "bash(deploy b)")
		f(effect, script("timeout 5 ls a"), "", "bash(ls *)")
		f(effect, script("ls a"), "bash(deploy *)", "bash(ls *)", "bash(deploy *)")
		f(effect, script("ls a"), "send_money", "bash(ls *)", "send_money")
		f(effect, script("ls a"), "read_file(**)", "read_file(**)", "bash(ls *)")
		f(effect, file, "", "read_file(src/**)", "read_file")
		f(effect, file, "read_file(etc/**)", "read_file(src/**)", "read_file(etc/**)")
	}
}
