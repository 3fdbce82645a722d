package store

import (
	"context"
	"errors"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/store/natskv"
)

const (
	pushKey      = "key"        // of Web Push
	challengeKey = "challenges" // of challenges to passkeys
	linkKeys     = "link."      // prefix of the name of a channel: the key of its links
)

// keys has the secret keys of heldcall, which are created once. Their bucket never deletes
// records: a new key would make everything made with the old one invalid.
type keys struct{ bucket natskv.Bucket }

// once returns the key of a name: fresh, if there is none yet.
func (k keys) once(ctx context.Context, name string, fresh []byte) ([]byte, error) {
	entry, err := k.bucket.Get(ctx, name, errNoKey)
	if errors.Is(err, errNoKey) {
		if _, err = k.bucket.CompareAndSet(ctx, name, fresh, 0); err == nil {
			return fresh, nil
		}
		if errors.Is(err, approvals.ErrConflict) { // another replica was faster
			entry, err = k.bucket.Get(ctx, name, approvals.ErrStoreUnavailable)
		}
	}
	if err != nil {
		return nil, err
	}
	return entry.Value(), nil
}

var errNoKey = errors.New("there is no key yet")
