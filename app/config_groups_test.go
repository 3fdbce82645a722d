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

func TestRoutesForGroupsThatAreNotThereAreToldOf(t *testing.T) {
	rules, err := policy.Parse("p", []byte(asksGroups))
	if err != nil {
		t.Fatal(err)
	}
	other, err := policy.Parse("q", []byte("rules:\n  - ask: [deploy]\n    reviewers: [ops]\n"))
	if err != nil {
		t.Fatal(err)
	}
	f := func(what string, reviewers []app.Reviewer, want ...string) {
		t.Helper()
		c := app.Config{Console: app.ConsoleConfig{Reviewers: reviewers}}
		c.Notify.Routes = []app.RouteConfig{{}, {Groups: []string{"oncall", "finanze"}}, {Groups: []string{"ops"}}}
		var got []string
		for _, vacant := range c.VacantRoutes(rules, other) {
			got = append(got, strings.Join(strings.Split(vacant, ",")[:2], ","))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	unasked := `notify.routes[1].groups[1] names the group "finanze", which no rule asks`
	f("without reviewers", nil, unasked)
	f("somebody in every group", []app.Reviewer{{Name: "ann", Groups: []string{"*"}}}, unasked)
	f("no member in oncall", []app.Reviewer{{Name: "ann", Groups: []string{"finance", "finanze", "ops"}}},
		`notify.routes[1].groups[0] names the group "oncall", which has no member who may decide: correct the name`, unasked)
}

// TestAPolicyThatAsksNobodyIsToldOf: at the start, and when it changes.
func TestAPolicyThatAsksNobodyIsToldOf(t *testing.T) {
	t.Parallel()
	var file string
	w := build(t, asksGroups, callThenText, func(c *app.Config) {
		c.Console.Reviewers = []app.Reviewer{{Name: "ann", TokenSHA256: strings.Repeat("0", 64), Groups: []string{"finance"}}}
		c.Notify.Webhooks = []app.WebhookConfig{{Name: "ci", URL: "http://127.0.0.1:1", Secrets: []app.Secret{"whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"}}}
		c.Notify.Routes = []app.RouteConfig{{To: []string{"ci"}, Groups: []string{"finance"}}}
		file = c.Policy.File
	})
	if !strings.Contains(w.log.String(), `names the group \"oncall\"`) || strings.Contains(w.log.String(), `the group \"finance\"`) {
		t.Errorf("the log of the start names no vacant group: %s", w.log.String())
	}
	if strings.Contains(w.log.String(), "notify.routes") {
		t.Errorf("the start warns of a route that is for what a rule asks: %s", w.log.String())
	}
	w.logs(`notify.routes[0].groups[0] names the group \"finance\", which no rule asks`, func() {
		writeFile(t, file, strings.ReplaceAll(asksGroups, "finance", "finanze"))
	})
	if !strings.Contains(w.log.String(), `names the group \"finanze\", which has no member`) {
		t.Errorf("the log of the changed policy names no vacant group: %s", w.log.String())
	}
}
