package app_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
)

// TestGrantTemplates: a decision or a grant by hand takes from a template what it
// covers, for whom and how long.
func TestGrantTemplates(t *testing.T) {
	t.Parallel()
	w := build(t, askBash, lint, func(c *app.Config) {
		c.Grants.Templates = []app.GrantTemplate{
			{Name: "node", Title: "Run scripts", Action: "allow", Patterns: []string{"bash(npm run *)"}, Scope: "session", Expires: 8 * time.Hour},
			{Name: "no-web", Title: "no-web", Action: "deny", Patterns: []string{"bash(curl:*)"}, Scope: "tenant"},
		}
	})
	if list, err := w.console.GrantTemplates(t.Context()); err != nil || len(list) != 2 || list[0].Title != "Run scripts" || list[0].Expires != "8h0m0s" {
		t.Errorf("the templates are %+v, %v", list, err)
	}
	answer := w.turn("", "X-Heldcall-Session", "one")
	id := w.pending(1)[0].ID
	for template, reason := range map[string]string{"no-web": "a template for deny, not allow", "none": "there is no template"} {
		_, err := w.console.Decide(t.Context(), approvals.Decision{RequestID: id, Action: approvals.ActionAllowAlways, Template: template})
		invalid := (*approvals.InvalidError)(nil)
		if !errors.As(err, &invalid) || invalid.Field != "template" || !strings.Contains(invalid.Reason, reason) {
			t.Errorf("template %s: %v", template, err)
		}
	}
	w.decide(id, approvals.Decision{Action: approvals.ActionAllowAlways, Template: "node"})
	<-answer
	g := w.grants(1)[0]
	if g.Template != "node" || g.Scope != approvals.GrantSession || g.SessionID != "one" || g.Patterns[0] != "bash(npm run *)" ||
		g.ExpiresAt == nil || time.Until(*g.ExpiresAt) > 8*time.Hour || time.Until(*g.ExpiresAt) < 7*time.Hour {
		t.Errorf("the grant is %+v", g)
	}
	w.passes("", "X-Heldcall-Session", "one")
	byHand, err := w.console.AddGrant(t.Context(), approvals.Grant{Template: "no-web", Principal: approvals.Principal{Tenant: "acme"}})
	if err != nil || byHand.Effect != approvals.GrantDeny || byHand.Scope != approvals.GrantTenant || byHand.Patterns[0] != "bash(curl:*)" {
		t.Errorf("by hand: %+v, %v", byHand, err)
	}
}

// TestPreviewOfGrant judges recorded calls by the policy in force.
func TestPreviewOfGrant(t *testing.T) {
	t.Parallel()
	w := build(t, askBash, lint)
	w.asks("")
	preview := func(pattern string) int {
		t.Helper()
		p, err := w.console.PreviewGrant(t.Context(), approvals.Grant{
			Effect: approvals.GrantAllow, Principal: approvals.Principal{Tenant: "default"}, Patterns: []string{pattern},
		})
		if err != nil || p.Calls != 1 {
			t.Fatalf("%+v, %v", p, err)
		}
		return p.Covered
	}
	if one, none := preview("bash(npm run *)"), preview("bash(npm install)"); one != 1 || none != 0 {
		t.Errorf("covered are %d and %d calls, want 1 and 0", one, none)
	}
	w.grants(0)
}

// TestGrantTemplatesAreChecked: a template that no grant could be made of is an
// error of the configuration.
func TestGrantTemplatesAreChecked(t *testing.T) {
	for text, problem := range map[string]string{
		`[{title: x, action: allow, patterns: [a]}]`:                                               "templates[0].name: is missing",
		`[{name: x, action: allow, patterns: [a]}, {name: x, action: allow, patterns: [a]}]`:       `"x" is also the name of grants.templates[0]`,
		`[{name: x, patterns: [a]}]`:                                                               "templates[0].action: is missing",
		`[{name: x, action: ask, patterns: [a]}]`:                                                  `"ask" is not known`,
		`[{name: x, action: allow}]`:                                                               "templates[0].patterns: is missing",
		`[{name: x, action: allow, patterns: ["*"]}]`:                                              `"*" allows every tool`,
		`[{name: x, action: deny, patterns: ["bash(x"]}]`:                                          "does not end with )",
		`[{name: x, action: allow, patterns: [a], scope: world}]`:                                  `"world" is not known`,
		`[{name: x, action: allow, patterns: [a], scope: agent, expires: 8h, title: "Let it go"}]`: "",
	} {
		_, err := app.LoadConfig(writeFile(t, t.TempDir()+"/heldcall.yaml", "grants: {templates: "+text+"}\n"), func(string) (string, bool) { return "", false })
		if (err == nil && problem != "") || (err != nil && (problem == "" || !strings.Contains(err.Error(), problem))) {
			t.Errorf("%s: %v, want %q", text, err, problem)
		}
	}
}
