package console

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
	defaultSession = 12 * time.Hour
	// maxSessions is how many sign-ins of one reviewer stand at a time; the
	// oldest ends when there is one more.
	maxSessions = 20
)

// session is one sign-in of a reviewer in a browser.
type session struct {
	reviewer reviewers.Reviewer
	expires  time.Time
	id       [sha256.Size]byte // hash of the cookie
	key      [sha256.Size]byte // hash of the key
	live     context.Context   // ends with the session
	end      context.CancelFunc
}

// over reports whether the session has ended.
func (s *session) over() bool { return s.live.Err() != nil || !time.Now().Before(s.expires) }

// sessionKeyHeader brings the key of a session. Cookies know no ports: whatever
// listens on another port of this host gets the cookie from the browser. The key
// is kept by the page's origin, which has the port in it, and goes nowhere else;
// so a cookie alone is worth nothing.
const sessionKeyHeader = "X-Heldcall-Session-Key"

// secrets are what a browser has of a session, and needs both of.
type secrets struct{ cookie, key string }

// sessions are the sign-ins that stand. They are known by the hashes of their
// secrets and live in memory: a restart ends them.
type sessions struct {
	ttl time.Duration

	mu   sync.Mutex
	byID map[[sha256.Size]byte]*session
}

func newSessions(ttl time.Duration) *sessions {
	if ttl == 0 {
		ttl = defaultSession
	}
	return &sessions{ttl: ttl, byID: map[[sha256.Size]byte]*session{}}
}

// open begins a session and returns it with what its browser is to have.
func (s *sessions) open(who reviewers.Reviewer) (*session, secrets) {
	given := secrets{cookie: rand.Text(), key: rand.Text()}
	opened := &session{
		reviewer: who, expires: time.Now().Add(s.ttl).UTC(),
		id: sha256.Sum256([]byte(given.cookie)), key: sha256.Sum256([]byte(given.key)),
	}
	opened.live, opened.end = context.WithDeadline(context.Background(), opened.expires)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.makeRoom(who.Name)
	s.byID[opened.id] = opened
	return opened, given
}

// makeRoom drops what has expired and the oldest session of a reviewer who has
// as many as there may be. The caller holds s.mu.
func (s *sessions) makeRoom(name string) {
	var oldest *session
	count := 0
	for id, other := range s.byID {
		switch {
		case other.over():
			delete(s.byID, id)
		case other.reviewer.Name == name:
			count++
			if oldest == nil || other.expires.Before(oldest.expires) {
				oldest = other
			}
		}
	}
	if count >= maxSessions {
		delete(s.byID, oldest.id)
		oldest.end()
	}
}

// find is the session of a cookie and the key that belongs to it, or nil.
func (s *sessions) find(given secrets) *session {
	key := sha256.Sum256([]byte(given.key))
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.byID[sha256.Sum256([]byte(given.cookie))]
	if found == nil || found.over() || subtle.ConstantTimeCompare(found.key[:], key[:]) != 1 {
		return nil
	}
	return found
}

// close ends a session, and with it the event streams that it opened.
func (s *sessions) close(ending *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byID, ending.id)
	ending.end()
}

// closeAll ends every session.
func (s *sessions) closeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, open := range s.byID {
		delete(s.byID, id)
		open.end()
	}
}

// endWith cancels with the session, if the sender has one; the function it
// returns gives that up.
func (i identity) endWith(cancel context.CancelFunc) (stop func() bool) {
	if i.session == nil {
		return func() bool { return true }
	}
	return context.AfterFunc(i.session.live, cancel)
}
