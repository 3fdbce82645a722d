package notify

import (
	"sync"
	"time"
)

// traffic is when cards were posted lately, at each target.
type traffic struct {
	group Group
	mu    sync.Mutex
	last  map[string][]time.Time // newest last, at most Group.Cards of them
}

// admit takes the right to post a card now, or says when one may be.
func (t *traffic) admit(target string, now time.Time) (at time.Time, admitted bool) {
	if t.group.Cards <= 0 {
		return now, true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	last := t.last[target]
	if len(last) < t.group.Cards {
		t.last[target] = append(last, now)
		return now, true
	}
	if free := last[0].Add(t.group.Within); now.Before(free) {
		return free, false
	}
	t.last[target] = append(last[1:], now)
	return now, true
}
