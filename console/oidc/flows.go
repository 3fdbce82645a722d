package oidc

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"sync"
	"time"

	"golang.org/x/oauth2"
)

const (
	flowTTL  = 10 * time.Minute // for a person to sign in at the provider
	maxFlows = 10000            // at a time; one more ends the oldest
)

type flow struct {
	secret   [sha256.Size]byte // hash of what the page keeps
	nonce    string
	verifier string // of PKCE
	began    time.Time
}

// flows are the sign-ins that have begun, by the hash of their state. They live in
// memory, as sessions do.
type flows struct {
	mu      sync.Mutex
	byState map[[sha256.Size]byte]flow
	order   [][sha256.Size]byte // of their beginning; ended ones stay until they are first
}

func newFlows() *flows { return &flows{byState: map[[sha256.Size]byte]flow{}} }

// begin remembers a new sign-in, and forgets those that took too long.
func (f *flows) begin(now time.Time) (begun flow, state, secret string) {
	state, secret = rand.Text(), rand.Text()
	begun = flow{secret: sha256.Sum256([]byte(secret)), nonce: rand.Text(), verifier: oauth2.GenerateVerifier(), began: now}
	f.mu.Lock()
	defer f.mu.Unlock()
	id := sha256.Sum256([]byte(state))
	f.byState[id] = begun
	f.order = append(f.order, id)
	for len(f.order) > 0 {
		first := f.order[0]
		oldest, waits := f.byState[first]
		if waits && now.Sub(oldest.began) < flowTTL && len(f.order) <= maxFlows {
			break
		}
		delete(f.byState, first)
		f.order = f.order[1:]
	}
	return begun, state, secret
}

// end is the sign-in of a state, for the browser that has its secret: once, and
// in time.
func (f *flows) end(state, secret string, now time.Time) (flow, bool) {
	id, given := sha256.Sum256([]byte(state)), sha256.Sum256([]byte(secret))
	f.mu.Lock()
	defer f.mu.Unlock()
	begun, known := f.byState[id]
	if !known || subtle.ConstantTimeCompare(begun.secret[:], given[:]) != 1 {
		return flow{}, false
	}
	delete(f.byState, id)
	return begun, now.Sub(begun.began) < flowTTL
}
