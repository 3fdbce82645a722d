package console

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/internal/privatefile"
)

const (
	sessionTTL = 12 * time.Hour
	// maxSessions is how many sessions one reviewer has at a time; the oldest ends
	// when there is one more.
	maxSessions = 20
)

// sessionKeyHeader is the header with the key of a session. Cookies know no ports: a
// browser sends the cookie to every port of this host. The key is kept by the page's
// origin, which includes the port, and sent to that alone; so a cookie without it is
// not valid.
const sessionKeyHeader = "X-Heldcall-Session-Key"

// sessionSecrets are what a browser has of a session; it needs both.
type sessionSecrets struct{ Cookie, Key string }

// session is one sign-in of a reviewer in a browser.
type session struct {
	Reviewer reviewers.Reviewer // as they signed in
	By       string             // token or oidc
	Named    bool               // the configuration named the reviewer then
	Expires  time.Time          // UTC
	id       [sha256.Size]byte  // hash of the cookie
	key      [sha256.Size]byte  // hash of the key
	live     context.Context    // ends with the session
	end      context.CancelFunc
}

// onEnd calls f when the session ends, unless stop is called before.
func (s *session) onEnd(f func()) (stop func() bool) { return context.AfterFunc(s.live, f) }

func (s *session) over() bool { return s.live.Err() != nil || !time.Now().Before(s.Expires) }

// sessions contains the sign-ins of reviewers in browsers that have not ended, by the hashes of
// their secrets. They are in memory and, if there is a file, in that: without one a restart ends them. It is safe for
// concurrent use.
type sessions struct {
	ttl  time.Duration
	file string // "": none

	mu   sync.Mutex
	byID map[[sha256.Size]byte]*session
}

// newSessions makes sessions that last for ttl; 0 is 12 h.
func newSessions(ttl time.Duration) *sessions {
	if ttl == 0 {
		ttl = sessionTTL
	}
	return &sessions{ttl: ttl, byID: map[[sha256.Size]byte]*session{}}
}

// proof is how a reviewer has proven who they are.
type proof struct {
	who   reviewers.Reviewer
	by    string          // token or oidc
	valid context.Context // the sessions of the sign-in end with it; nil: the configuration does not name the reviewer
}

// open begins a session, and returns it with the secrets for its browser.
func (s *sessions) open(by proof) (*session, sessionSecrets) {
	given := sessionSecrets{Cookie: rand.Text(), Key: rand.Text()}
	opened := &session{
		Reviewer: by.who, By: by.by, Named: by.valid != nil, Expires: time.Now().Add(s.ttl).UTC(),
		id: sha256.Sum256([]byte(given.Cookie)), key: sha256.Sum256([]byte(given.Key)),
	}
	opened.begin(by.valid)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.makeRoom(by.who.Name)
	s.byID[opened.id] = opened
	s.save()
	return opened, given
}

// begin begins a session that ends when it expires, or with valid; nil: there is none.
func (s *session) begin(valid context.Context) {
	if valid == nil {
		valid = context.Background()
	}
	s.live, s.end = context.WithDeadline(valid, s.Expires)
}

// storedSession is a session in the file. It has no secrets: who reads the file cannot use the session.
type storedSession struct {
	Reviewer string    `json:"reviewer"`
	Expires  time.Time `json:"expires"`
	Cookie   []byte    `json:"cookie_sha256"`
	Key      []byte    `json:"key_sha256"`
}

// load takes the sessions of a file that an earlier start has written, and writes to it from now on. Sessions of
// reviewers who are not in the directory have ended.
func (s *sessions) load(file string, directory *reviewers.Directory) error {
	s.file = file
	text, err := privatefile.Read(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var stored []storedSession
	if err == nil {
		err = json.Unmarshal(text, &stored)
	}
	if err != nil {
		return fmt.Errorf("read the sessions of browsers: %w", err)
	}
	for _, kept := range stored {
		who, known := directory.TenureOf(kept.Reviewer)
		if !known || len(kept.Cookie) != sha256.Size || len(kept.Key) != sha256.Size || !time.Now().Before(kept.Expires) || time.Until(kept.Expires) > s.ttl {
			continue
		}
		again := &session{Reviewer: who.Reviewer, By: viaToken, Named: true, Expires: kept.Expires, id: [sha256.Size]byte(kept.Cookie), key: [sha256.Size]byte(kept.Key)}
		again.begin(who.Access)
		s.byID[again.id] = again
	}
	return nil
}

// save writes the sessions to the file. A session that is not written ends with this start. The caller holds s.mu.
func (s *sessions) save() {
	if s.file == "" {
		return
	}
	var stored []storedSession
	for _, open := range s.byID {
		if !open.over() {
			stored = append(stored, storedSession{open.Reviewer.Name, open.Expires, open.id[:], open.key[:]})
		}
	}
	text, err := json.Marshal(stored)
	if err != nil {
		return
	}
	_ = os.Remove(s.file) // so that a new file has the mode
	_ = os.WriteFile(s.file, text, 0o600)
}

// makeRoom removes the sessions that have expired, and the oldest session of a
// reviewer who has the most that are allowed. The caller holds s.mu.
func (s *sessions) makeRoom(name string) {
	var oldest *session
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
	if count >= maxSessions {
		delete(s.byID, oldest.id)
		oldest.end()
	}
}

// find returns the session of a cookie and its key, or nil.
func (s *sessions) find(given sessionSecrets) *session {
	key := sha256.Sum256([]byte(given.Key))
	s.mu.Lock()
	defer s.mu.Unlock()
	opened := s.byID[sha256.Sum256([]byte(given.Cookie))]
	if opened == nil || opened.over() || subtle.ConstantTimeCompare(opened.key[:], key[:]) != 1 {
		return nil
	}
	return opened
}

// close ends a session.
func (s *sessions) close(ending *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byID, ending.id)
	ending.end()
	s.save()
}

// closeAll ends every session of this start. The file keeps them.
func (s *sessions) closeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, open := range s.byID {
		delete(s.byID, id)
		open.end()
	}
}
