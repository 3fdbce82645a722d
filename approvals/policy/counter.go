package policy

import (
	"container/list"
	"slices"
	"sync"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// Counter counts calls of rules with a limit. It is in memory, keeps a bounded number of counts and
// drops the least recently used. It is safe for concurrent use.
type Counter struct {
	most int

	mu     sync.Mutex
	counts map[countKey]*list.Element // of *count
	recent *list.List                 // of *count, the last used first
}

// countKey identifies a count. The count of a minute has no name.
type countKey struct {
	rule, kind, name string
	whose            approvals.Principal
}

// count is the calls of a turn or run, or the times of those of the last minute.
type count struct {
	key   countKey
	calls int
	times []time.Time
}

// NewCounter returns a counter that keeps at most a number of counts.
func NewCounter(most int) *Counter {
	return &Counter{most: max(most, 1), counts: map[countKey]*list.Element{}, recent: list.New()}
}

// Charge is the calls that one call has added to counts.
type Charge struct {
	counter *Counter
	taken   []*count
	at      []time.Time
}

// Excess is the limit of a rule for which a call is one too many.
type Excess struct {
	Limit *Limit
	Bound string // that has been reached, such as "20 calls a run"
}

// Take counts a call for all of its limits, or for none if it exceeds one. Then it returns one
// excess for each rule: see [Verdict.Exceeded].
func (n *Counter) Take(limits []Limit) (charge Charge, over []Excess) {
	if len(limits) == 0 {
		return Charge{}, nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	charge.counter = n
	for i := range limits {
		l := &limits[i]
		for _, b := range l.bounds() {
			k, now := n.find(l.countKey(b.kind)), l.call.c.Call.Now
			if k.used(now) < b.most {
				charge.add(k, now)
			} else if !slices.ContainsFunc(over, func(e Excess) bool { return e.Limit.pattern.Rule == l.pattern.Rule }) {
				over = append(over, Excess{l, b.String()})
			}
		}
	}
	if over != nil {
		charge.giveBack()
		charge = Charge{}
	}
	for len(n.counts) > n.most {
		last := n.recent.Back()
		delete(n.counts, n.recent.Remove(last).(*count).key)
	}
	return charge, over
}

// Return takes back the charge of a call that was not released. It may be called repeatedly.
func (c *Charge) Return() {
	if c.counter == nil {
		return
	}
	c.counter.mu.Lock()
	defer c.counter.mu.Unlock()
	c.giveBack()
	*c = Charge{}
}

// Keep makes the charge final: [Charge.Return] does nothing any more.
func (c *Charge) Keep() { *c = Charge{} }

// countKey returns the key of a count: by turn, by run, or for a minute by principal.
func (l *Limit) countKey(kind string) countKey {
	call := &l.call.c.Call
	key := countKey{rule: l.Key, kind: kind, whose: call.Principal}
	switch kind {
	case "turn":
		key.name = call.Turn
	case "run":
		key.name = call.Run
	}
	return key
}

func (n *Counter) find(key countKey) *count {
	if e, known := n.counts[key]; known {
		n.recent.MoveToFront(e)
		return e.Value.(*count)
	}
	k := &count{key: key}
	n.counts[key] = n.recent.PushFront(k)
	return k
}

// used is how many calls count.
func (k *count) used(now time.Time) int {
	if k.key.kind != "minute" {
		return k.calls
	}
	k.times = slices.DeleteFunc(k.times, func(t time.Time) bool { return now.Sub(t) >= time.Minute })
	return len(k.times)
}

func (c *Charge) add(k *count, at time.Time) {
	if k.key.kind == "minute" {
		k.times = append(k.times, at)
	} else {
		k.calls++
	}
	c.taken, c.at = append(c.taken, k), append(c.at, at)
}

func (c *Charge) giveBack() {
	for i, k := range c.taken {
		if k.key.kind != "minute" {
			k.calls--
		} else if j := slices.Index(k.times, c.at[i]); j >= 0 {
			k.times = slices.Delete(k.times, j, j+1)
		}
	}
}
