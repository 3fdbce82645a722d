package webpush

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/heldcall/heldcall/approvals/reviewers"
)

// browsers are the subscriptions that are recorded. It is safe for concurrent use.
type browsers struct {
	mu   sync.RWMutex
	byID map[string]reviewers.Subscription
}

func newBrowsers() *browsers { return &browsers{byID: map[string]reviewers.Subscription{}} }

func (b *browsers) put(s reviewers.Subscription) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.byID[s.ID] = s
}

func (b *browsers) remove(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.byID, id)
}

func (b *browsers) get(id string) (s reviewers.Subscription, known bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	s, known = b.byID[id]
	return s, known
}

func (b *browsers) any() bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return len(b.byID) > 0
}

// all returns the subscriptions, the latest first.
func (b *browsers) all() []reviewers.Subscription {
	b.mu.RLock()
	all := slices.AppendSeq(make([]reviewers.Subscription, 0, len(b.byID)), maps.Values(b.byID))
	b.mu.RUnlock()
	slices.SortFunc(all, func(a, b reviewers.Subscription) int {
		return strings.Compare(b.CreatedAt.Format(time.RFC3339Nano)+b.ID, a.CreatedAt.Format(time.RFC3339Nano)+a.ID)
	})
	return all
}
