package store

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/heldcall/heldcall/approvals/store/natskv"
)

const (
	// markerTTL is the longest time for which a bucket keeps the marker of a value that was
	// deleted by age.
	markerTTL = time.Minute
	// leaseAge is the time for which the bucket of leases keeps one that is not renewed.
	leaseAge = time.Minute
	// minStored is the smallest bound of the held turns, in bytes, that is tried.
	minStored = 1 << 20
)

// heldTurns creates or updates the buckets of held turns, and the object store of large
// ones. NATS reserves the bytes of a bound: if it has less room, the bound is halved until
// it fits, and once more for the other streams.
func (b provisioner) heldTurns(ctx context.Context, maxStored int64, buckets map[string]jetstream.KeyValue) (objects, error) {
	bound := maxStored
	o, err := b.heldTurnsWithin(ctx, bound, buckets)
	if !natskv.NoStorage(err) {
		return o, err
	}
	for ; natskv.NoStorage(err) && bound > minStored; bound /= 2 {
		o, err = b.heldTurnsWithin(ctx, bound/2, buckets)
	}
	if err != nil {
		return o, err
	}
	b.Log.Warn("NATS has not enough storage for hold.max_stored; using less", "bytes", bound/2)
	return b.heldTurnsWithin(ctx, bound/2, buckets)
}

func (b provisioner) heldTurnsWithin(ctx context.Context, bound int64, buckets map[string]jetstream.KeyValue) (o objects, err error) {
	configs := []jetstream.StreamConfig{
		{Name: BucketHeld, MaxBytes: bound, AllowMsgTTL: true, SubjectDeleteMarkerTTL: markerTTL},
		{Name: BucketHeldStates, AllowMsgTTL: true, SubjectDeleteMarkerTTL: markerTTL},
	}
	if b.Disk == nil { // other processes may share the state
		configs = append(configs, jetstream.StreamConfig{Name: BucketLeases, MaxAge: leaseAge, Storage: jetstream.MemoryStorage})
	}
	for _, config := range configs {
		if buckets[config.Name], err = b.EnsureBucket(ctx, b.copies, config); err != nil {
			return o, err
		}
	}
	o.backend = b.Backend
	const name = "OBJ_" + BucketHeldObjects
	if o.stream, err = b.EnsureStream(ctx, b.copies, jetstream.StreamConfig{
		Name: name, Subjects: []string{"$O." + BucketHeldObjects + ".C.>", "$O." + BucketHeldObjects + ".M.>"},
		MaxBytes: bound, Discard: jetstream.DiscardNew, AllowRollup: true,
	}); err != nil {
		return o, err
	}
	err = b.WhenReady(ctx, "open the object store "+BucketHeldObjects, func(ctx context.Context) (err error) {
		o.store, err = b.JS.ObjectStore(ctx, BucketHeldObjects)
		return err
	})
	return o, err
}
