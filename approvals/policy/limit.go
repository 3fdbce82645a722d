package policy

import (
	"container/list"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/rule"
)

// Limit is the limit of a rule that matches a call. See [Counter].
type Limit struct {
	*rule.Limit
	call     *evaluation
	pattern  *rule.Pattern
	shadowed bool
}

// limits returns the limits of a call with verdict v: of each matching ask rule, even if a grant
// overrides it, and of each allow rule that covers a part of an allowed call.
func (e *evaluation) limits(v *Verdict) []Limit {
	if v.Action == Deny {
		return nil
	}
	found := e.limitsIn(nil, e.policy.rules.Limited.Ask, func(p *rule.Pattern) bool { return e.match(p) != match.No })
	if v.Action == Allow {
		found = e.limitsIn(found, e.policy.rules.Limited.Allow, e.partly)
	}
	return found
}

// limitsIn appends the limits of the rules of an index that have a matching pattern.
func (e *evaluation) limitsIn(to []Limit, x *rule.Index, holds func(*rule.Pattern) bool) []Limit {
	var found []Limit
	for p := range x.Candidates(e.c.Call.Tool, e.c.Kind, e.c.Keys.Texts, e.c.Keys.Any) {
		known := slices.ContainsFunc(slices.Concat(to, found), func(l Limit) bool { return l.pattern.Rule == p.Rule })
		if !known && holds(p) {
			found = append(found, Limit{Limit: p.Rule.Limit, call: e, pattern: p})
		}
	}
	slices.SortFunc(found, func(a, b Limit) int { return a.pattern.Rank - b.pattern.Rank })
	return append(to, found...)
}

// Where is the file and line of the rule.
func (l *Limit) Where() string { return l.pattern.Where }

// String returns the limit in words, such as "5 calls a turn, 20 a run".
func (l *Limit) String() string {
	var all []string
	for _, one := range l.bounds() {
		text := fmt.Sprintf("%d a %s", one.most, one.kind)
		if len(all) == 0 {
			text = one.String()
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

// Exceeded returns the verdict on a call that exceeds limits: the demands of their rules together
// with those of v.
func (v Verdict) Exceeded(over []Excess) Verdict {
	parts := []Verdict{v}
	for _, e := range over {
		parts = append(parts, e.Limit.beyond(e.Bound))
	}
	return Together(parts...)
}

// beyond is the verdict of the limit's rule on a call that is one too many.
func (l *Limit) beyond(exceeded string) Verdict {
	p := l.pattern
	by := p.Basis(l.Then)
	by.Reason = fmt.Sprintf("The policy's limit of %s for %s is reached.", exceeded, p.Text)
	var v Verdict
	q := newQuestion(l.call)
	if l.Then == Deny {
		v = q.verdict(by)
		v.Denial = q.message(&v, []*rule.Rule{p.Rule}, denialOf)
	} else {
		v = q.rewritten(q.askByRules(by, []*rule.Pattern{p}, []*rule.Pattern{p}))
		v.AllowRemember = false // a grant lifts no limit
	}
	if l.shadowed {
		return shadowed(v)
	}
	return v
}

type bound struct {
	kind string // turn, run or minute
	most int
}

func (b bound) String() string {
	if b.most == 1 {
		return "1 call a " + b.kind
	}
	return fmt.Sprintf("%d calls a %s", b.most, b.kind)
}

func (l *Limit) bounds() []bound {
	all := []bound{{"turn", l.PerTurn}, {"run", l.PerRun}, {"minute", l.PerMinute}}
	return slices.DeleteFunc(all, func(b bound) bool { return b.most == 0 })
}

// Counter counts calls of rules with a limit. In memory it keeps a bounded number of counts and drops
// the least recently used; with shared counts those of turns only. It is safe for concurrent use.
type Counter struct {
	most   int
	shared SharedCounts // nil: all counts are in memory

	mu     sync.Mutex
	counts map[countKey]*list.Element // of *count
	recent *list.List                 // of *count, the last used first
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

// Share keeps the counts of runs and minutes in shared counts. It must be called before the first call
// is counted.
func (n *Counter) Share(counts SharedCounts) { n.shared = counts }

// Charge is the calls that one call has added to counts.
type Charge struct {
	counter *Counter
	taken   []*count
	at      []time.Time
	shared  []sharedCall
}

// Excess is the limit of a rule for which a call is one too many.
type Excess struct {
	Limit *Limit
	Bound string // that has been reached, such as "20 calls a run"
}

// Take counts a call for all of its limits, or for none if it exceeds one. Then it returns one
// excess for each rule: see [Verdict.Exceeded]. It fails if shared counts cannot be read or written.
func (n *Counter) Take(ctx context.Context, limits []Limit) (charge Charge, over []Excess, err error) {
	if len(limits) == 0 {
		return Charge{}, nil, nil
	}
	charge.counter = n
	for i := range limits {
		l := &limits[i]
		for _, b := range l.bounds() {
			taken, err := charge.take(ctx, l.countKey(b.kind), l.call.c.Call.Now, b.most)
			if err != nil {
				charge.Return()
				return Charge{}, nil, err
			}
			if !taken && !slices.ContainsFunc(over, func(e Excess) bool { return e.Limit.pattern.Rule == l.pattern.Rule }) {
				over = append(over, Excess{l, b.String()})
			}
		}
	}
	if over != nil {
		charge.Return()
	}
	return charge, over, nil
}

// take counts a call if a count is below most, and reports whether it was.
func (c *Charge) take(ctx context.Context, key countKey, now time.Time, most int) (bool, error) {
	n := c.counter
	if n.shares(key.kind) {
		call, taken, err := n.takeShared(ctx, key, now, most)
		if taken && err == nil {
			c.shared = append(c.shared, call)
		}
		return taken, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	k := n.find(key)
	taken := k.used(now) < most
	if taken {
		c.add(k, now)
	}
	for len(n.counts) > n.most {
		last := n.recent.Back()
		delete(n.counts, n.recent.Remove(last).(*count).key)
	}
	return taken, nil
}

// Return takes back the charge of a call that was not released. It may be called repeatedly.
func (c *Charge) Return() {
	if c.counter == nil {
		return
	}
	c.giveBack()
	c.counter.returnShared(c.shared)
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
	c.counter.mu.Lock()
	defer c.counter.mu.Unlock()
	for i, k := range c.taken {
		if k.key.kind != "minute" {
			k.calls--
		} else if j := slices.Index(k.times, c.at[i]); j >= 0 {
			k.times = slices.Delete(k.times, j, j+1)
		}
	}
}

// shares reports whether a count is shared. The calls of a turn are judged by one process.
func (n *Counter) shares(kind string) bool { return n.shared != nil && kind != "turn" }

// takeShared adds a call to a shared count that has fewer than most. It reports whether it
// had.
func (n *Counter) takeShared(ctx context.Context, key countKey, now time.Time, most int) (call sharedCall, taken bool, err error) {
	call = sharedCall{key, now.Add(timeStep - 1).Truncate(timeStep).UnixMilli()}
	err = n.change(ctx, key, func(t *tally) bool {
		oldest := now.Add(-time.Minute).UnixMilli()
		maps.DeleteFunc(t.Times, func(at int64, _ int) bool { return at <= oldest })
		used := t.Calls
		for _, calls := range t.Times {
			used += calls
		}
		if taken = used < most; taken {
			t.add(call, 1)
		}
		return taken
	})
	return call, taken, err
}

// returnShared removes calls from shared counts. If a count cannot be written, the call
// counts although it was not released.
func (n *Counter) returnShared(calls []sharedCall) {
	for _, call := range calls {
		_ = n.change(context.Background(), call.key, func(t *tally) bool {
			t.add(call, -1)
			return true
		})
	}
}

// change changes a shared count by compare-and-set. change reports whether there is
// something to write.
func (n *Counter) change(ctx context.Context, key countKey, change func(*tally) bool) error {
	return n.shared.Update(ctx, key.shared(), func(old []byte) ([]byte, error) {
		var t tally
		if len(old) > 0 {
			if err := json.Unmarshal(old, &t); err != nil {
				return nil, fmt.Errorf("read the count of a limit: %w", err)
			}
		}
		if !change(&t) {
			return nil, nil
		}
		return json.Marshal(t)
	})
}
