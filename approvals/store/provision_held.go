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

// provisionedHeld has the streams of held turns.
type provisionedHeld struct {
	turns   jetstream.Stream
	objects objects
}

// provisionHeld creates or updates the buckets of held turns, and the object store of large
// ones. NATS reserves the bytes of a bound: if it has less room, the bound is halved until
// it fits, and once more for the other streams.
func (b *backend) provisionHeld(ctx context.Context, replicas int, maxStored int64, buckets map[string]jetstream.KeyValue) (provisionedHeld, error) {
	bound := maxStored
	p, err := b.provisionHeldWithin(ctx, replicas, bound, buckets)
	if !noStorage(err) {
		return p, err
	}
	for ; noStorage(err) && bound > minStored; bound /= 2 {
		p, err = b.provisionHeldWithin(ctx, replicas, bound/2, buckets)
	}
	if err != nil {
		return p, err
	}
	b.log.Warn("NATS has not enough storage for hold.max_stored; using less", "bytes", bound/2)
	return b.provisionHeldWithin(ctx, replicas, bound/2, buckets)
}

// noStorage reports whether NATS cannot reserve the storage of a stream.
func noStorage(err error) bool {
	var refused *jetstream.APIError
	const insufficientResources, storageExceeded = 10023, 10047
	return errors.As(err, &refused) && (refused.ErrorCode == insufficientResources || refused.ErrorCode == storageExceeded)
}

func (b *backend) provisionHeldWithin(ctx context.Context, replicas int, bound int64, buckets map[string]jetstream.KeyValue) (p provisionedHeld, err error) {
	for _, config := range []jetstream.KeyValueConfig{
		{Bucket: BucketHeld, MaxBytes: bound, LimitMarkerTTL: markerTTL, Storage: jetstream.FileStorage},
		{Bucket: BucketHeldStates, LimitMarkerTTL: markerTTL, Storage: jetstream.FileStorage},
		{Bucket: BucketLeases, TTL: leaseAge, Storage: jetstream.MemoryStorage},
	} {
		name := config.Bucket
		config.History, config.Replicas = 1, replicas
		kv, err := b.js.CreateOrUpdateKeyValue(ctx, config)
		if err != nil {
			return p, fmt.Errorf("create the bucket %s: %w", name, err)
		}
		if replicas > 1 {
			if err := b.readFromLeader(ctx, "KV_"+name); err != nil {
				return p, err
			}
			if kv, err = b.js.KeyValue(ctx, name); err != nil {
				return p, fmt.Errorf("open the bucket %s: %w", name, err)
			}
		}
		buckets[name] = kv
	}
	if p.turns, err = b.js.Stream(ctx, "KV_"+BucketHeld); err != nil {
		return p, fmt.Errorf("open the bucket %s: %w", BucketHeld, err)
	}
	p.objects.backend = b
	if p.objects.store, err = b.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{
		Bucket: BucketHeldObjects, MaxBytes: bound, Storage: jetstream.FileStorage, Replicas: replicas,
	}); err != nil {
		return p, fmt.Errorf("create the object store %s: %w", BucketHeldObjects, err)
	}
	if replicas > 1 {
		if err := b.readFromLeader(ctx, "OBJ_"+BucketHeldObjects); err != nil {
			return p, err
		}
	}
	if p.objects.stream, err = b.js.Stream(ctx, "OBJ_"+BucketHeldObjects); err != nil {
		return p, fmt.Errorf("open the object store %s: %w", BucketHeldObjects, err)
	}
	return p, nil
}
