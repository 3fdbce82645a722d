package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/approvals/store/natskv"
	"github.com/heldcall/heldcall/approvals/store/subjects"
)

// subscriptionsKey is the prefix of the keys of subscriptions.
const subscriptionsKey = "sub."

// Push has the subscriptions of browsers to Web Push, and the key of heldcall for it.
type Push struct {
	bucket natskv.Bucket
	keys   keys
}

// PushKey returns the private key that identifies heldcall to push services: fresh, if there
// is none yet. It is the same on every replica and after a restart.
func (s *Push) PushKey(ctx context.Context, fresh []byte) ([]byte, error) {
	return s.keys.once(ctx, pushKey, fresh)
}

// PutSubscription records a subscription and replaces one with the same id.
func (s *Push) PutSubscription(ctx context.Context, sub reviewers.Subscription) error {
	value, err := approvals.EncodeJSON(sub)
	if err != nil {
		return fmt.Errorf("encode subscription %s: %w", sub.ID, err)
	}
	return s.bucket.Backend.Write(ctx, natskv.OpWrite, "record subscription "+sub.ID, func(ctx context.Context) error {
		_, err := s.bucket.KV.Put(ctx, subscriptionsKey+subjects.Token(sub.ID), value)
		return err
	})
}

// DeleteSubscription deletes a subscription, if there is one.
func (s *Push) DeleteSubscription(ctx context.Context, id string) error {
	return s.bucket.Backend.Write(ctx, natskv.OpWrite, "delete subscription "+id, func(ctx context.Context) error {
		return s.bucket.KV.Purge(ctx, subscriptionsKey+subjects.Token(id))
	})
}

// WatchSubscriptions calls changed with every subscription and every change of one, and gone
// with the ids of deleted subscriptions.
func (s *Push) WatchSubscriptions(ctx context.Context, changed func(reviewers.Subscription), gone func(id string), loaded func()) error {
	return s.bucket.Watch(ctx, natskv.Watched{
		Current: natskv.Loaded(loaded),
		Entry: func(entry *natskv.Entry) {
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
				s.bucket.Backend.Log.Error("failed to read the record of a subscription", "key", entry.Key(), "error", err)
				return
			}
			changed(sub)
		},
	})
}
