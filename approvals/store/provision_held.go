package store

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
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

// provisionHeld creates or updates the buckets of held turns, and the object store of large
// ones. NATS reserves the bytes of a bound: if it has less room, the bound is halved until
// it fits, and once more for the other streams.
func (b *backend) provisionHeld(ctx context.Context, n copies, maxStored int64, buckets map[string]jetstream.KeyValue) (objects, error) {
	bound := maxStored
	o, err := b.provisionHeldWithin(ctx, n, bound, buckets)
	if !noStorage(err) {
		return o, err
	}
	for ; noStorage(err) && bound > minStored; bound /= 2 {
		o, err = b.provisionHeldWithin(ctx, n, bound/2, buckets)
	}
	if err != nil {
		return o, err
	}
	b.log.Warn("NATS has not enough storage for hold.max_stored; using less", "bytes", bound/2)
	return b.provisionHeldWithin(ctx, n, bound/2, buckets)
}

// noStorage reports whether NATS cannot reserve the storage of a stream.
func noStorage(err error) bool {
	var refused *jetstream.APIError
	const insufficientResources, storageExceeded = 10023, 10047
	return errors.As(err, &refused) && (refused.ErrorCode == insufficientResources || refused.ErrorCode == storageExceeded)
}

func (b *backend) provisionHeldWithin(ctx context.Context, n copies, bound int64, buckets map[string]jetstream.KeyValue) (o objects, err error) {
	for _, config := range []jetstream.StreamConfig{
		{Name: BucketHeld, MaxBytes: bound, AllowMsgTTL: true, SubjectDeleteMarkerTTL: markerTTL},
		{Name: BucketHeldStates, AllowMsgTTL: true, SubjectDeleteMarkerTTL: markerTTL},
		{Name: BucketLeases, MaxAge: leaseAge, Storage: jetstream.MemoryStorage},
	} {
		if buckets[config.Name], err = b.ensureBucket(ctx, n, config); err != nil {
			return o, err
		}
	}
	o.backend = b
	const name = "OBJ_" + BucketHeldObjects
	if o.stream, err = b.ensureStream(ctx, n, jetstream.StreamConfig{
		Name: name, Subjects: []string{"$O." + BucketHeldObjects + ".C.>", "$O." + BucketHeldObjects + ".M.>"},
		MaxBytes: bound, Discard: jetstream.DiscardNew, AllowRollup: true,
	}); err != nil {
		return o, err
	}
	err = b.whenReady(ctx, "open the object store "+BucketHeldObjects, func(ctx context.Context) (err error) {
		o.store, err = b.js.ObjectStore(ctx, BucketHeldObjects)
		return err
	})
	return o, err
}
