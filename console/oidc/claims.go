package oidc

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
)

const (
	claimEmail    = "email"
	claimVerified = "email_verified"
)

type claims map[string]any

// claims returns those of the ID token and, where needed ones are missing, those of the
// user-info endpoint. The context has the client.
func (c *Config) claims(ctx context.Context, d *discovered, token *oauth2.Token, identity *oidc.IDToken) (claims, error) {
	said := claims{}
	if err := identity.Claims(&said); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRejected, err)
	}
	if !d.userInfo || !slices.ContainsFunc(c.needed(), func(name string) bool { return said.at(name) == nil }) {
		return said, nil
	}
	info, err := d.provider.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if unanswered(err) {
		return nil, fmt.Errorf("%w: read the user's claims: %w", ErrUnavailable, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: read the user's claims: %w", ErrRejected, err)
	}
	if info.Subject != identity.Subject {
		return nil, fmt.Errorf("%w: the user's claims are of another person (sub)", ErrRejected)
	}
	more := claims{}
	if err := info.Claims(&more); err != nil {
		return nil, fmt.Errorf("%w: read the user's claims: %w", ErrRejected, err)
	}
	said.add(more)
	return said, nil
}

// add adds the claims that are missing. email_verified is valid only for the address
// of the same document.
func (c claims) add(more claims) {
	if c[claimEmail] == nil {
		delete(c, claimVerified)
	} else if c[claimEmail] != more[claimEmail] {
		delete(more, claimVerified)
	}
	for name, value := range more {
		if _, known := c[name]; !known {
			c[name] = value
		}
	}
}

func (c *Config) needed() []string {
	names := []string{c.NameClaim}
	if c.NameClaim == claimEmail || len(c.EmailDomains) > 0 {
		names = append(names, claimEmail, claimVerified)
	}
	if len(c.RequiredGroups) > 0 || len(c.Memberships) > 0 {
		names = append(names, c.GroupsClaim)
	}
	return names
}

// at is a claim by its name or, where there is none, by the path to it:
// realm_access.roles.
func (c claims) at(name string) any {
	if value, ok := c[name]; ok {
		return value
	}
	first, rest, deeper := strings.Cut(name, ".")
	if inner, ok := c[first].(map[string]any); ok && deeper {
		return claims(inner).at(rest)
	}
	return nil
}

func (c claims) text(name string) string {
	text, _ := c.at(name).(string)
	return text
}

// list is a claim that is a list of texts, or one.
func (c claims) list(name string) []string {
	switch value := c.at(name).(type) {
	case string:
		return []string{value}
	case []any:
		var list []string
		for _, item := range value {
			if text, ok := item.(string); ok {
				list = append(list, text)
			}
		}
		return list
	}
	return nil
}

// email is the address of the person, if the provider has verified that it is
// theirs. Some providers write the truth as a text. One beyond ASCII is none:
// letters of different addresses would become the same small ones.
func (c claims) email() string {
	address := c.text(claimEmail)
	if verified := c[claimVerified]; verified != true && verified != "true" {
		return ""
	}
	if strings.ContainsFunc(address, func(r rune) bool { return r > unicode.MaxASCII }) {
		return ""
	}
	return strings.ToLower(address)
}

// reviewer returns the reviewer that the claims name, with the rights of the
// configuration. It fails with [*RefusedError].
func (c *Config) reviewer(said claims) (reviewers.Reviewer, error) {
	name, err := c.name(said)
	if err != nil {
		return reviewers.Reviewer{}, err
	}
	groups := said.list(c.GroupsClaim)
	if err := c.mayEnter(name, said.email(), groups); err != nil {
		return reviewers.Reviewer{}, err
	}
	if c.Configured != nil {
		if known, ok := c.Configured(name); ok {
			if known.User == known.Name && said.email() != "" { // the configuration names no other
				known.User = said.email()
			}
			return known, nil
		}
	}
	who := reviewers.Reviewer{Name: name, User: said.email(), Role: c.Role, Groups: []string{}}
	if who.User == "" {
		who.User = name
	}
	for _, m := range c.Memberships {
		if !slices.Contains(groups, m.Group) {
			continue
		}
		if m.Role.Includes(who.Role) || who.Role == "" {
			who.Role = m.Role
		}
		for _, group := range m.Groups {
			if !slices.Contains(who.Groups, group) {
				who.Groups = append(who.Groups, group)
			}
		}
	}
	who.Tenants = c.tenants(who.Role, groups)
	if who.Role == "" {
		return reviewers.Reviewer{}, &RefusedError{name, fmt.Sprintf("%s has no role in heldcall; ask your administrator for one (console.oidc.memberships)", name)}
	}
	return who, nil
}

// tenants returns the tenants of a member of groups who has a role. Memberships of a lower role add none, since the
// higher role would hold there. Of the others, those without tenants do not lift the limit of those with some.
func (c *Config) tenants(role reviewers.Role, groups []string) approvals.TenantScope {
	var all approvals.TenantScope
	for _, m := range c.Memberships {
		if !slices.Contains(groups, m.Group) || (m.Role != role && m.Role != "") {
			continue
		}
		for _, tenant := range m.Tenants {
			if !slices.Contains(all, tenant) {
				all = append(all, tenant)
			}
		}
	}
	return all
}

func (c *Config) name(said claims) (string, error) {
	name := said.text(c.NameClaim)
	if c.NameClaim == claimEmail {
		if name = said.email(); name == "" {
			return "", &RefusedError{"", "the provider has no verified e-mail address of this account"}
		}
	}
	if err := reviewers.CheckName(name); err != nil {
		return "", &RefusedError{"", fmt.Sprintf("the claim %s, which names reviewers, %s", c.NameClaim, err)}
	}
	return name, nil
}

func (c *Config) mayEnter(name, email string, groups []string) error {
	domain := email[strings.LastIndexByte(email, '@')+1:]
	if len(c.EmailDomains) > 0 && !slices.ContainsFunc(c.EmailDomains, func(allowed string) bool { return strings.EqualFold(allowed, domain) }) {
		return &RefusedError{name, fmt.Sprintf("%s has no verified e-mail address of a domain that may sign in here", name)}
	}
	if len(c.RequiredGroups) > 0 && !slices.ContainsFunc(c.RequiredGroups, func(group string) bool { return slices.Contains(groups, group) }) {
		return &RefusedError{name, fmt.Sprintf("%s is in no group that may sign in here", name)}
	}
	return nil
}
