// Package reviewers knows who may see requests and decide them: the people and
// bots of the configuration. A token proves who somebody is; heldcall keeps
// only its hash.
package reviewers

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"slices"

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

// Entry is one reviewer of the configuration and the hash of their token.
type Entry struct {
	Reviewer
	TokenSHA256 string // hex
}

// Directory is the reviewers of the configuration. It does not change and is
// safe for concurrent use.
type Directory struct {
	entries []entry
	byName  map[string]Reviewer
}

type entry struct {
	hash     [sha256.Size]byte
	reviewer Reviewer
}

// NewDirectory takes the reviewers of the configuration. It refuses a hash that
// is not one, and two reviewers of one name or with one token.
func NewDirectory(entries []Entry) (*Directory, error) {
	d := &Directory{byName: map[string]Reviewer{}}
	for _, e := range entries {
		hash, err := hex.DecodeString(e.TokenSHA256)
		if err != nil || len(hash) != sha256.Size {
			return nil, fmt.Errorf("reviewer %q: the token's hash is not 64 hex digits", e.Name)
		}
		if _, twice := d.byName[e.Name]; twice || e.Name == "" || e.Name == LocalName {
			return nil, fmt.Errorf("reviewer %q: the name is empty, taken or %q", e.Name, LocalName)
		}
		known := entry{[sha256.Size]byte(hash), e.Reviewer}
		if slices.ContainsFunc(d.entries, func(other entry) bool { return other.hash == known.hash }) {
			return nil, fmt.Errorf("reviewer %q: has the token of another reviewer", e.Name)
		}
		known.reviewer.User = cmp.Or(e.User, e.Name)
		known.reviewer.Groups = slices.Clone(e.Groups)
		d.entries = append(d.entries, known)
		d.byName[e.Name] = known.reviewer
	}
	return d, nil
}

// ByToken is the reviewer whose token this is. It takes as long for a token that
// is wrong as for one that is right.
func (d *Directory) ByToken(token string) (Reviewer, bool) {
	hash := sha256.Sum256([]byte(token))
	found := -1
	for i := range d.entries {
		if subtle.ConstantTimeCompare(hash[:], d.entries[i].hash[:]) == 1 {
			found = i
		}
	}
	if found < 0 {
		return Reviewer{}, false
	}
	return d.entries[found].reviewer, true
}

// ByName is the reviewer of a name.
func (d *Directory) ByName(name string) (Reviewer, bool) {
	r, ok := d.byName[name]
	return r, ok
}

// Standing is what the reviewer of a name has of their own. It is
// [approvals.GateOptions].Standing; a reviewer who decides nothing has none.
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
