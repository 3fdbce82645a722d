package runs

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// principals has the last signal to each principal, in memory.
type principals struct {
	mu      sync.Mutex
	last    map[approvals.Principal]approvals.PrincipalSignal // a resume is kept: an older signal may arrive later
	stopped int                                               // of these in force
}

func newPrincipals() *principals {
	return &principals{last: map[approvals.Principal]approvals.PrincipalSignal{}}
}

// apply stores a signal, and reports false for one that is older than the known one.
func (p *principals) apply(s approvals.PrincipalSignal) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, known := p.last[s.Principal]
	if known && before.Since.After(s.Since) {
		return false
	}
	p.last[s.Principal] = s
	p.stopped += oneIf(s.InForce()) - oneIf(before.InForce())
	return true
}

func oneIf(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// any reports whether a signal is in force.
func (p *principals) any() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stopped > 0
}

// applying returns the signals in force that apply to runs of a principal, aborts first.
func (p *principals) applying(who approvals.Principal) []approvals.PrincipalSignal {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped == 0 {
		return nil
	}
	var found []approvals.PrincipalSignal
	for _, wider := range who.Wider() {
		if s, ok := p.last[wider]; ok && s.InForce() {
			found = append(found, s)
		}
	}
	slices.SortStableFunc(found, func(a, b approvals.PrincipalSignal) int { return cmp.Compare(a.Action, b.Action) })
	return found
}

// state returns the state of the runs of a principal as far as signals by principal decide
// it, and since when.
func (p *principals) state(who approvals.Principal) (approvals.RunState, time.Time) {
	if found := p.applying(who); len(found) > 0 {
		return found[0].State(), found[0].Since
	}
	return approvals.RunRunning, time.Time{}
}

// list returns the signals in force, the latest first.
func (p *principals) list() []approvals.PrincipalSignal {
	found := []approvals.PrincipalSignal{}
	p.mu.Lock()
	for _, s := range p.last {
		if s.InForce() {
			found = append(found, s)
		}
	}
	p.mu.Unlock()
	slices.SortFunc(found, func(a, b approvals.PrincipalSignal) int {
		return cmp.Or(b.Since.Compare(a.Since), cmp.Compare(a.Key(), b.Key()))
	})
	return found
}
