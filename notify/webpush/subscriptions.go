package webpush

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/heldcall/heldcall/approvals/reviewers"
)

// Store keeps subscriptions, and the key that push services know heldcall by.
type Store interface {
	PushKey(ctx context.Context, fresh []byte) ([]byte, error)
	PutSubscription(ctx context.Context, s reviewers.Subscription) error
	DeleteSubscription(ctx context.Context, id string) error
	WatchSubscriptions(ctx context.Context, changed func(reviewers.Subscription), gone func(id string), loaded func()) error
}

// subscriptions are those of the store, kept in memory.
type subscriptions struct {
	store  Store
	loaded chan struct{}

	mu   sync.RWMutex
	byID map[string]reviewers.Subscription
}

func newSubscriptions(store Store) *subscriptions {
	return &subscriptions{store: store, loaded: make(chan struct{}), byID: map[string]reviewers.Subscription{}}
}

func (ss *subscriptions) follow(ctx context.Context) error {
	return ss.store.WatchSubscriptions(ctx, ss.keep, ss.forget, func() { close(ss.loaded) })
}

func (ss *subscriptions) add(ctx context.Context, s reviewers.Subscription) error {
	if err := ss.store.PutSubscription(ctx, s); err != nil {
		return err
	}
	ss.keep(s)
	return nil
}

func (ss *subscriptions) remove(ctx context.Context, id string) error {
	if err := ss.store.DeleteSubscription(ctx, id); err != nil {
		return err
	}
	ss.forget(id)
	return nil
}

func (ss *subscriptions) keep(s reviewers.Subscription) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.byID[s.ID] = s
}

func (ss *subscriptions) forget(id string) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	delete(ss.byID, id)
}

func (ss *subscriptions) empty() bool {
	ss.mu.RLock()
	defer ss.mu.RUnlock()
	return len(ss.byID) == 0
}

// matching returns the subscriptions that a predicate holds for, the latest first.
func (ss *subscriptions) matching(keep func(reviewers.Subscription) bool) []reviewers.Subscription {
	list := []reviewers.Subscription{}
	ss.mu.RLock()
	for _, s := range ss.byID {
		if keep(s) {
			list = append(list, s)
		}
	}
	ss.mu.RUnlock()
	slices.SortFunc(list, func(a, b reviewers.Subscription) int {
		return strings.Compare(b.CreatedAt.Format(time.RFC3339Nano)+b.ID, a.CreatedAt.Format(time.RFC3339Nano)+a.ID)
	})
	return list
}

func (ss *subscriptions) of(reviewer string) []reviewers.Subscription {
	return ss.matching(func(s reviewers.Subscription) bool { return s.Reviewer == reviewer })
}

// except returns the subscriptions without those of some ids.
func (ss *subscriptions) except(ids []string) []reviewers.Subscription {
	return ss.matching(func(s reviewers.Subscription) bool { return !slices.Contains(ids, s.ID) })
}

// known returns the subscriptions of ids that still exist.
func (ss *subscriptions) known(ids []string) []reviewers.Subscription {
	return ss.matching(func(s reviewers.Subscription) bool { return slices.Contains(ids, s.ID) })
}
