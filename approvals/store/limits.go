package store

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/store/natskv"
)

// LimitTTL is the time for which the count of a limit is kept after its last call.
const LimitTTL = 24 * time.Hour

// maxKnownCounts bounds the counts that one stripe keeps in memory.
const maxKnownCounts = 1000

// Limits keeps the counts of policy limits for all replicas. It is a
// [policy.SharedCounts].
type Limits struct {
	bucket  natskv.Bucket
	stripes [64]limitStripe // by key
}

// limitStripe lets one call after the other change the counts of some keys: calls of one
// process do not compete. It knows the last values, so most changes are one write.
type limitStripe struct {
	mu    sync.Mutex
	known map[string]knownCount
}

type knownCount struct {
	value    []byte
	revision uint64
}

// Update replaces the value of a key by the result of change: see [policy.SharedCounts].
func (l *Limits) Update(ctx context.Context, key string, change func(old []byte) ([]byte, error)) error {
	stripe := &l.stripes[int(key[0]^key[1]<<3)%len(l.stripes)]
	stripe.mu.Lock()
	defer stripe.mu.Unlock()
	for attempt := 0; ; attempt++ {
		old, known := stripe.known[key]
		if !known {
			var err error
			if old, err = l.read(ctx, key); err != nil {
				return err
			}
		}
		value, err := change(old.value)
		if err != nil || (value == nil && !known) {
			return err
		}
		if value == nil { // the value in memory may be old
			delete(stripe.known, key)
			continue
		}
		revision, err := l.bucket.CompareAndSet(ctx, key, value, old.revision)
		if err == nil {
			stripe.keep(key, knownCount{value, revision})
			return nil
		}
		delete(stripe.known, key)
		if !errors.Is(err, approvals.ErrConflict) {
			return err
		}
		if err := approvals.Pause(ctx, attempt); err != nil {
			return approvals.Unavailable("count a call for a limit", err)
		}
	}
}

// errNoCount is the error for a key without a count.
var errNoCount = errors.New("no count")

// read reads a count. That of an unknown key is empty.
func (l *Limits) read(ctx context.Context, key string) (knownCount, error) {
	entry, err := l.bucket.Get(ctx, key, errNoCount)
	if errors.Is(err, errNoCount) {
		return knownCount{}, nil
	}
	if err != nil {
		return knownCount{}, err
	}
	return knownCount{entry.Value(), entry.Revision()}, nil
}

func (s *limitStripe) keep(key string, c knownCount) {
	if s.known == nil || len(s.known) >= maxKnownCounts {
		s.known = map[string]knownCount{}
	}
	s.known[key] = c
}
