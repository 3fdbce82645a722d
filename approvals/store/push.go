package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/approvals/store/subjects"
)

// subscriptionsKey is before the id of a subscription.
const subscriptionsKey = "sub."

// Push are the subscriptions of browsers to Web Push, and heldcall's key for it.
type Push struct {
	bucket bucket
	keys   keys
}

// PushKey is the private key that identifies heldcall to push services, the same on
// every replica and after every restart: fresh, if there is none yet.
func (s *Push) PushKey(ctx context.Context, fresh []byte) ([]byte, error) {
	return s.keys.once(ctx, pushKey, fresh)
}

// PutSubscription records a subscription, in the place of one with its id.
func (s *Push) PutSubscription(ctx context.Context, sub reviewers.Subscription) error {
	value, err := approvals.EncodeJSON(sub)
	if err != nil {
		return fmt.Errorf("encode subscription %s: %w", sub.ID, err)
	}
	return s.bucket.backend.write(ctx, opWrite, "record subscription "+sub.ID, func(ctx context.Context) error {
		_, err := s.bucket.kv.Put(ctx, subscriptionsKey+subjects.Token(sub.ID), value)
		return err
	})
}

// DeleteSubscription deletes a subscription, if there is one.
func (s *Push) DeleteSubscription(ctx context.Context, id string) error {
	return s.bucket.backend.write(ctx, opWrite, "delete subscription "+id, func(ctx context.Context) error {
		return s.bucket.kv.Purge(ctx, subscriptionsKey+subjects.Token(id))
	})
}

// WatchSubscriptions calls changed with every subscription and every change of one,
// and gone with the ids of those that are deleted.
func (s *Push) WatchSubscriptions(ctx context.Context, changed func(reviewers.Subscription), gone func(id string), loaded func()) error {
	return s.bucket.watch(ctx, watched{
		loaded: loaded,
		entry: func(entry jetstream.KeyValueEntry) {
			token, is := strings.CutPrefix(entry.Key(), subscriptionsKey)
			if !is {
				return
			}
			if entry.Operation() != jetstream.KeyValuePut {
				if id, err := subjects.ParseToken(token); err == nil {
					gone(id)
				}
				return
			}
			var sub reviewers.Subscription
			if err := json.Unmarshal(entry.Value(), &sub); err != nil {
				s.bucket.backend.log.Error("a record of a subscription cannot be read", "key", entry.Key(), "error", err)
				return
			}
			changed(sub)
		},
	})
}
