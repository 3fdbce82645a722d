package store

import (
	"context"
	"errors"

	"github.com/heldcall/heldcall/approvals"
)

const (
	pushKey  = "key"   // heldcall's own key for Web Push
	linkKeys = "link." // before the name of a channel: the key of its links
)

// keys are secret keys of heldcall that are made once. Their bucket keeps records
// without end: with a new key everything that was made with the old one is invalid.
type keys struct{ bucket bucket }

// once returns the key of a name: fresh, if there is none yet.
func (k keys) once(ctx context.Context, name string, fresh []byte) ([]byte, error) {
	entry, err := k.bucket.get(ctx, name, errNoKey)
	if errors.Is(err, errNoKey) {
		if _, err = k.bucket.compareAndSet(ctx, name, fresh, 0); err == nil {
			return fresh, nil
		}
		if errors.Is(err, approvals.ErrConflict) { // another replica was faster
			entry, err = k.bucket.get(ctx, name, approvals.ErrStoreUnavailable)
		}
	}
	if err != nil {
		return nil, err
	}
	return entry.Value(), nil
}

var errNoKey = errors.New("there is no key yet")
