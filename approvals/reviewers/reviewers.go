// Package reviewers has the people and bots of the configuration that may see and decide
// requests. They authenticate by a token (heldcall keeps only its hash), or by
// another sign-in.
package reviewers

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"

	"github.com/heldcall/heldcall/approvals"
)

// Role defines the rights of a reviewer.
type Role string

// The roles. Each has the rights of those before it.
const (
	RoleViewer   Role = "viewer"   // sees requests, runs, grants and events
	RoleReviewer Role = "reviewer" // decides requests
	RoleAdmin    Role = "admin"    // controls runs, writes and revokes grants
)

// rank orders the roles. Other values are below all of them.
var rank = map[Role]int{RoleViewer: 1, RoleReviewer: 2, RoleAdmin: 3}

// Includes reports whether the role has the rights of another.
func (r Role) Includes(other Role) bool { return rank[r] >= rank[other] && rank[other] > 0 }

// LocalName is the name of the reviewer if no reviewers are configured. No configured
// reviewer has this name.
const LocalName = "local"

// MaxName is the longest name of a reviewer or group, in bytes: names are in NATS subjects,
// events and lists.
const MaxName = 64

// PlainName reports whether a name can be shown without escapes.
func PlainName(name string) bool {
	return name != "" && len(name) <= MaxName && strings.TrimSpace(name) == name &&
		!strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsPrint(c) })
}

// CheckName returns an error for a name that a reviewer cannot have.
func CheckName(name string) error {
	switch {
	case !PlainName(name):
		return fmt.Errorf("%q is not a name; write 1 to %d printable characters", name, MaxName)
	case strings.EqualFold(name, LocalName) || approvals.Automatic(strings.ToLower(name)):
		return fmt.Errorf("%q is the name of what heldcall does by itself; choose another", name)
	}
	return nil
}

// Reviewer is an authenticated person or bot.
type Reviewer struct {
	Name   string   `json:"name"`
	User   string   `json:"user"` // the same person in principals of agents; Name unless configured otherwise
	Role   Role     `json:"role"`
	Groups []string `json:"groups"`
	// Tenants limits what they see, decide and steer; empty: all.
	Tenants approvals.TenantScope `json:"tenants,omitempty"`
}

// Sign sets the reviewer of a decision.
func (r Reviewer) Sign(d *approvals.Decision) {
	d.ReviewerID, d.ReviewerGroups, d.Tenants = r.Name, r.Groups, r.Tenants
	if r.User != r.Name {
		d.ReviewerUser = r.User
	}
}

// Local returns the reviewer if none are configured: every client on loopback.
func Local() Reviewer {
	return Reviewer{Name: LocalName, Role: RoleAdmin, Groups: []string{approvals.EveryGroup}}
}

// Entry is one reviewer of the configuration, with the hash of their token and their user in
// Slack.
type Entry struct {
	Reviewer
	TokenSHA256 string // hex; "": no token
	Slack       string // user id; "": they do not decide from Slack
}

// tokenPrefix lets people and secret scanners recognise tokens.
const tokenPrefix = "heldcall_"

// NewToken returns a token of 130 random bits, and its hash in hex for the configuration.
func NewToken() (token, hash string) {
	token = tokenPrefix + rand.Text()
	sum := sha256.Sum256([]byte(token))
	return token, hex.EncodeToString(sum[:])
}
