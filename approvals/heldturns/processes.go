package heldturns

import (
	"slices"
	"sync"
	"time"
)

const (
	// leaseTTL is the time after which a process that has not renewed its lease is taken for
	// dead.
	leaseTTL = 6 * time.Second
	// leaseRenewal is the time between two renewals.
	leaseRenewal = time.Second
	// leaseCurrent is the time after a renewal in which the server of this process is taken to
	// have all writes: a cluster that has lost a server elects leaders after 4 s or more.
	leaseCurrent = 3 * leaseRenewal
)

// processes knows which processes live. Without a shared store, all others have ended: the
// folder of the state is exclusive, and the id of a process is new at each start.
type processes struct {
	self    string
	shared  bool
	now     func() time.Time
	started time.Time

	mu    sync.RWMutex
	seen  map[string]lease     // of processes, by owner
	ended map[string]time.Time // when a lease was removed
	// steady is the time since which this process renews its own lease in time, so that it
	// would have seen the renewals of others. Zero: it does not.
	steady, last time.Time
}

// lease is the last sign of life of a process.
type lease struct {
	at         time.Time
	unrecorded []string // see [Leases]
}

func newProcesses(self string, shared bool, now func() time.Time) *processes {
	return &processes{self: self, shared: shared, now: now, started: now().UTC(), seen: map[string]lease{}, ended: map[string]time.Time{}}
}

// life is how much is known of a process.
type life int

const (
	unknown life = iota // this process may have missed its renewals
	alive
	dead
)

// life reports whether a process has ended, and if so, since when that is known.
func (p *processes) life(owner string) (l life, since time.Time) {
	if owner == p.self {
		return alive, since
	}
	if !p.shared {
		return dead, p.started
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	if at, ended := p.ended[owner]; ended {
		return dead, at
	}
	now, seen := p.now(), p.seen[owner].at
	switch {
	case p.steady.IsZero() || now.Sub(p.last) > leaseTTL:
		return unknown, since
	case now.Sub(seen) <= leaseTTL:
		return alive, since
	case now.Sub(p.steady) <= leaseTTL:
		return unknown, since
	case seen.Before(p.steady):
		seen = p.steady
	}
	return dead, seen.Add(leaseTTL).UTC()
}

// unrecorded reports whether it may not be recorded yet that the agent of a turn has left: its
// process may have died, or waits for the store.
func (p *processes) unrecorded(owner, turn string) bool {
	if l, _ := p.life(owner); l == unknown {
		return true
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	return slices.Contains(p.seen[owner].unrecorded, turn)
}

// renewed applies the renewal of a lease.
func (p *processes) renewed(owner string, unrecorded []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen[owner] = lease{p.now(), unrecorded}
}

// removed applies the removal of a lease.
func (p *processes) removed(owner string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended[owner] = p.now().UTC()
}

// current reports whether this process has renewed its lease within leaseCurrent. A server that is cut
// off from its cluster accepts no renewal, and does not have what the other servers have stored.
func (p *processes) current() bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.now().Sub(p.last) <= leaseCurrent
}

// renewedOwn marks that this process has renewed its lease.
func (p *processes) renewedOwn() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if now.Sub(p.last) > leaseTTL {
		p.steady = now
	}
	p.last = now
}
