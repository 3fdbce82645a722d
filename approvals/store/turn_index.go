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
