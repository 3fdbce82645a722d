package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/heldcall/heldcall/approvals/store/subjects"
)

// duplicateWindow is the time in which JetStream recognises duplicate ids of events.
const duplicateWindow = 10 * time.Minute

// provisioned has the buckets and streams of the store.
type provisioned struct {
	buckets map[string]jetstream.KeyValue // by name
	turns   jetstream.Stream              // of the bucket of turns
	held    provisionedHeld
	events  jetstream.Stream
}

// provision creates or updates the buckets and streams. replicas is the number of copies; 0
// means as many as the cluster has servers, at most 3.
func (b *backend) provision(ctx context.Context, o Options) (p provisioned, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	asked, replicas := o.Replicas, o.Replicas
	if replicas == 0 {
		replicas = 1
		if b.conn.ConnectedClusterName() != "" {
			replicas = 3
		}
	}
	p, err = b.provisionWith(ctx, replicas, o)
	for asked == 0 && replicas > 1 && notEnoughServers(err) {
		replicas--
		p, err = b.provisionWith(ctx, replicas, o)
	}
	return p, err
}

// notEnoughServers reports whether a cluster has fewer servers than copies.
func notEnoughServers(err error) bool {
	var refused *jetstream.APIError
	const noSuitablePeers, notClustered = 10005, 10074
	return errors.As(err, &refused) && (refused.ErrorCode == noSuitablePeers || refused.ErrorCode == notClustered)
}

func (b *backend) provisionWith(ctx context.Context, replicas int, o Options) (p provisioned, err error) {
	if p.buckets, err = b.provisionBuckets(ctx, replicas, o.Retention); err != nil {
		return p, err
	}
	if p.held, err = b.provisionHeld(ctx, replicas, o.MaxStored, p.buckets); err != nil {
		return p, err
	}
	if p.events, err = b.provisionStreams(ctx, replicas, o.Retention); err != nil {
		return p, err
	}
	if p.turns, err = b.js.Stream(ctx, "KV_"+BucketTurns); err != nil {
		return p, fmt.Errorf("open the bucket %s: %w", BucketTurns, err)
	}
	return p, nil
}

func (b *backend) provisionBuckets(ctx context.Context, replicas int, retention time.Duration) (map[string]jetstream.KeyValue, error) {
	buckets := map[string]jetstream.KeyValue{}
	for _, bucket := range []struct {
		name string
		ttl  time.Duration
	}{
		{BucketRequests, retention},
		{BucketTurns, TurnTTL},
		{BucketRuns, retention},
		{BucketGrants, 0},
		{BucketDelegations, DelegationTTL},
		{BucketDeliveries, retention},
		{BucketPush, 0},
	} {
		kv, err := b.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket:   bucket.name,
			History:  1,
			TTL:      bucket.ttl,
			Storage:  jetstream.FileStorage,
			Replicas: replicas,
		})
		if err != nil {
			return nil, fmt.Errorf("create the bucket %s: %w", bucket.name, err)
		}
		if replicas > 1 {
			if err = b.readFromLeader(ctx, "KV_"+bucket.name); err != nil {
				return nil, err
			}
			if kv, err = b.js.KeyValue(ctx, bucket.name); err != nil {
				return nil, fmt.Errorf("open the bucket %s: %w", bucket.name, err)
			}
		}
		buckets[bucket.name] = kv
	}
	return buckets, nil
}

// provisionStreams creates or updates the streams, and returns that of the events.
func (b *backend) provisionStreams(ctx context.Context, replicas int, retention time.Duration) (jetstream.Stream, error) {
	events, err := b.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name:               subjects.StreamEvents,
		Description:        "heldcall: audit log",
		Subjects:           []string{subjects.All(subjects.Event)},
		Storage:            jetstream.FileStorage,
		Replicas:           replicas,
		Duplicates:         duplicateWindow,
		DenyDelete:         true,
		AllowDirect:        replicas == 1,
		AllowAtomicPublish: true,
	})
	if err != nil {
		return nil, fmt.Errorf("create the stream %s: %w", subjects.StreamEvents, err)
	}
	if !events.CachedInfo().Config.AllowAtomicPublish {
		return nil, fmt.Errorf("the NATS server %s is %s: heldcall needs 2.12 or newer (atomic batches)", b.conn.ConnectedUrlRedacted(), b.conn.ConnectedServerVersion())
	}
	_, err = b.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name:        subjects.StreamRequests,
		Description: "heldcall: new requests",
		Subjects:    []string{subjects.All(subjects.Request)},
		Storage:     jetstream.FileStorage,
		Replicas:    replicas,
		MaxAge:      retention,
		AllowDirect: replicas == 1,
	})
	if err != nil {
		return nil, fmt.Errorf("create the stream %s: %w", subjects.StreamRequests, err)
	}
	return events, nil
}

// readFromLeader lets the leader answer the reads of a replicated bucket: a follower may not
// have the last write yet.
func (b *backend) readFromLeader(ctx context.Context, name string) error {
	stream, err := b.js.Stream(ctx, name)
	if err != nil {
		return fmt.Errorf("open the stream %s: %w", name, err)
	}
	config := stream.CachedInfo().Config
	config.AllowDirect = false
	if _, err := b.js.UpdateStream(ctx, config); err != nil {
		return fmt.Errorf("make reads of the stream %s consistent: %w", name, err)
	}
	return nil
}
