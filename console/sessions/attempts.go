package sessions

import (
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// AttemptsAtOnce is how many attempts one address has at a time.
const AttemptsAtOnce = 20

const (
	attemptEvery = 3 * time.Second // one more after AttemptsAtOnce
	maxAddresses = 4096            // counted by themselves; those beyond share one allowance
)

// Attempts bounds how often one address may try to sign in. It is safe for concurrent
// use.
type Attempts struct {
	mu     sync.Mutex
	by     map[netip.Prefix]*rate.Limiter
	others *rate.Limiter
}

// NewAttempts makes one that has counted nothing.
func NewAttempts() *Attempts {
	return &Attempts{by: map[netip.Prefix]*rate.Limiter{}, others: newAllowance()}
}

func newAllowance() *rate.Limiter { return rate.NewLimiter(rate.Every(attemptEvery), AttemptsAtOnce) }

// Take counts an attempt from an address, host:port. The attempt is refused if the
// result is not 0, which is then the time to wait.
func (a *Attempts) Take(remote string) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	allowance := a.of(network(remote), now)
	if allowance.AllowN(now, 1) {
		return 0
	}
	return time.Duration((1 - allowance.TokensAt(now)) * float64(attemptEvery))
}

func (a *Attempts) of(from netip.Prefix, now time.Time) *rate.Limiter {
	if known := a.by[from]; known != nil {
		return known
	}
	if len(a.by) >= maxAddresses {
		for network, allowance := range a.by {
			if allowance.TokensAt(now) >= AttemptsAtOnce {
				delete(a.by, network)
			}
		}
	}
	if len(a.by) >= maxAddresses {
		return a.others
	}
	a.by[from] = newAllowance()
	return a.by[from]
}

// network is what counts as one address: for IPv6 the 64 bits that one host has
// to itself.
func network(remote string) netip.Prefix {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return netip.Prefix{}
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Prefix{}
	}
	bits := 32
	if ip = ip.Unmap(); ip.Is6() {
		bits = 64
	}
	prefix, err := ip.WithZone("").Prefix(bits)
	if err != nil {
		panic(fmt.Sprintf("internal error: %s has no /%d", ip, bits))
	}
	return prefix
}
