package app

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"

	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/console/oidc"
	"github.com/heldcall/heldcall/internal/strictyaml"
)

// OIDCConfig is the sign-in of people by an OpenID Connect provider.
type OIDCConfig struct {
	Issuer         string           `yaml:"issuer"` // empty: there is none
	ClientID       string           `yaml:"client_id"`
	ClientSecret   Secret           `yaml:"client_secret"` // empty: a client without one
	Scopes         []string         `yaml:"scopes"`
	NameClaim      string           `yaml:"name_claim"`
	GroupsClaim    string           `yaml:"groups_claim"`
	EmailDomains   []string         `yaml:"email_domains"`
	RequiredGroups []string         `yaml:"required_groups"`
	Role           string           `yaml:"role" oneof:"none viewer reviewer admin"` // of everybody who may sign in
	Memberships    []OIDCMembership `yaml:"memberships"`
}

// OIDCMembership is what a group of the provider gives its members.
type OIDCMembership struct {
	Group   string   `yaml:"group"`
	Role    string   `yaml:"role" oneof:"none viewer reviewer admin"`
	Groups  []string `yaml:"groups"`  // that rules name
	Tenants []string `yaml:"tenants"` // that they see, decide and steer; empty: all
}

// On reports whether people sign in by a provider.
func (c OIDCConfig) On() bool { return c.Issuer != "" }

// emailClaim names reviewers by their addresses.
const emailClaim = "email"

// noRole is how the configuration writes that nothing is given.
const noRole = "none"

func (r *configValidator) validateOIDC(c *ConsoleConfig) {
	o, key := &c.OIDC, "console.oidc"
	if !o.On() {
		if r.Given(key + ".client_id") {
			r.Problem(key+".issuer", "is missing; write the provider's address, such as https://login.example.com")
		}
		return
	}
	if err := oidc.CheckURL(o.Issuer); err != nil {
		r.Problem(key+".issuer", "%s; write the provider's address as its discovery document has it, such as https://login.example.com", err)
	} else {
		r.validateURL(key+".issuer", o.Issuer, "https", "http")
	}
	if o.ClientID == "" {
		r.Problem(key+".client_id", "is missing; the provider gives one to each program that signs people in")
	}
	if err := consoleAddress(c.URL); err != nil {
		r.Problem("console.url", "%s; console.oidc needs the address to which the provider sends browsers back", err)
	}
	r.validateClaims(key, o)
	if o.NameClaim == emailClaim {
		r.validateAddresses(c.Reviewers)
	}
	r.validateOIDCRights(key, c)
}

// validateClaims checks the names of claims and the domains of addresses.
func (r *configValidator) validateClaims(key string, o *OIDCConfig) {
	for _, claim := range []struct{ key, value string }{{"name_claim", o.NameClaim}, {"groups_claim", o.GroupsClaim}} {
		if claim.value == "" {
			r.Problem(key+"."+claim.key, "is empty; name a claim, or leave the key out")
		}
	}
	for i, domain := range o.EmailDomains {
		if domain == "" || strings.ContainsAny(domain, "@* /") {
			r.Problem(strictyaml.Index(key+".email_domains", i), "%q is not a domain; write the part after the @, such as example.com", domain)
		}
	}
}

// validateOIDCRights checks that somebody may decide, and not everybody with an account.
func (r *configValidator) validateOIDCRights(key string, c *ConsoleConfig) {
	o := &c.OIDC
	everybody := reviewers.Role(o.Role).Includes(reviewers.RoleReviewer)
	somebody := everybody
	for i := range o.Memberships {
		m, at := &o.Memberships[i], strictyaml.Index(key+".memberships", i)
		m.Role = cmp.Or(m.Role, noRole)
		somebody = somebody || reviewers.Role(m.Role).Includes(reviewers.RoleReviewer)
		if m.Group == "" {
			r.Problem(at+".group", "is missing; name a group as the claim %s has it", o.GroupsClaim)
		}
		r.validateGroups(at+".groups", m.Groups)
		r.validateTenants(at+".tenants", m.Tenants)
	}
	for _, reviewer := range c.Reviewers {
		somebody = somebody || reviewers.Role(reviewer.Role).Includes(reviewers.RoleReviewer)
	}
	if !somebody {
		r.Problem(key, "no reviewer has the role reviewer or admin; give it to the members of a group (memberships), to people (console.reviewers) or to everybody who may sign in (role)")
	}
	if everybody && len(o.EmailDomains)+len(o.RequiredGroups) == 0 {
		r.Problem(key+".role", "%q would let everybody with an account at the provider decide; name email_domains or required_groups", o.Role)
	}
}

// validateAddresses refuses two reviewers of whom an account's address may be either.
func (r *configValidator) validateAddresses(known []Reviewer) {
	first := map[string]int{}
	for i, reviewer := range known {
		folded := strings.ToLower(reviewer.Name)
		if before, twice := first[folded]; twice && known[before].Name != reviewer.Name {
			r.Problem(strictyaml.Index("console.reviewers", i)+".name", "differs from that of console.reviewers[%d] in letter case only, which addresses of console.oidc have none of; give each their own", before)
		}
		first[folded] = i
	}
}

// twoNames are the reviewers with a token whom nothing ties to an address: one of them
// who signs in by the provider too is another reviewer there.
func (c ConsoleConfig) twoNames() []string {
	var names []string
	for _, reviewer := range c.Reviewers {
		if c.OIDC.On() && c.OIDC.NameClaim == emailClaim && reviewer.TokenSHA256 != "" && reviewer.User == "" && !strings.Contains(reviewer.Name, "@") {
			names = append(names, reviewer.Name)
		}
	}
	return names
}

// consoleAddress returns why the console's URL does not suit a provider, to which it is
// sent unchanged: it must end after the host.
func consoleAddress(address string) error {
	if address == "" {
		return fmt.Errorf("is missing")
	}
	if err := oidc.CheckURL(address); err != nil {
		return err
	}
	if u, err := url.Parse(address); err != nil || strings.Trim(u.Path, "/") != "" {
		return fmt.Errorf("has a path")
	}
	return nil
}

// provider is what people sign in by, or nil.
func (c ConsoleConfig) provider(known *reviewers.Directory) *oidc.Provider {
	if !c.OIDC.On() {
		return nil
	}
	o := oidc.Config{
		Issuer: c.OIDC.Issuer, ClientID: c.OIDC.ClientID, ClientSecret: string(c.OIDC.ClientSecret), ConsoleURL: c.URL,
		Scopes: c.OIDC.Scopes, NameClaim: c.OIDC.NameClaim, GroupsClaim: c.OIDC.GroupsClaim,
		EmailDomains: c.OIDC.EmailDomains, RequiredGroups: c.OIDC.RequiredGroups,
		Role: role(c.OIDC.Role), Configured: known.ByName,
	}
	if o.NameClaim == emailClaim { // other names are one person's letter by letter
		o.Configured = known.ByAddress
	}
	for _, m := range c.OIDC.Memberships {
		o.Memberships = append(o.Memberships, oidc.Membership{Group: m.Group, Role: role(m.Role), Groups: m.Groups, Tenants: m.Tenants})
	}
	return oidc.New(o)
}

// role is a role as the configuration writes it.
func role(text string) reviewers.Role {
	if text == noRole {
		return ""
	}
	return reviewers.Role(text)
}
