package notify

import (
	"sync"
	"time"
)

// cardLimit bounds the new cards of a channel, at each target.
type cardLimit struct {
	group  Group
	mu     sync.Mutex
	posted map[string][]time.Time // by target; newest last, at most Group.Cards of them
}

func newCardLimit(group Group) *cardLimit {
	return &cardLimit{group: group, posted: map[string][]time.Time{}}
}

// admit takes the right to post a card now, or returns when one may be posted.
func (l *cardLimit) admit(target string, now time.Time) (at time.Time, admitted bool) {
	if l.group.Cards <= 0 {
		return now, true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	posted := l.posted[target]
	if len(posted) < l.group.Cards {
		l.posted[target] = append(posted, now)
		return now, true
	}
	if free := posted[0].Add(l.group.Within); now.Before(free) {
		return free, false
	}
	l.posted[target] = append(posted[1:], now)
	return now, true
}
