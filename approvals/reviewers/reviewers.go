// Package reviewers has the people and bots of the configuration that may see and decide
// requests. They authenticate by a token (heldcall keeps only its hash), or by
// another sign-in.
package reviewers

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
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

// Directory has the reviewers of the configuration. It does not change and is safe for
// concurrent use.
type Directory struct {
	all     []Reviewer
	byName  map[string]Reviewer
	bySlack map[string]Reviewer
	tokens  []token
}

// token is the hash of the token of a reviewer.
type token struct {
	hash     [sha256.Size]byte
	reviewer Reviewer
}

// NewDirectory returns a directory of reviewers. It refuses a wrong hash, and two reviewers
// with one name, token or Slack user.
func NewDirectory(entries []Entry) (*Directory, error) {
	d := &Directory{byName: map[string]Reviewer{}, bySlack: map[string]Reviewer{}}
	for _, e := range entries {
		if _, twice := d.byName[e.Name]; twice || e.Name == "" || e.Name == LocalName {
			return nil, fmt.Errorf("reviewer %q: the name is empty, taken or %q", e.Name, LocalName)
		}
		who := e.Reviewer
		who.User, who.Groups, who.Tenants = cmp.Or(e.User, e.Name), slices.Clone(e.Groups), slices.Clone(e.Tenants)
		if err := d.addToken(e.TokenSHA256, who); err != nil {
			return nil, fmt.Errorf("reviewer %q: %w", e.Name, err)
		}
		d.all = append(d.all, who)
		d.byName[e.Name] = who
		if e.Slack == "" {
			continue
		}
		if _, twice := d.bySlack[e.Slack]; twice {
			return nil, fmt.Errorf("reviewer %q: has the Slack user of another reviewer", e.Name)
		}
		d.bySlack[e.Slack] = who
	}
	return d, nil
}

// LocalDirectory returns a directory of [Local] only, with the hash of their token.
func LocalDirectory(tokenSHA256 string) (*Directory, error) {
	who := Local()
	d := &Directory{all: []Reviewer{who}, byName: map[string]Reviewer{LocalName: who}}
	if err := d.addToken(tokenSHA256, who); err != nil {
		return nil, fmt.Errorf("reviewer %q: %w", LocalName, err)
	}
	return d, nil
}

// OnlyLocal reports whether the directory is that of [LocalDirectory]: its token is that of one run.
func (d *Directory) OnlyLocal() bool {
	_, local := d.byName[LocalName]
	return local
}

// addToken adds the hash of the token of a reviewer.
func (d *Directory) addToken(digest string, who Reviewer) error {
	if digest == "" {
		return nil
	}
	hash, err := hex.DecodeString(digest)
	if err != nil || len(hash) != sha256.Size {
		return errors.New("the token's hash is not 64 hex digits")
	}
	known := token{[sha256.Size]byte(hash), who}
	if slices.ContainsFunc(d.tokens, func(other token) bool { return other.hash == known.hash }) {
		return errors.New("has the token of another reviewer")
	}
	d.tokens = append(d.tokens, known)
	return nil
}

// All returns the reviewers in the order of the configuration.
func (d *Directory) All() []Reviewer { return slices.Clone(d.all) }

// ByToken returns the reviewer of a token. It takes as long for a wrong token as for a right
// one.
func (d *Directory) ByToken(token string) (Reviewer, bool) {
	hash := sha256.Sum256([]byte(token))
	found := -1
	for i := range d.tokens {
		if subtle.ConstantTimeCompare(hash[:], d.tokens[i].hash[:]) == 1 {
			found = i
		}
	}
	if found < 0 {
		return Reviewer{}, false
	}
	return d.tokens[found].reviewer, true
}

// ByName returns the reviewer with a name.
func (d *Directory) ByName(name string) (Reviewer, bool) {
	r, ok := d.byName[name]
	return r, ok
}

// ByAddress returns the reviewer whose name is an e-mail address. It ignores case if both
// are ASCII: beyond ASCII, different letters fold to the same.
func (d *Directory) ByAddress(name string) (Reviewer, bool) {
	if r, ok := d.byName[name]; ok {
		return r, true
	}
	for _, r := range d.all {
		if ascii(r.Name) && ascii(name) && strings.EqualFold(r.Name, name) {
			return r, true
		}
	}
	return Reviewer{}, false
}

func ascii(text string) bool {
	return !strings.ContainsFunc(text, func(c rune) bool { return c > unicode.MaxASCII })
}

// HasTokens reports whether any reviewer has a token.
func (d *Directory) HasTokens() bool { return len(d.tokens) > 0 }

// HoldsToken reports whether a reviewer has a token.
func (d *Directory) HoldsToken(name string) bool {
	return slices.ContainsFunc(d.tokens, func(t token) bool { return t.reviewer.Name == name })
}

// BySlack returns the reviewer with a Slack user id.
func (d *Directory) BySlack(userID string) (Reviewer, bool) {
	r, ok := d.bySlack[userID]
	return r, ok
}

// Profile returns the groups, the tenants and the user of a reviewer, for [gate.Options]. A reviewer who
// may not decide has none.
func (d *Directory) Profile(name string) (approvals.ReviewerProfile, bool) {
	r, known := d.byName[name]
	if !known || !r.Role.Includes(RoleReviewer) {
		return approvals.ReviewerProfile{}, false
	}
	return approvals.ReviewerProfile{User: r.User, Groups: r.Groups, Tenants: r.Tenants}, true
}

// tokenPrefix lets people and secret scanners recognise tokens.
const tokenPrefix = "heldcall_"

// NewToken returns a token of 130 random bits, and its hash in hex for the configuration.
func NewToken() (token, hash string) {
	token = tokenPrefix + rand.Text()
	sum := sha256.Sum256([]byte(token))
	return token, hex.EncodeToString(sum[:])
}
