package app_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals/policy"
)

const asksGroups = "rules:\n  - ask: [transfer]\n    reviewers: [finance]\n    escalate: {after: 1m, to: [oncall]}\n"

func TestVacantGroupsAreToldOf(t *testing.T) {
	rules, err := policy.Parse("p", []byte(asksGroups))
	if err != nil {
		t.Fatal(err)
	}
	viewer := app.Reviewer{Name: "vera", Role: "viewer", Groups: []string{"finance", "oncall"}}
	f := func(what string, c app.ConsoleConfig, want ...string) {
		t.Helper()
		var got []string
		for _, vacant := range c.Vacant(rules) {
			got = append(got, strings.Split(vacant, ",")[0])
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	oidc := app.OIDCConfig{Issuer: "https://login.example.com", Memberships: []app.OIDCMembership{{Group: "acc", Groups: []string{"finance"}}}}
	f("without reviewers", app.ConsoleConfig{})
	f("a viewer", app.ConsoleConfig{Reviewers: []app.Reviewer{viewer}}, `p:2 names the group "finance"`, `p:2 names the group "oncall"`)
	f("one of two", app.ConsoleConfig{Reviewers: []app.Reviewer{{Name: "ann", Groups: []string{"finance"}}}}, `p:2 names the group "oncall"`)
	f("a provider's", app.ConsoleConfig{OIDC: oidc}, `p:2 names the group "oncall"`)
	f("all of them", app.ConsoleConfig{Reviewers: []app.Reviewer{viewer, {Name: "ann", Groups: []string{"*"}}}})
}

// TestAPolicyThatAsksNobodyIsToldOf: at the start, and when it changes.
func TestAPolicyThatAsksNobodyIsToldOf(t *testing.T) {
	var file string
	w := build(t, asksGroups, callThenText, func(c *app.Config) {
		c.Console.Reviewers = []app.Reviewer{{Name: "ann", TokenSHA256: strings.Repeat("0", 64), Groups: []string{"finance"}}}
		file = c.Policy.File
	})
	if !strings.Contains(w.log.String(), `names the group \"oncall\"`) || strings.Contains(w.log.String(), `the group \"finance\"`) {
		t.Errorf("the start does not tell who is not there: %s", w.log.String())
	}
	w.logs(`names the group \"finanze\"`, func() { writeFile(t, file, strings.ReplaceAll(asksGroups, "finance", "finanze")) })
}
