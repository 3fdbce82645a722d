package reviewers

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"

	"github.com/heldcall/heldcall/approvals"
)

// Directory has the reviewers of the configuration. Everybody who needs them has the same directory, and
// [Directory.Replace] changes all of them at once. It is safe for concurrent use.
type Directory struct {
	replacing sync.Mutex
	current   atomic.Pointer[list]
}

// list has the reviewers of one configuration. It does not change.
type list struct {
	all     []*member
	byName  map[string]*member
	bySlack map[string]*member
	tokens  []token
	inForce context.Context // ends when another list with other reviewers is in force
	end     context.CancelFunc
}

// member is a reviewer in a list. A later list with the same reviewer has the same contexts.
type member struct {
	Entry
	rights, access       context.Context // see [Tenure]
	endRights, endAccess context.CancelFunc
}

// token is the hash of the token of a reviewer.
type token struct {
	hash [sha256.Size]byte
	of   *member
}

// Tenure is a reviewer, and for how long that is true.
type Tenure struct {
	Reviewer
	Rights context.Context // ends when the configuration gives them other rights, another token, or none
	Access context.Context // ends when their token changes, or they are removed
}

func (m *member) tenure() Tenure { return Tenure{m.Reviewer, m.rights, m.access} }

// NewDirectory returns a directory of reviewers. It refuses a wrong hash, and two reviewers
// with one name, token or Slack user.
func NewDirectory(entries []Entry) (*Directory, error) {
	l := newList()
	for _, e := range entries {
		if _, twice := l.byName[e.Name]; twice || e.Name == "" || e.Name == LocalName {
			return nil, fmt.Errorf("reviewer %q: the name is empty, taken or %q", e.Name, LocalName)
		}
		e.User, e.Groups, e.Tenants = cmp.Or(e.User, e.Name), slices.Clone(e.Groups), slices.Clone(e.Tenants)
		if err := l.add(e); err != nil {
			return nil, fmt.Errorf("reviewer %q: %w", e.Name, err)
		}
	}
	return newDirectory(l), nil
}

// LocalDirectory returns a directory of [Local] only, with the hash of their token.
func LocalDirectory(tokenSHA256 string) (*Directory, error) {
	l := newList()
	if err := l.add(Entry{Reviewer: Local(), TokenSHA256: tokenSHA256}); err != nil {
		return nil, fmt.Errorf("reviewer %q: %w", LocalName, err)
	}
	return newDirectory(l), nil
}

func newDirectory(l *list) *Directory {
	d := &Directory{}
	d.current.Store(l)
	return d
}

func newList() *list {
	l := &list{byName: map[string]*member{}, bySlack: map[string]*member{}}
	l.inForce, l.end = context.WithCancel(context.Background())
	return l
}

// add adds a reviewer with their token and their user of Slack.
func (l *list) add(e Entry) error {
	m := &member{Entry: e}
	if e.TokenSHA256 != "" {
		hash, err := hex.DecodeString(e.TokenSHA256)
		if err != nil || len(hash) != sha256.Size {
			return errors.New("the token's hash is not 64 hex digits")
		}
		known := token{[sha256.Size]byte(hash), m}
		if slices.ContainsFunc(l.tokens, func(other token) bool { return other.hash == known.hash }) {
			return errors.New("has the token of another reviewer")
		}
		l.tokens = append(l.tokens, known)
	}
	if _, twice := l.bySlack[e.Slack]; twice && e.Slack != "" {
		return errors.New("has the Slack user of another reviewer")
	}
	m.rights, m.endRights = context.WithCancel(context.Background())
	m.access, m.endAccess = context.WithCancel(context.Background())
	l.all = append(l.all, m)
	l.byName[e.Name] = m
	if e.Slack != "" {
		l.bySlack[e.Slack] = m
	}
	return nil
}

// Replace puts the reviewers of another directory, which is not used after that, in force, and ends the tenures that
// they change. It returns the names of the reviewers who were removed or changed.
func (d *Directory) Replace(other *Directory) (changed []string) {
	d.replacing.Lock()
	defer d.replacing.Unlock()
	before, after := d.current.Load(), other.current.Load()
	for _, m := range after.all {
		m.keepTenure(before.byName[m.Name])
	}
	d.current.Store(after)
	for _, m := range before.all {
		now := after.byName[m.Name]
		if now == nil || now.access != m.access {
			m.endAccess()
		}
		if now == nil || now.rights != m.rights {
			m.endRights()
			changed = append(changed, m.Name)
		}
	}
	before.end()
	return changed
}

// keepTenure keeps the contexts of the same reviewer in an earlier list, nil if there is none, as far as nothing changes.
func (m *member) keepTenure(before *member) {
	if before == nil || before.TokenSHA256 != m.TokenSHA256 {
		return
	}
	m.endAccess()
	m.access, m.endAccess = before.access, before.endAccess
	same := before.User == m.User && before.Role == m.Role && before.Slack == m.Slack
	if same && slices.Equal(before.Groups, m.Groups) && slices.Equal(before.Tenants, m.Tenants) {
		m.endRights()
		m.rights, m.endRights = before.rights, before.endRights
	}
}

// InForce returns a context that ends when the reviewers of now are replaced.
func (d *Directory) InForce() context.Context { return d.current.Load().inForce }

// OnlyLocal reports whether the directory is that of [LocalDirectory]: its token is that of one run.
func (d *Directory) OnlyLocal() bool {
	_, local := d.ByName(LocalName)
	return local
}

// All returns the reviewers in the order of the configuration.
func (d *Directory) All() []Reviewer {
	var all []Reviewer
	for _, m := range d.current.Load().all {
		all = append(all, m.Reviewer)
	}
	return all
}

// ByToken returns the reviewer of a token. It takes as long for a wrong token as for a right
// one.
func (d *Directory) ByToken(token string) (Tenure, bool) {
	hash := sha256.Sum256([]byte(token))
	var found *member
	for _, t := range d.current.Load().tokens {
		if subtle.ConstantTimeCompare(hash[:], t.hash[:]) == 1 {
			found = t.of
		}
	}
	if found == nil {
		return Tenure{}, false
	}
	return found.tenure(), true
}

// ByName returns the reviewer with a name.
func (d *Directory) ByName(name string) (Reviewer, bool) {
	t, known := d.TenureOf(name)
	return t.Reviewer, known
}

// TenureOf returns the reviewer with a name, and for how long they are that.
func (d *Directory) TenureOf(name string) (Tenure, bool) {
	m := d.current.Load().byName[name]
	if m == nil {
		return Tenure{}, false
	}
	return m.tenure(), true
}

// ByAddress returns the reviewer whose name is an e-mail address. It ignores case if both
// are ASCII: beyond ASCII, different letters fold to the same.
func (d *Directory) ByAddress(name string) (Reviewer, bool) {
	l := d.current.Load()
	if m := l.byName[name]; m != nil {
		return m.Reviewer, true
	}
	for _, m := range l.all {
		if ascii(m.Name) && ascii(name) && strings.EqualFold(m.Name, name) {
			return m.Reviewer, true
		}
	}
	return Reviewer{}, false
}

func ascii(text string) bool {
	return !strings.ContainsFunc(text, func(c rune) bool { return c > unicode.MaxASCII })
}

// HasTokens reports whether any reviewer has a token.
func (d *Directory) HasTokens() bool { return len(d.current.Load().tokens) > 0 }

// HoldsToken reports whether a reviewer has a token.
func (d *Directory) HoldsToken(name string) bool {
	m := d.current.Load().byName[name]
	return m != nil && m.TokenSHA256 != ""
}

// BySlack returns the reviewer with a Slack user id.
func (d *Directory) BySlack(userID string) (Reviewer, bool) {
	m := d.current.Load().bySlack[userID]
	if m == nil {
		return Reviewer{}, false
	}
	return m.Reviewer, true
}

// Profile returns the groups, the tenants and the user of a reviewer, for [gate.Options]. A reviewer who
// may not decide has none.
func (d *Directory) Profile(name string) (approvals.ReviewerProfile, bool) {
	r, known := d.ByName(name)
	if !known || !r.Role.Includes(RoleReviewer) {
		return approvals.ReviewerProfile{}, false
	}
	return approvals.ReviewerProfile{User: r.User, Groups: r.Groups, Tenants: r.Tenants}, true
}
