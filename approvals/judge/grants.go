package judge

import (
	"sync"
	"sync/atomic"

	"github.com/heldcall/heldcall/approvals/policy"
)

// grantSet is the grants in force.
type grantSet struct {
	inForce atomic.Pointer[policy.Grants]
	mu      sync.Mutex
	loading []*policy.CompiledGrant // until all recorded grants have been read
	loaded  bool
}

// current returns the grants in force, nil before they are loaded.
func (s *grantSet) current() *policy.Grants { return s.inForce.Load() }

func (s *grantSet) add(g *policy.CompiledGrant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.loaded {
		s.loading = append(s.loading, g)
		return
	}
	s.inForce.Store(s.inForce.Load().And(g))
}

func (s *grantSet) remove(id string) {
	s.load()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inForce.Store(s.inForce.Load().Without(id))
}

// load puts all grants in force at once: each addition to a large set copies the set.
func (s *grantSet) load() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.loaded {
		s.inForce.Store(policy.NewGrants(s.loading...))
		s.loading, s.loaded = nil, true
	}
}
