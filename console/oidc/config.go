package oidc

import (
	"fmt"
	"net"
	"net/url"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
)

// CallbackPath is the path to which the provider sends browsers back, below the console's
// URL.
const CallbackPath = "/auth/oidc/callback"

// Config defines how people sign in, and what the claims of the provider give them.
type Config struct {
	Issuer       string // https, or http on loopback
	ClientID     string
	ClientSecret string // "" for a client without one
	ConsoleURL   string // of the console, as browsers reach it
	Scopes       []string

	NameClaim      string   // names the reviewer; "email" is taken only if it is verified
	GroupsClaim    string   // a list, or one group
	EmailDomains   []string // of one of which the verified address must be; empty: any
	RequiredGroups []string // of one of which the person must be a member; empty: none
	Role           reviewers.Role
	Memberships    []Membership

	// Configured finds a reviewer of the configuration by name; it replaces what the
	// claims would give them. nil: there are none.
	Configured func(name string) (reviewers.Reviewer, bool)
}

// Membership defines what a group of the provider gives its members.
type Membership struct {
	Group  string
	Role   reviewers.Role // "" gives none
	Groups []string       // that rules name
	// Tenants limits what its members see and decide; empty: not.
	Tenants approvals.TenantScope
}

// CheckURL checks an address of a provider, which receives secrets: it must be https,
// or http on loopback.
func CheckURL(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return fmt.Errorf("is not a URL with a host")
	}
	ip := net.ParseIP(u.Hostname())
	loopback := u.Hostname() == "localhost" || (ip != nil && ip.IsLoopback())
	if u.Scheme != "https" && !(u.Scheme == "http" && loopback) {
		return fmt.Errorf("is not https")
	}
	return nil
}
