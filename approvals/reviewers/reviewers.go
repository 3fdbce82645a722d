// Package reviewers knows who may see requests and decide them: the people and
// bots of the configuration. A token proves who somebody is, of which heldcall
// keeps the hash only, or a sign-in elsewhere.
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

// Role is what a reviewer may do.
type Role string

// The roles; each may do what those before it may.
const (
	RoleViewer   Role = "viewer"   // sees requests, runs, grants and events
	RoleReviewer Role = "reviewer" // decides requests
	RoleAdmin    Role = "admin"    // steers runs, writes and revokes grants
)

// rank orders the roles; what is no role is below all of them.
var rank = map[Role]int{RoleViewer: 1, RoleReviewer: 2, RoleAdmin: 3}

// Includes reports whether who has this role may do what the other may.
func (r Role) Includes(other Role) bool { return rank[r] >= rank[other] && rank[other] > 0 }

// LocalName is who decides while no reviewers are configured. No configured
// reviewer has this name.
const LocalName = "local"

// MaxName bounds the names of reviewers and groups: they stand in NATS subjects,
// events and lists.
const MaxName = 64

// PlainName reports whether a name can be shown as it is.
func PlainName(name string) bool {
	return name != "" && len(name) <= MaxName && strings.TrimSpace(name) == name &&
		!strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsPrint(c) })
}

// CheckName says why a name is none that a reviewer can have.
func CheckName(name string) error {
	switch {
	case !PlainName(name):
		return fmt.Errorf("%q is not a name; write 1 to %d printable characters", name, MaxName)
	case strings.EqualFold(name, LocalName) || strings.EqualFold(name, approvals.ReviewerTimeout):
		return fmt.Errorf("%q is the name of what heldcall does by itself; choose another", name)
	}
	return nil
}

// Reviewer is a person or bot whose identity is proven.
type Reviewer struct {
	Name   string   `json:"name"`
	User   string   `json:"user"` // as agents' principals name the same person; Name unless configured otherwise
	Role   Role     `json:"role"`
	Groups []string `json:"groups"`
}

// Sign writes into a decision whose it is.
func (r Reviewer) Sign(d *approvals.Decision) {
	d.ReviewerID, d.ReviewerGroups = r.Name, r.Groups
	if r.User != r.Name {
		d.ReviewerUser = r.User
	}
}

// Local is the reviewer of a heldcall without configured reviewers: whoever
// reaches it on loopback.
func Local() Reviewer {
	return Reviewer{Name: LocalName, Role: RoleAdmin, Groups: []string{approvals.EveryGroup}}
}

// Entry is one reviewer of the configuration, the hash of their token, and who they
// are elsewhere.
type Entry struct {
	Reviewer
	TokenSHA256 string // hex; "" for who has no token and proves their identity otherwise
	Slack       string // their user id there; "": they do not decide from Slack
}

// Directory is the reviewers of the configuration. It does not change and is
// safe for concurrent use.
type Directory struct {
	all     []Reviewer
	byName  map[string]Reviewer
	bySlack map[string]Reviewer
	tokens  []token
}

// token is whose token has a hash.
type token struct {
	hash     [sha256.Size]byte
	reviewer Reviewer
}

// NewDirectory takes the reviewers of the configuration. It refuses a hash that
// is not one, and two reviewers of one name, one token or one Slack user.
func NewDirectory(entries []Entry) (*Directory, error) {
	d := &Directory{byName: map[string]Reviewer{}, bySlack: map[string]Reviewer{}}
	for _, e := range entries {
		if _, twice := d.byName[e.Name]; twice || e.Name == "" || e.Name == LocalName {
			return nil, fmt.Errorf("reviewer %q: the name is empty, taken or %q", e.Name, LocalName)
		}
		who := e.Reviewer
		who.User, who.Groups = cmp.Or(e.User, e.Name), slices.Clone(e.Groups)
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

// LocalDirectory has [Local] alone, who proves who they are by the token with a hash.
func LocalDirectory(tokenSHA256 string) (*Directory, error) {
	who := Local()
	d := &Directory{all: []Reviewer{who}, byName: map[string]Reviewer{LocalName: who}}
	if err := d.addToken(tokenSHA256, who); err != nil {
		return nil, fmt.Errorf("reviewer %q: %w", LocalName, err)
	}
	return d, nil
}

// addToken makes the token with a hash that of a reviewer.
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

// All are the reviewers, in the order of the configuration.
func (d *Directory) All() []Reviewer { return slices.Clone(d.all) }

// ByToken is the reviewer whose token this is. It takes as long for a token that
// is wrong as for one that is right.
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

// ByName is the reviewer of a name.
func (d *Directory) ByName(name string) (Reviewer, bool) {
	r, ok := d.byName[name]
	return r, ok
}

// ByAddress is the reviewer whose name is an e-mail address. Letter case is no
// difference between addresses, as far as ASCII goes: beyond it, letters of other
// addresses fold to the same.
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

// HasTokens reports whether anybody proves who they are by a token.
func (d *Directory) HasTokens() bool { return len(d.tokens) > 0 }

// HoldsToken reports whether a reviewer proves who they are by a token.
func (d *Directory) HoldsToken(name string) bool {
	return slices.ContainsFunc(d.tokens, func(t token) bool { return t.reviewer.Name == name })
}

// BySlack is the reviewer who is a Slack user.
func (d *Directory) BySlack(userID string) (Reviewer, bool) {
	r, ok := d.bySlack[userID]
	return r, ok
}

// Standing is what the reviewer of a name has of their own. It is
// [gate.Options].Standing; a reviewer who decides nothing has none.
func (d *Directory) Standing(name string) (approvals.Standing, bool) {
	r, known := d.byName[name]
	if !known || !r.Role.Includes(RoleReviewer) {
		return approvals.Standing{}, false
	}
	return approvals.Standing{User: r.User, Groups: r.Groups}, true
}

// tokenPrefix lets people and secret scanners tell what a token is for.
const tokenPrefix = "heldcall_"

// NewToken makes a token of 130 random bits, and the hash that the configuration
// has in its place, in hex.
func NewToken() (token, hash string) {
	token = tokenPrefix + rand.Text()
	sum := sha256.Sum256([]byte(token))
	return token, hex.EncodeToString(sum[:])
}
