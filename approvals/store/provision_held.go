package store

import (
	"context"
	"errors"
	"fmt"
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
// it fits.
func (b *backend) provisionHeld(ctx context.Context, replicas int, bound int64, buckets map[string]jetstream.KeyValue) (o objects, err error) {
	for {
		o, err = b.provisionHeldWithin(ctx, replicas, bound, buckets)
		if !noStorage(err) || bound <= minStored {
			return o, err
		}
		bound /= 2
		b.log.Warn("NATS has not enough storage for hold.max_stored; using less", "bytes", bound)
	}
}

// noStorage reports whether NATS cannot reserve the storage of a stream.
func noStorage(err error) bool {
	var refused *jetstream.APIError
	const insufficientResources, storageExceeded = 10023, 10047
	return errors.As(err, &refused) && (refused.ErrorCode == insufficientResources || refused.ErrorCode == storageExceeded)
}

func (b *backend) provisionHeldWithin(ctx context.Context, replicas int, bound int64, buckets map[string]jetstream.KeyValue) (o objects, err error) {
	for _, config := range []jetstream.KeyValueConfig{
		{Bucket: BucketHeld, MaxBytes: bound, LimitMarkerTTL: markerTTL, Storage: jetstream.FileStorage},
		{Bucket: BucketHeldStates, LimitMarkerTTL: markerTTL, Storage: jetstream.FileStorage},
		{Bucket: BucketLeases, TTL: leaseAge, Storage: jetstream.MemoryStorage},
	} {
		name := config.Bucket
		config.History, config.Replicas = 1, replicas
		kv, err := b.js.CreateOrUpdateKeyValue(ctx, config)
		if err != nil {
			return o, fmt.Errorf("create the bucket %s: %w", name, err)
		}
		if replicas > 1 {
			if err := b.readFromLeader(ctx, "KV_"+name); err != nil {
				return o, err
			}
			if kv, err = b.js.KeyValue(ctx, name); err != nil {
				return o, fmt.Errorf("open the bucket %s: %w", name, err)
			}
		}
		buckets[name] = kv
	}
	o.backend = b
	if o.store, err = b.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{
		Bucket: BucketHeldObjects, MaxBytes: bound, Storage: jetstream.FileStorage, Replicas: replicas,
	}); err != nil {
		return o, fmt.Errorf("create the object store %s: %w", BucketHeldObjects, err)
	}
	if replicas > 1 {
		if err := b.readFromLeader(ctx, "OBJ_"+BucketHeldObjects); err != nil {
			return o, err
		}
	}
	if o.stream, err = b.js.Stream(ctx, "OBJ_"+BucketHeldObjects); err != nil {
		return o, fmt.Errorf("open the object store %s: %w", BucketHeldObjects, err)
	}
	return o, nil
}
