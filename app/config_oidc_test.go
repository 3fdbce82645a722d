package app

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/console/oidc"
)

func TestConfigReadsOIDC(t *testing.T) {
	config, _, err := load(t, `
console:
  listen: 0.0.0.0:4142
  url: https://inbox.example
  oidc:
    issuer: https://login.example
    client_id: heldcall
    client_secret: the-secret
    email_domains: [corp.example]
    memberships:
      - {group: engineers, role: reviewer, groups: [oncall]}
      - {group: money, groups: [finance]}
  reviewers:
    - {name: ann@corp.example, role: admin}
`)
	if err != nil {
		t.Fatal(err)
	}
	want := OIDCConfig{
		Issuer: "https://login.example", ClientID: "heldcall", ClientSecret: config.Console.OIDC.ClientSecret,
		Scopes: []string{"openid", "email", "profile"}, NameClaim: "email", GroupsClaim: "groups", Role: "none", EmailDomains: []string{"corp.example"},
		Memberships: []OIDCMembership{{Group: "engineers", Role: "reviewer", Groups: []string{"oncall"}}, {Group: "money", Role: "none", Groups: []string{"finance"}}},
	}
	if diff := cmp.Diff(want, config.Console.OIDC); diff != "" {
		t.Error(diff)
	}
	directory, err := config.Console.directory()
	if err != nil || config.Console.OIDC.ClientSecret == "" || strings.Contains(fmt.Sprintf("%+v", config), string(config.Console.OIDC.ClientSecret)) {
		t.Errorf("the secret shows, or the reviewers are not taken: %v", err)
	}
	if ann, known := directory.ByAddress("Ann@corp.example"); !known || ann.Role != "admin" || config.Console.provider(directory) == (*oidc.Provider)(nil) {
		t.Errorf("ann is %+v, %t", ann, known)
	}
}

func TestConfigRefusesOIDC(t *testing.T) {
	f := func(oidc string, wants ...string) {
		t.Helper()
		_, _, err := load(t, "console:\n  url: https://inbox.example\n  oidc:\n    client_id: heldcall\n"+oidc)
		if err == nil {
			t.Errorf("%s is taken", oidc)
			return
		}
		for _, want := range wants {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: the errors are\n%v\nwithout %s", oidc, err, want)
			}
		}
	}
	const issuer, member = "    issuer: https://login.example\n", "    memberships: [{group: g, role: reviewer}]\n"
	f(member, "console.oidc.issuer: is missing")
	f("    issuer: http://login.example\n"+member, "heldcall.yaml:5: console.oidc.issuer: is not https")
	f("    issuer: login.example\n"+member, "console.oidc.issuer: is not a URL with a host")
	f(issuer, "console.oidc: no reviewer has the role reviewer or admin")
	f(issuer+"    role: viewer\n", "console.oidc: no reviewer has the role reviewer or admin")
	f(issuer+"    role: reviewer\n", "console.oidc.role: \"reviewer\" would let everybody with an account at the provider decide; name email_domains or required_groups")
	f(issuer+"    role: owner\n", "console.oidc.role: \"owner\" is not known; write none, viewer, reviewer or admin")
	f(issuer+"    memberships: [{role: admin}]\n", "console.oidc.memberships[0].group: is missing")
	f(issuer+"    memberships: [{group: g, role: admin, groups: [\"\"]}]\n", "console.oidc.memberships[0].groups[0]")
	f(issuer+member+"    email_domains: [\"@corp.example\"]\n", "console.oidc.email_domains[0]: \"@corp.example\" is not a domain")
	f(issuer+member+"    name_claim: \"\"\n    groups_claim: \"\"\n", "console.oidc.name_claim: is empty", "console.oidc.groups_claim: is empty")
	f(issuer+member+"  reviewers: [{name: Ann@corp.example}, {name: ann@corp.example}]\n", "console.reviewers[1].name: differs from that of console.reviewers[0] in letter case only")
	f(issuer+member+"    groups: [a]\n", "console.oidc.groups: unknown key")
	f(issuer+member+"    client_id: again\n", "console.oidc.client_id: is given twice")

	for url, want := range map[string]string{
		`""`:                       "console.url: is missing; console.oidc needs the address",
		"http://inbox.example":     "console.url: is not https; console.oidc needs the address",
		"https://inbox.example/in": "console.url: has a path; console.oidc needs the address",
	} {
		if _, _, err := load(t, "console:\n  url: "+url+"\n  oidc:\n    client_id: heldcall\n"+issuer+member); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("URL %s: the error is %v, want %s", url, err, want)
		}
	}
	if _, _, err := load(t, "console:\n  url: http://localhost:4142\n  oidc:\n    client_id: heldcall\n"+issuer+member); err != nil {
		t.Error(err)
	}
}

// The start warns of reviewers with a token whose sign-in account is unknown.
func TestReviewersOfTwoNames(t *testing.T) {
	config, _, err := load(t, `
console:
  url: https://inbox.example
  oidc: {issuer: https://login.example, client_id: heldcall}
  reviewers:
    - {name: ann, token_sha256: `+hashA+`}
    - {name: bob, token_sha256: `+hashB+`, user: bob@corp.example}
    - {name: eve@corp.example}
    - {name: tom}
`)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"ann"}, config.Console.twoNames()); diff != "" {
		t.Error(diff)
	}
	config.Console.OIDC.NameClaim = "sub"
	if names := config.Console.twoNames(); names != nil {
		t.Errorf("%q of names that are no addresses", names)
	}
}
