package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/approvals/store/natskv"
	"github.com/heldcall/heldcall/approvals/store/subjects"
)

// passkeysKey is the prefix of the keys of passkeys, before the name of a reviewer.
const passkeysKey = "passkeys."

// Passkeys has the passkeys of reviewers, and the key of heldcall for challenges.
type Passkeys struct {
	bucket natskv.Bucket
	keys   keys
}

// ForPasskeys returns the passkeys of reviewers, which are beside their browsers.
func (s *Store) ForPasskeys() *Passkeys { return &Passkeys{s.Push.bucket, s.Push.keys} }

// ChallengeKey returns the secret key of challenges: fresh, if there is none yet. It is the
// same on every replica and after a restart.
func (s *Passkeys) ChallengeKey(ctx context.Context, fresh []byte) ([]byte, error) {
	return s.keys.once(ctx, challengeKey, fresh)
}

var errNoPasskeys = errors.New("there are no passkeys yet")

// ReadPasskeys returns the passkeys of a reviewer and the revision of their record, 0 for none.
func (s *Passkeys) ReadPasskeys(ctx context.Context, reviewer string) (all reviewers.Passkeys, revision uint64, err error) {
	entry, err := s.bucket.Get(ctx, passkeysKey+subjects.Token(reviewer), errNoPasskeys)
	if errors.Is(err, errNoPasskeys) {
		return reviewers.Passkeys{Reviewer: reviewer}, 0, nil
	}
	if err != nil {
		return all, 0, err
	}
	if err := json.Unmarshal(entry.Value(), &all); err != nil {
		return all, 0, approvals.Unavailable("read the passkeys of "+reviewer, err)
	}
	return all, entry.Revision(), nil
}

// WritePasskeys replaces the passkeys of a reviewer at a revision, else it fails with
// [approvals.ErrConflict].
func (s *Passkeys) WritePasskeys(ctx context.Context, all reviewers.Passkeys, revision uint64) error {
	value, err := approvals.EncodeJSON(all)
	if err != nil {
		return fmt.Errorf("encode the passkeys of %s: %w", all.Reviewer, err)
	}
	_, err = s.bucket.CompareAndSet(ctx, passkeysKey+subjects.Token(all.Reviewer), value, revision)
	return err
}
