package memstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
)

// Push has the subscriptions of browsers to Web Push, and the key of heldcall for it.
type Push struct{ process *process }

// PushKey returns the private key that identifies heldcall to push services: fresh, if there is none
// yet.
func (s *Push) PushKey(ctx context.Context, fresh []byte) ([]byte, error) {
	return s.process.once(ctx, "of Web Push", fresh)
}

// PutSubscription records a subscription and replaces one with the same id.
func (s *Push) PutSubscription(ctx context.Context, sub reviewers.Subscription) error {
	value, err := approvals.EncodeJSON(sub)
	if err != nil {
		return fmt.Errorf("encode subscription %s: %w", sub.ID, err)
	}
	return s.process.do(ctx, "record subscription "+sub.ID, func() error {
		s.process.memory.push.set(row{key: sub.ID, value: value})
		return nil
	})
}

// DeleteSubscription deletes a subscription, if there is one.
func (s *Push) DeleteSubscription(ctx context.Context, id string) error {
	return s.process.do(ctx, "delete subscription "+id, func() error {
		s.process.memory.push.set(row{key: id, mark: removed})
		return nil
	})
}

// WatchSubscriptions calls changed with every subscription and every change of one, and gone with the
// ids of deleted subscriptions.
func (s *Push) WatchSubscriptions(ctx context.Context, changed func(reviewers.Subscription), gone func(id string), whenLoaded func()) error {
	return s.process.watch(ctx, &s.process.memory.push, watched{current: loaded(whenLoaded), change: func(r row) {
		if !r.live() {
			gone(r.key)
			return
		}
		var sub reviewers.Subscription
		if err := json.Unmarshal(r.value, &sub); err != nil {
			panic(fmt.Sprintf("decode subscription %s: %v", r.key, err))
		}
		changed(sub)
	}})
}

// Passkeys has the passkeys of reviewers, and the key of heldcall for challenges.
type Passkeys struct{ process *process }

// ChallengeKey returns the secret key of challenges: fresh, if there is none yet.
func (s *Passkeys) ChallengeKey(ctx context.Context, fresh []byte) ([]byte, error) {
	return s.process.once(ctx, "of challenges", fresh)
}

// ReadPasskeys returns the passkeys of a reviewer and the revision of their record, 0 for none.
func (s *Passkeys) ReadPasskeys(ctx context.Context, reviewer string) (all reviewers.Passkeys, revision uint64, err error) {
	all.Reviewer = reviewer
	err = s.process.do(ctx, "read the passkeys of "+reviewer, func() error {
		r, err := s.process.memory.passkeys.get(reviewer)
		if errors.Is(err, errNoRow) {
			return nil
		}
		revision = r.revision
		return json.Unmarshal(r.value, &all)
	})
	return all, revision, err
}

// WritePasskeys replaces the passkeys of a reviewer at a revision, else it fails with
// [approvals.ErrConflict].
func (s *Passkeys) WritePasskeys(ctx context.Context, all reviewers.Passkeys, revision uint64) error {
	value, err := approvals.EncodeJSON(all)
	if err != nil {
		return fmt.Errorf("encode the passkeys of %s: %w", all.Reviewer, err)
	}
	return s.process.do(ctx, "write the passkeys of "+all.Reviewer, func() error {
		_, err := s.process.memory.passkeys.compareAndSet(row{key: all.Reviewer, value: value}, revision)
		return err
	})
}
