package store

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// turnIndex has the tokens of the sessions with hidden turns.
type turnIndex struct {
	mu       sync.RWMutex
	sessions map[string]int64 // when a turn was last written, unix seconds
	revision uint64           // of the last change
	changed  chan struct{}    // closed at the next change, if somebody waits for it
	current  atomic.Bool      // it has all changes
	loaded   chan struct{}
	load     func() // closes loaded
}

func newTurnIndex() *turnIndex {
	loaded := make(chan struct{})
	return &turnIndex{sessions: map[string]int64{}, loaded: loaded, load: sync.OnceFunc(func() { close(loaded) })}
}

// setCurrent sets whether the index has all changes.
func (x *turnIndex) setCurrent(current bool) {
	if x.current.Store(current); current {
		x.load()
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.wake()
}

// seen records that all changes up to a revision are in the index.
func (x *turnIndex) seen(revision uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.revision = revision
	x.wake()
}

// wake ends the waits of [turnIndex.reach]. The caller holds the lock.
func (x *turnIndex) wake() {
	if x.changed != nil {
		close(x.changed)
		x.changed = nil
	}
}

// reach returns when all changes up to a revision are in the index, or when it is known that
// changes may be missing.
func (x *turnIndex) reach(ctx context.Context, revision uint64) error {
	for {
		x.mu.Lock()
		if x.revision >= revision || !x.current.Load() {
			x.mu.Unlock()
			return nil
		}
		if x.changed == nil {
			x.changed = make(chan struct{})
		}
		changed := x.changed
		x.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("wait for revision %d of the hidden turns: %w", revision, ctx.Err())
		}
	}
}

func (x *turnIndex) put(session string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sessions[session] = time.Now().Unix()
}

func (x *turnIndex) has(session string) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	_, has := x.sessions[session]
	return has
}

func (x *turnIndex) any() bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.sessions) > 0
}

// removeBefore removes the sessions whose turns have all expired.
func (x *turnIndex) removeBefore(t time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for session, at := range x.sessions {
		if at < t.Unix() {
			delete(x.sessions, session)
		}
	}
}

// wait returns when all recorded sessions are in the index.
func (x *turnIndex) wait(ctx context.Context) error {
	select {
	case <-x.loaded:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("load the index of hidden turns: %w", ctx.Err())
	}
}
