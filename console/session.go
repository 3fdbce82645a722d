package console

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
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
	id       [sha256.Size]byte
	live     context.Context // ends with the session
	end      context.CancelFunc
}

// over reports whether the session has ended.
func (s *session) over() bool { return s.live.Err() != nil || !time.Now().Before(s.expires) }

// sessions are the sign-ins that stand. They are known by the hash of their
// cookie and live in memory: a restart ends them.
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

// open begins a session and returns it with the value of its cookie.
func (s *sessions) open(who reviewers.Reviewer) (*session, string) {
	secret := rand.Text()
	opened := &session{reviewer: who, expires: time.Now().Add(s.ttl).UTC(), id: sha256.Sum256([]byte(secret))}
	opened.live, opened.end = context.WithDeadline(context.Background(), opened.expires)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.makeRoom(who.Name)
	s.byID[opened.id] = opened
	return opened, secret
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

// find is the session of a cookie, or nil.
func (s *sessions) find(secret string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.byID[sha256.Sum256([]byte(secret))]
	if found == nil || found.over() {
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
