package approvals_test

import (
	"slices"
	"testing"

	"github.com/heldcall/heldcall/approvals"
)

// Which signals by principal apply to the runs of an agent.
func TestWiderPrincipals(t *testing.T) {
	p := func(tenant, user, agent string) approvals.Principal {
		return approvals.Principal{Tenant: tenant, User: user, Agent: agent}
	}
	coder := p("acme", "ann", "coder")
	for _, c := range []struct {
		signal, run approvals.Principal
		applies     bool
	}{
		{coder, coder, true},
		{p("acme", "", ""), coder, true},
		{p("", "ann", ""), coder, true},
		{p("", "", "coder"), coder, true},
		{p("acme", "ann", ""), coder, true},
		{p("", "ann", "coder"), coder, true},
		{p("acme", "", "coder"), coder, true},
		{p("other", "", ""), coder, false},
		{p("", "bob", ""), coder, false},
		{p("", "", "tester"), coder, false},
		{p("other", "ann", "coder"), coder, false},
		{p("acme", "bob", "coder"), coder, false},
		{p("acme", "ann", "tester"), coder, false},
		{p("ACME", "", ""), coder, false},
		{p("", "acme", ""), coder, false}, // another field
		{p("acme", "ann", ""), p("acme", "", ""), false},
		{p("acme", "", ""), p("acme", "", ""), true},
		{p("", "", "coder"), p("acme", "", ""), false},
	} {
		if got := slices.Contains(c.run.Wider(), c.signal); got != c.applies {
			t.Errorf("a signal to %+v, a run of %+v: applies: %t", c.signal, c.run, got)
		}
	}
	seen := map[string]bool{}
	for _, one := range []approvals.Principal{coder, p("a", "b", ""), p("a", "", "b"), p("", "a", "b"), p("1:a", "", ""), p("", "", "1:a"), p("a1:b", "", "")} {
		s := approvals.PrincipalSignal{Principal: one}
		if seen[s.Key()] {
			t.Errorf("the key of %+v is that of another", one)
		}
		seen[s.Key()] = true
	}
}
