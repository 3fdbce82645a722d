package oidc

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/approvals/reviewers"
)

// Claims become a reviewer, or are refused.
func TestClaimsBecomeAReviewer(t *testing.T) {
	ann := func() claims {
		return claims{"sub": "7", "email": "Ann@Corp.example", "email_verified": true, "groups": []any{"engineers", "money"}}
	}
	and := func(name string, value any) claims { c := ann(); c[name] = value; return c }
	without := func(name string) claims { c := ann(); delete(c, name); return c }
	members := []Membership{
		{Group: "engineers", Role: reviewers.RoleReviewer, Groups: []string{"oncall"}},
		{Group: "money", Groups: []string{"finance", "oncall"}},
		{Group: "guests", Role: reviewers.RoleViewer},
		{Group: "root", Role: reviewers.RoleAdmin},
	}
	byEmail := Config{NameClaim: "email", GroupsClaim: "groups", Memberships: members}
	with := func(change func(*Config)) Config { c := byEmail; change(&c); return c }
	bySub := with(func(c *Config) { c.NameClaim = "sub" })
	asAnn := reviewers.Reviewer{Name: "ann@corp.example", User: "ann@corp.example", Role: reviewers.RoleReviewer, Groups: []string{"oncall", "finance"}}
	named := func(name, user string) reviewers.Reviewer { r := asAnn; r.Name, r.User = name, user; return r }
	as := func(role reviewers.Role, groups ...string) reviewers.Reviewer {
		r := asAnn
		r.Role, r.Groups = role, append([]string{}, groups...)
		return r
	}
	limited := func(engineers, money, guests []string) Config {
		c := byEmail
		c.Memberships = slices.Clone(members)
		for i, tenants := range [][]string{engineers, money, guests} {
			c.Memberships[i].Tenants = tenants
		}
		return c
	}
	inTenants := func(tenants ...string) reviewers.Reviewer { r := asAnn; r.Tenants = tenants; return r }
	for name, c := range map[string]struct {
		config  Config
		said    claims
		want    reviewers.Reviewer
		refused string
	}{
		"groups":                              {config: byEmail, said: ann(), want: asAnn},
		"the highest role":                    {config: byEmail, said: and("groups", []any{"root", "guests", "engineers"}), want: as(reviewers.RoleAdmin, "oncall")},
		"one group":                           {config: byEmail, said: and("groups", "guests"), want: as(reviewers.RoleViewer)},
		"groups only":                         {config: byEmail, said: and("groups", []any{"money"}), refused: "has no role in heldcall"},
		"no groups":                           {config: byEmail, said: without("groups"), refused: "has no role in heldcall"},
		"groups of another kind":              {config: byEmail, said: and("groups", []any{1, map[string]any{}}), refused: "has no role in heldcall"},
		"tenants of both groups":              {config: limited([]string{"a"}, []string{"b", "a"}, nil), said: ann(), want: inTenants("a", "b")},
		"tenants of a group without a role":   {config: limited(nil, []string{"b"}, nil), said: ann(), want: inTenants("b")},
		"no tenants of a lower role":          {config: limited([]string{"a"}, nil, []string{"c"}), said: and("groups", []any{"engineers", "money", "guests"}), want: inTenants("a")},
		"tenants of a lower role do not hold": {config: limited(nil, nil, []string{"c"}), said: and("groups", []any{"engineers", "money", "guests"}), want: asAnn},
		"everybody's role":                    {config: with(func(c *Config) { c.Role = reviewers.RoleViewer }), said: without("groups"), want: as(reviewers.RoleViewer)},
		"more than everybody's role":          {config: with(func(c *Config) { c.Role = reviewers.RoleViewer }), said: ann(), want: asAnn},
		"no less than everybody's":            {config: with(func(c *Config) { c.Role = reviewers.RoleReviewer }), said: and("groups", "guests"), want: as(reviewers.RoleReviewer)},
		"a path to the groups":                {config: with(func(c *Config) { c.GroupsClaim = "realm_access.roles" }), said: and("realm_access", map[string]any{"roles": []any{"root"}}), want: as(reviewers.RoleAdmin)},
		"a name with dots":                    {config: with(func(c *Config) { c.GroupsClaim = "https://corp.example/groups" }), said: and("https://corp.example/groups", []any{"root"}), want: as(reviewers.RoleAdmin)},
		"not verified":                        {config: byEmail, said: and("email_verified", false), refused: "verified e-mail"},
		"no claim about it":                   {config: byEmail, said: without("email_verified"), refused: "verified e-mail"},
		"verified in words":                   {config: byEmail, said: and("email_verified", "true"), want: asAnn},
		"not verified in words":               {config: byEmail, said: and("email_verified", "false"), refused: "verified e-mail"},
		"an address beyond ASCII":             {config: byEmail, said: and("email", "\u212aim@corp.example"), refused: "verified e-mail"},
		"no address":                          {config: byEmail, said: without("email"), refused: "verified e-mail"},
		"a subject":                           {config: bySub, said: ann(), want: named("7", "ann@corp.example")},
		"a subject, not verified":             {config: bySub, said: and("email_verified", false), want: named("7", "7")},
		"no name":                             {config: bySub, said: without("sub"), refused: "the claim sub"},
		"a name of heldcall's own":            {config: bySub, said: and("sub", "local"), refused: "the claim sub"},
		"a name that cannot be shown":         {config: bySub, said: and("sub", "a\u202eb"), refused: "the claim sub"},
		"a name that is too long":             {config: bySub, said: and("sub", strings.Repeat("a", reviewers.MaxName+1)), refused: "write 1 to 64 printable characters"},
		"a name that is no text":              {config: bySub, said: and("sub", 7.0), refused: "the claim sub"},
		"a domain":                            {config: with(func(c *Config) { c.EmailDomains = []string{"other.example", "CORP.example"} }), said: ann(), want: asAnn},
		"another domain":                      {config: with(func(c *Config) { c.EmailDomains = []string{"orp.example", "example"} }), said: ann(), refused: "domain"},
		"a domain in the name":                {config: with(func(c *Config) { c.EmailDomains = []string{"corp.example"} }), said: and("email", "ann@corp.example@evil.example"), refused: "domain"},
		"a domain, not verified":              {config: with(func(c *Config) { c.NameClaim, c.EmailDomains = "sub", []string{"corp.example"} }), said: and("email_verified", false), refused: "domain"},
		"a required group":                    {config: with(func(c *Config) { c.RequiredGroups = []string{"x", "money"} }), said: ann(), want: asAnn},
		"no required group":                   {config: with(func(c *Config) { c.RequiredGroups = []string{"x", "mone"} }), said: ann(), refused: "no group"},
		"a configured reviewer": {config: with(func(c *Config) {
			c.Configured = func(name string) (reviewers.Reviewer, bool) {
				return as(reviewers.RoleViewer, "few"), name == "ann@corp.example"
			}
		}), said: ann(), want: as(reviewers.RoleViewer, "few")},
		"a configured reviewer by another claim": {config: with(func(c *Config) {
			c.NameClaim = "sub"
			c.Configured = func(name string) (reviewers.Reviewer, bool) { return named(name, name), true }
		}), said: ann(), want: named("7", "ann@corp.example")},
		"a configured reviewer of another user": {config: with(func(c *Config) {
			c.NameClaim = "sub"
			c.Configured = func(name string) (reviewers.Reviewer, bool) { return named(name, "ann"), true }
		}), said: ann(), want: named("7", "ann")},
		"a configured reviewer of no required group": {config: with(func(c *Config) {
			c.RequiredGroups = []string{"x"}
			c.Configured = func(string) (reviewers.Reviewer, bool) { return asAnn, true }
		}), said: ann(), refused: "no group"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.config.reviewer(c.said)
			refused := (*RefusedError)(nil)
			switch {
			case c.refused == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.refused != "" && (!errors.As(err, &refused) || !strings.Contains(err.Error(), c.refused)):
				t.Errorf("got %+v, %v; want a refusal with %q", got, err, c.refused)
			case c.refused == "":
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// email_verified of one document is not valid for the address of the other.
func TestClaimsOfTwoDocuments(t *testing.T) {
	for name, c := range map[string]struct {
		token, info claims
		want        string
	}{
		"all in the token":            {claims{"email": "a@x", "email_verified": true}, claims{"groups": []any{"g"}}, "a@x"},
		"all in the info":             {claims{"sub": "7"}, claims{"email": "a@x", "email_verified": true}, "a@x"},
		"the info adds the word":      {claims{"email": "a@x"}, claims{"email": "a@x", "email_verified": true}, "a@x"},
		"the word of another address": {claims{"email": "a@x"}, claims{"email": "b@x", "email_verified": true}, ""},
		"the word without an address": {claims{"email": "a@x"}, claims{"email_verified": true}, ""},
		"the word of the token alone": {claims{"email_verified": true}, claims{"email": "b@x"}, ""},
		"the token's no stays":        {claims{"email": "a@x", "email_verified": false}, claims{"email": "a@x", "email_verified": true}, ""},
	} {
		c.token.add(c.info)
		if got := c.token.email(); got != c.want {
			t.Errorf("%s: the address is %q, want %q", name, got, c.want)
		}
	}
}
