// Package sessions keeps the sign-ins of reviewers in browsers, for the console and for the
// description of its routes, and bounds the attempts to sign in. It knows no HTTP but the name of a header.
package sessions

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"sync"
	"time"

	"github.com/heldcall/heldcall/approvals/reviewers"
)

const (
	defaultTTL = 12 * time.Hour
	// maxOfOne is how many sessions one reviewer has at a time; the oldest ends
	// when there is one more.
	maxOfOne = 20
)

// KeyHeader is the header with the key of a session. Cookies know no ports: a
// browser sends the cookie to every port of this host. The key is kept by the page's
// origin, which includes the port, and sent to that alone; so a cookie without it is
// not valid.
const KeyHeader = "X-Heldcall-Session-Key"

// Secrets are what a browser has of a session; it needs both.
type Secrets struct{ Cookie, Key string }

// Session is one sign-in of a reviewer in a browser.
type Session struct {
	Reviewer reviewers.Reviewer
	Expires  time.Time         // UTC
	id       [sha256.Size]byte // hash of the cookie
	key      [sha256.Size]byte // hash of the key
	live     context.Context   // ends with the session
	end      context.CancelFunc
}

// OnEnd calls f when the session ends, unless stop is called before.
func (s *Session) OnEnd(f func()) (stop func() bool) { return context.AfterFunc(s.live, f) }

func (s *Session) over() bool { return s.live.Err() != nil || !time.Now().Before(s.Expires) }

// Store contains the sessions that have not ended, by the hashes of their secrets.
// They are in memory: a restart ends them. A Store is safe for concurrent use.
type Store struct {
	ttl time.Duration

	mu   sync.Mutex
	byID map[[sha256.Size]byte]*Session
}

// NewStore makes a store whose sessions last for ttl; 0 is 12 h.
func NewStore(ttl time.Duration) *Store {
	if ttl == 0 {
		ttl = defaultTTL
	}
	return &Store{ttl: ttl, byID: map[[sha256.Size]byte]*Session{}}
}

// Open begins a session, and returns it with the secrets for its browser.
func (s *Store) Open(who reviewers.Reviewer) (*Session, Secrets) {
	given := Secrets{Cookie: rand.Text(), Key: rand.Text()}
	opened := &Session{
		Reviewer: who, Expires: time.Now().Add(s.ttl).UTC(),
		id: sha256.Sum256([]byte(given.Cookie)), key: sha256.Sum256([]byte(given.Key)),
	}
	opened.live, opened.end = context.WithDeadline(context.Background(), opened.Expires)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.makeRoom(who.Name)
	s.byID[opened.id] = opened
	return opened, given
}

// makeRoom removes the sessions that have expired, and the oldest session of a
// reviewer who has the most that are allowed. The caller holds s.mu.
func (s *Store) makeRoom(name string) {
	var oldest *Session
	count := 0
	for id, other := range s.byID {
		switch {
		case other.over():
			delete(s.byID, id)
		case other.Reviewer.Name == name:
			count++
			if oldest == nil || other.Expires.Before(oldest.Expires) {
				oldest = other
			}
		}
	}
	if count >= maxOfOne {
		delete(s.byID, oldest.id)
		oldest.end()
	}
}

// Find returns the session of a cookie and its key, or nil.
func (s *Store) Find(given Secrets) *Session {
	key := sha256.Sum256([]byte(given.Key))
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.byID[sha256.Sum256([]byte(given.Cookie))]
	if found == nil || found.over() || subtle.ConstantTimeCompare(found.key[:], key[:]) != 1 {
		return nil
	}
	return found
}

// Close ends a session.
func (s *Store) Close(ending *Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byID, ending.id)
	ending.end()
}

// CloseAll ends every session.
func (s *Store) CloseAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, open := range s.byID {
		delete(s.byID, id)
		open.end()
	}
}
