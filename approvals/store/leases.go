package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/heldcall/heldcall/approvals/store/natskv"
	"github.com/heldcall/heldcall/approvals/store/subjects"
)

// Leases are the signs of life of the processes that share an external server. They are
// the [heldturns.Leases].
type Leases struct{ bucket natskv.Bucket }

// leaseRecord is a lease as it is stored.
type leaseRecord struct {
	Unrecorded []string `json:"unrecorded,omitempty"` // turns
}

// Renew records that a process lives, and the turns whose agents may have left without a
// record of it.
func (l *Leases) Renew(ctx context.Context, owner string, unrecorded []string) error {
	text, err := json.Marshal(leaseRecord{unrecorded})
	if err != nil {
		return fmt.Errorf("encode a lease: %w", err)
	}
	return l.bucket.Backend.Write(ctx, natskv.OpWrite, "renew a lease", func(ctx context.Context) error {
		_, err := l.bucket.KV.Put(ctx, subjects.Token(owner), text)
		return err
	})
}

// Remove records that a process has ended.
func (l *Leases) Remove(ctx context.Context, owner string) error {
	return l.bucket.Backend.Write(ctx, natskv.OpWrite, "remove a lease", func(ctx context.Context) error {
		return l.bucket.KV.Purge(ctx, subjects.Token(owner))
	})
}

// Watch calls renewed and removed with the ids of processes. Leases that are not renewed are
// not reported. One without turns that can be read has none.
func (l *Leases) Watch(ctx context.Context, renewed func(owner string, unrecorded []string), removed func(owner string)) error {
	return l.bucket.Watch(ctx, natskv.Watched{Current: func(bool) {}, Entry: func(entry *natskv.Entry) {
		owner, err := subjects.ParseToken(entry.Key())
		switch {
		case err != nil:
		case entry.Operation() == jetstream.KeyValuePut:
			var lease leaseRecord
			_ = json.Unmarshal(entry.Value(), &lease)
			renewed(owner, lease.Unrecorded)
		default:
			removed(owner)
		}
	}})
}
