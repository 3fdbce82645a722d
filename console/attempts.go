package console

import (
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// attemptsAtOnce is how many attempts one address has at a time.
const attemptsAtOnce = 20

const (
	attemptEvery = 3 * time.Second // one more after attemptsAtOnce
	maxAddresses = 4096            // counted by themselves; those beyond share one allowance
)

// attempts bounds how often one address may try to sign in. It is safe for concurrent
// use.
type attempts struct {
	mu     sync.Mutex
	by     map[netip.Prefix]*rate.Limiter
	others *rate.Limiter
}

// newAttempts makes one that has counted nothing.
func newAttempts() *attempts {
	return &attempts{by: map[netip.Prefix]*rate.Limiter{}, others: newAllowance()}
}

func newAllowance() *rate.Limiter { return rate.NewLimiter(rate.Every(attemptEvery), attemptsAtOnce) }

// take counts an attempt from an address, host:port. The attempt is refused if the
// result is not 0, which is then the time to wait.
func (a *attempts) take(remote string) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	allowance := a.of(networkOf(remote), now)
	if allowance.AllowN(now, 1) {
		return 0
	}
	return time.Duration((1 - allowance.TokensAt(now)) * float64(attemptEvery))
}

func (a *attempts) of(from netip.Prefix, now time.Time) *rate.Limiter {
	if allowance := a.by[from]; allowance != nil {
		return allowance
	}
	if len(a.by) >= maxAddresses {
		for network, allowance := range a.by {
			if allowance.TokensAt(now) >= attemptsAtOnce {
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

// networkOf is what counts as one address: for IPv6 the 64 bits that one host has
// to itself.
func networkOf(remote string) netip.Prefix {
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
