package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
)

const (
	pushKey          = "key"   // of the record with heldcall's own key for Web Push
	linkKeys         = "link." // before the name of a channel: the key of its links
	subscriptionsKey = "sub."  // before the id of a subscription
)

// PushKey is the private key that heldcall shows push services, the same on every
// replica and after every restart: fresh, if there is none yet.
func (s *Store) PushKey(ctx context.Context, fresh []byte) ([]byte, error) {
	return s.secret(ctx, pushKey, fresh)
}

// LinkKey is the key with which the links of a channel are signed, the same on every
// replica and after every restart: fresh, if there is none yet.
func (s *Store) LinkKey(ctx context.Context, channel string, fresh []byte) ([]byte, error) {
	return s.secret(ctx, linkKeys+Token(channel), fresh)
}

// secret reads a key that is made once. It stands in a bucket whose records have no
// end: with another key nothing that the old one made would be heldcall's any more.
func (s *Store) secret(ctx context.Context, key string, fresh []byte) ([]byte, error) {
	entry, err := s.get(ctx, s.push, key, errNoKey)
	if errors.Is(err, errNoKey) {
		if _, err = s.compareAndSet(ctx, s.push, key, fresh, 0); err == nil {
			return fresh, nil
		}
		if errors.Is(err, approvals.ErrConflict) { // another replica was faster
			entry, err = s.get(ctx, s.push, key, approvals.ErrStoreUnavailable)
		}
	}
	if err != nil {
		return nil, err
	}
	return entry.Value(), nil
}

var errNoKey = errors.New("there is no key yet")

// PutSubscription records a subscription, in the place of one with its id.
func (s *Store) PutSubscription(ctx context.Context, sub reviewers.Subscription) error {
	value, err := encode(sub)
	if err != nil {
		return fmt.Errorf("encode subscription %s: %w", sub.ID, err)
	}
	return s.write(ctx, "record subscription "+sub.ID, func(ctx context.Context) error {
		_, err := s.push.Put(ctx, subscriptionsKey+Token(sub.ID), value)
		return err
	})
}

// DeleteSubscription forgets a subscription, if there is one.
func (s *Store) DeleteSubscription(ctx context.Context, id string) error {
	return s.write(ctx, "delete subscription "+id, func(ctx context.Context) error {
		return s.push.Purge(ctx, subscriptionsKey+Token(id))
	})
}

// write does something that does not depend on what is recorded.
func (s *Store) write(ctx context.Context, doing string, do func(context.Context) error) error {
	done, err := s.turn(ctx)
	if err != nil {
		return s.fail(opWrite, doing, err)
	}
	defer done()
	ctx, cancel := bounded(ctx)
	defer cancel()
	if err := do(ctx); err != nil {
		return s.fail(opWrite, doing, err)
	}
	return nil
}

// WatchSubscriptions tells of every subscription, every change of one, and the ids of
// those that are deleted.
func (s *Store) WatchSubscriptions(ctx context.Context, changed func(reviewers.Subscription), gone func(id string), loaded func()) error {
	return s.watch(ctx, watched{
		bucket: s.push,
		loaded: loaded,
		entry: func(entry jetstream.KeyValueEntry) {
			token, is := strings.CutPrefix(entry.Key(), subscriptionsKey)
			if !is {
				return
			}
			if entry.Operation() != jetstream.KeyValuePut {
				if id, err := ParseToken(token); err == nil {
					gone(id)
				}
				return
			}
			var sub reviewers.Subscription
			if err := json.Unmarshal(entry.Value(), &sub); err != nil {
				s.log.Error("a record of a subscription cannot be read", "key", entry.Key(), "error", err)
				return
			}
			changed(sub)
		},
	})
}
