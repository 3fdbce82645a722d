package store

import (
	"context"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/heldcall/heldcall/approvals/store/natskv"
	"github.com/heldcall/heldcall/approvals/store/subjects"
)

// Leases are the signs of life of the processes that share an external server. They are
// the [heldturns.Leases].
type Leases struct{ bucket natskv.Bucket }

// Renew records that a process lives.
func (l *Leases) Renew(ctx context.Context, owner string) error {
	return l.bucket.Backend.Write(ctx, natskv.OpWrite, "renew a lease", func(ctx context.Context) error {
		_, err := l.bucket.KV.Put(ctx, subjects.Token(owner), nil)
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
// not reported.
func (l *Leases) Watch(ctx context.Context, renewed, removed func(owner string)) error {
	return l.bucket.Watch(ctx, natskv.Watched{Keys: true, Current: func(bool) {}, Entry: func(entry *natskv.Entry) {
		owner, err := subjects.ParseToken(entry.Key())
		switch {
		case err != nil:
		case entry.Operation() == jetstream.KeyValuePut:
			renewed(owner)
		default:
			removed(owner)
		}
	}})
}
