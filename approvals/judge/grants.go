package judge

import (
	"sync"
	"sync/atomic"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
)

// grantSet is the grants in force.
type grantSet struct {
	inForce atomic.Pointer[policy.Grants]
	mu      sync.Mutex
	loading []*policy.CompiledGrant // until the recorded ones are complete
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

// load puts all recorded grants in force at once: each addition to a large set copies it.
func (s *grantSet) load() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.loaded {
		s.inForce.Store(policy.NewGrants(s.loading...))
		s.loading, s.loaded = nil, true
	}
}

// KeepGrant puts a grant in force; before [Judge.LoadGrants] it waits for that.
func (j *Judge) KeepGrant(g approvals.Grant) {
	compiled, err := policy.CompileGrant(g)
	if err != nil {
		j.log.Error("a recorded grant cannot be read and is not in force; revoke it", "grant", g.ID, "error", err)
		return
	}
	j.grants.add(compiled)
}

// DropGrant ends a grant.
func (j *Judge) DropGrant(id string) { j.grants.remove(id) }

// LoadGrants puts all grants kept so far in force. It is called when those recorded before
// the start are complete.
func (j *Judge) LoadGrants() { j.grants.load() }

// GrantCovers returns a function that reports whether a grant alone would allow or deny
// the call of an event, under each policy that may judge that call.
func (j *Judge) GrantCovers(g approvals.Grant) func(approvals.Event) bool {
	compiled, err := policy.CompileGrant(g)
	if err != nil {
		return func(approvals.Event) bool { return false }
	}
	return func(e approvals.Event) bool {
		from, c, _, recorded := Recorded(&e)
		from.At = j.now()
		return recorded && covers(compiled, from.call(c), j.ofPrincipal(e.Principal))
	}
}

// GrantIsFor reports whether any pattern of a grant is for a tool.
func (j *Judge) GrantIsFor(g approvals.Grant, tool string) bool {
	compiled, err := policy.CompileGrant(g)
	return err == nil && compiled.IsFor(tool)
}
