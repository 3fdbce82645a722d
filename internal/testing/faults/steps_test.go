//go:build faults

package faults_test

import (
	"context"
	"sync"
	"time"
)

// steps counts what has happened in a seed. Faults wait for it.
type steps struct {
	mu      sync.Mutex
	counts  map[string]int
	changed chan struct{} // closed and replaced at each step
}

func newSteps() *steps { return &steps{counts: map[string]int{}, changed: make(chan struct{})} }

func (s *steps) happened(step string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[step]++
	close(s.changed)
	s.changed = make(chan struct{})
}

// reset begins a seed.
func (s *steps) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts = map[string]int{}
}

// await waits until a step has happened so often, at most for a time: another fault may keep
// it from happening.
func (s *steps) await(ctx context.Context, step string, count int, limit time.Duration) {
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	for {
		s.mu.Lock()
		reached, changed := s.counts[step] >= count, s.changed
		s.mu.Unlock()
		if reached {
			return
		}
		select {
		case <-changed:
		case <-timeout.C:
			return
		case <-ctx.Done():
			return
		}
	}
}
