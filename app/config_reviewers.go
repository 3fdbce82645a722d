package app

import (
	"cmp"
	"encoding/hex"
	"net/mail"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/internal/strictyaml"
	"github.com/heldcall/heldcall/notify/nats"
)

func (r *configValidator) validateConsole(c *ConsoleConfig) {
	if c.URL != "" {
		r.validateURL("console.url", c.URL, "http", "https")
	}
	if c.Session < time.Minute {
		r.Problem("console.session", "%s is less than a minute; write for example 12h", c.Session)
	}
	r.validateContact(c.Push.Contact)
	names, hashes, users := map[string]int{}, map[string]int{}, map[string]int{}
	decides := false
	for i := range c.Reviewers {
		reviewer, key := &c.Reviewers[i], strictyaml.Index("console.reviewers", i)
		reviewer.Role = cmp.Or(reviewer.Role, string(reviewers.RoleReviewer))
		decides = decides || reviewers.Role(reviewer.Role).Includes(reviewers.RoleReviewer)
		r.validateReviewer(key, reviewer, c.OIDC.On())
		if first, twice := names[reviewer.Name]; twice {
			r.Problem(key+".name", "is also the name of console.reviewers[%d]; give each their own", first)
		}
		if first, twice := hashes[reviewer.TokenSHA256]; twice && reviewer.TokenSHA256 != "" {
			r.Problem(key+".token_sha256", "is also that of console.reviewers[%d]; make one for each with heldcall token create", first)
		}
		if first, twice := users[reviewer.Slack]; twice && reviewer.Slack != "" {
			r.Problem(key+".slack", "is also that of console.reviewers[%d]; a Slack user is one reviewer", first)
		}
		users[reviewer.Slack] = i
		names[reviewer.Name], hashes[reviewer.TokenSHA256] = i, i
	}
	if len(c.Reviewers) > 0 && !decides && !c.OIDC.On() {
		r.Problem("console.reviewers", "no reviewer has the role reviewer or admin")
	}
	r.validateOIDC(c)
}

// validateContact checks the address of the operator for push services.
func (r *configValidator) validateContact(contact string) {
	if contact == "" {
		return
	}
	if strings.HasPrefix(contact, "https:") {
		r.validateURL("console.push.contact", contact, "https")
		return
	}
	address := strings.TrimPrefix(contact, "mailto:")
	if parsed, err := mail.ParseAddress(address); err != nil || parsed.Address != address {
		r.Problem("console.push.contact", "%q is neither an e-mail address nor an https URL", contact)
	}
}

// CheckReviewer returns the mistakes in one reviewer, as [strictyaml.Errors].
func CheckReviewer(reviewer Reviewer) error {
	r := configValidator{&strictyaml.Reader{}}
	r.validateReviewer("reviewer", &reviewer, false)
	if len(r.Errors) > 0 {
		return r.Errors
	}
	return nil
}

// validateReviewer checks one reviewer, who needs no token where there is another
// way to sign in.
func (r *configValidator) validateReviewer(key string, reviewer *Reviewer, tokenless bool) {
	if err := reviewers.CheckName(reviewer.Name); err != nil {
		r.Problem(key+".name", "%s", err)
	}
	digest, err := hex.DecodeString(reviewer.TokenSHA256)
	digestFits := len(digest) == 32 || (tokenless && len(digest) == 0)
	if err != nil || !digestFits || strings.ToLower(reviewer.TokenSHA256) != reviewer.TokenSHA256 {
		r.Problem(key+".token_sha256", "is not 64 lower-case hex digits; make a token and its hash with: heldcall token create")
	}
	if reviewer.Slack != "" && !slackUser.MatchString(reviewer.Slack) {
		r.Problem(key+".slack", "%q is not the id of a Slack user, such as U0123ABCD: in Slack it is in the person's profile, under \"Copy member ID\"", reviewer.Slack)
	}
	r.validateGroups(key+".groups", reviewer.Groups)
	r.validateTenants(key+".tenants", reviewer.Tenants)
}

// validateTenants checks tenants as clients of the proxy have them. No pattern is one: it would match nothing.
func (r *configValidator) validateTenants(key string, tenants []string) {
	for i, tenant := range tenants {
		if tenant == "" || strings.TrimSpace(tenant) != tenant || strings.ContainsFunc(tenant, func(c rune) bool { return !unicode.IsPrint(c) }) || strings.Contains(tenant, "*") {
			r.Problem(strictyaml.Index(key, i), "%q is not a tenant; write the name as proxy.clients has it, and leave tenants out for all", tenant)
		}
	}
}

func (r *configValidator) validateGroups(key string, groups []string) {
	for i, group := range groups {
		if !reviewers.PlainName(group) {
			r.Problem(strictyaml.Index(key, i), "%q is not a group; write 1 to %d printable characters", group, reviewers.MaxName)
		}
	}
}

// limitsTenants reports whether anybody sees some tenants only.
func (c ConsoleConfig) limitsTenants() bool {
	return slices.ContainsFunc(c.Reviewers, func(r Reviewer) bool { return len(r.Tenants) > 0 }) ||
		slices.ContainsFunc(c.OIDC.Memberships, func(m OIDCMembership) bool { return len(m.Tenants) > 0 })
}

// slackUser is how Slack names users.
var slackUser = regexp.MustCompile(`^[UW][A-Z0-9]{2,}$`)

// asks reports whether reviewers must authenticate.
func (c ConsoleConfig) asks() bool { return len(c.Reviewers) > 0 || c.OIDC.On() }

// AskLocal makes the reviewer "local" prove who they are, where no reviewers are
// configured: by the token that it returns, which is "" where there are reviewers.
// Console and embedded NATS server then refuse everybody else.
func (c *Config) AskLocal() (token string) {
	if c.Console.asks() {
		return ""
	}
	token, c.Console.LocalSHA256 = reviewers.NewToken()
	c.Console.SelfApproval = true
	return token
}

// TokenHashes returns the SHA-256 of each reviewer's token, in hex.
func (c ConsoleConfig) TokenHashes() (all []string) {
	for _, r := range append(slices.Clip(c.Reviewers), Reviewer{TokenSHA256: c.LocalSHA256}) {
		if r.TokenSHA256 != "" {
			all = append(all, r.TokenSHA256)
		}
	}
	return all
}

// directory returns the configured reviewers, or nil if reviewers need not authenticate.
func (c ConsoleConfig) directory() (*reviewers.Directory, error) {
	if !c.asks() {
		if c.LocalSHA256 != "" {
			return reviewers.LocalDirectory(c.LocalSHA256)
		}
		return nil, nil
	}
	entries := make([]reviewers.Entry, len(c.Reviewers))
	for i, r := range c.Reviewers {
		entries[i] = reviewers.Entry{
			Reviewer:    reviewers.Reviewer{Name: r.Name, User: r.User, Role: reviewers.Role(r.Role), Groups: r.Groups, Tenants: r.Tenants},
			TokenSHA256: r.TokenSHA256,
			Slack:       r.Slack,
		}
	}
	return reviewers.NewDirectory(entries)
}

// NATSAccounts are the rights that an external NATS server gives the reviewers,
// or "local" where there are none.
func (c ConsoleConfig) NATSAccounts() (nats.Accounts, error) {
	directory, err := c.directory()
	if err != nil {
		return nats.Accounts{}, err
	}
	all := []reviewers.Reviewer{reviewers.Local()}
	if directory != nil {
		all = directory.All()
	}
	return nats.AccountsOf(all), nil
}
