package app

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals/reviewers"
)

// A reviewer who signs in by the provider is notified until that sign-in expires, although
// the configuration names them.
func TestOnlyATokenOutlivesASignIn(t *testing.T) {
	directory, err := reviewers.NewDirectory([]reviewers.Entry{
		{Reviewer: reviewers.Reviewer{Name: "ann", Role: reviewers.RoleReviewer}, TokenSHA256: strings.Repeat("a1", 32)},
		{Reviewer: reviewers.Reviewer{Name: "bob", Role: reviewers.RoleReviewer}},
	})
	if err != nil {
		t.Fatal(err)
	}
	a := &parts{reviewers: directory}
	for name, want := range map[string]bool{"ann": true, "bob": false, "zoe": false} {
		if got := a.holdsToken(name); got != want {
			t.Errorf("%s is notified without a sign-in: %t", name, got)
		}
	}
}

// A sign-in under an earlier configuration proves no rights after any setting that gives
// rights has changed.
func TestRightsAreNamedByAllThatGivesThem(t *testing.T) {
	config := func() ConsoleConfig {
		return ConsoleConfig{
			OIDC:      OIDCConfig{Issuer: "https://a.example", Memberships: []OIDCMembership{{Group: "g", Role: "reviewer", Groups: []string{"finance"}}}},
			Reviewers: []Reviewer{{Name: "ann", Role: "reviewer", Groups: []string{"it"}}},
		}
	}
	if before := config(); before.rights() != config().rights() {
		t.Error("the same configuration has another name")
	}
	for name, change := range map[string]func(*ConsoleConfig){
		"a reviewer who is gone":     func(c *ConsoleConfig) { c.Reviewers = nil },
		"another role":               func(c *ConsoleConfig) { c.Reviewers[0].Role = "viewer" },
		"another group":              func(c *ConsoleConfig) { c.Reviewers[0].Groups = nil },
		"another membership":         func(c *ConsoleConfig) { c.OIDC.Memberships[0].Groups = nil },
		"a membership of less":       func(c *ConsoleConfig) { c.OIDC.Memberships[0].Role = "viewer" },
		"a group that is required":   func(c *ConsoleConfig) { c.OIDC.RequiredGroups = []string{"g"} },
		"another role of everybody":  func(c *ConsoleConfig) { c.OIDC.Role = "viewer" },
		"a domain that is required":  func(c *ConsoleConfig) { c.OIDC.EmailDomains = []string{"a.example"} },
		"another provider":           func(c *ConsoleConfig) { c.OIDC.Issuer = "https://b.example" },
		"another claim of the name":  func(c *ConsoleConfig) { c.OIDC.NameClaim = "sub" },
		"another claim of the group": func(c *ConsoleConfig) { c.OIDC.GroupsClaim = "roles" },
	} {
		changed := config()
		if change(&changed); changed.rights() == config().rights() {
			t.Errorf("%s leaves rights as they were", name)
		}
	}
}
