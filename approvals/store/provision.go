package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// duplicateWindow is how long the log remembers ids of events by itself.
const duplicateWindow = 10 * time.Minute

// provision makes or updates the buckets and streams.
func (s *Store) provision(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	replicas := s.opts.Replicas
	if replicas == 0 {
		replicas = 1
		if s.conn.ConnectedClusterName() != "" {
			replicas = 3
		}
	}
	err := s.provisionWith(ctx, replicas)
	for s.opts.Replicas == 0 && replicas > 1 && notEnoughServers(err) {
		replicas--
		err = s.provisionWith(ctx, replicas)
	}
	return err
}

// notEnoughServers reports that a cluster is smaller than the copies asked for.
func notEnoughServers(err error) bool {
	var refused *jetstream.APIError
	const noSuitablePeers, notClustered = 10005, 10074
	return errors.As(err, &refused) && (refused.ErrorCode == noSuitablePeers || refused.ErrorCode == notClustered)
}

func (s *Store) provisionWith(ctx context.Context, replicas int) error {
	if err := s.provisionBuckets(ctx, replicas); err != nil {
		return err
	}
	if err := s.provisionStreams(ctx, replicas); err != nil {
		return err
	}
	var err error
	if s.turnStream, err = s.js.Stream(ctx, "KV_"+BucketTurns); err != nil {
		return fmt.Errorf("open the bucket %s: %w", BucketTurns, err)
	}
	return nil
}

func (s *Store) provisionBuckets(ctx context.Context, replicas int) error {
	for _, b := range []struct {
		name string
		ttl  time.Duration
		into *jetstream.KeyValue
	}{
		{BucketRequests, s.opts.Retention, &s.requests},
		{BucketTurns, TurnTTL, &s.turns},
		{BucketRuns, s.opts.Retention, &s.runs},
		{BucketGrants, 0, &s.grants},
		{BucketDelegations, DelegationTTL, &s.delegations},
		{BucketNotes, s.opts.Retention, &s.notes},
		{BucketPush, 0, &s.push},
	} {
		kv, err := s.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket:   b.name,
			History:  1,
			TTL:      b.ttl,
			Storage:  jetstream.FileStorage,
			Replicas: replicas,
		})
		if err != nil {
			return fmt.Errorf("make the bucket %s: %w", b.name, err)
		}
		if replicas > 1 {
			if kv, err = s.readFromLeader(ctx, b.name); err != nil {
				return err
			}
		}
		*b.into = kv
	}
	return nil
}

func (s *Store) provisionStreams(ctx context.Context, replicas int) error {
	events, err := s.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name:               StreamEvents,
		Description:        "heldcall: audit log",
		Subjects:           []string{allOf(EventSubject)},
		Storage:            jetstream.FileStorage,
		Replicas:           replicas,
		Duplicates:         duplicateWindow,
		DenyDelete:         true,
		AllowDirect:        replicas == 1,
		AllowAtomicPublish: true,
	})
	if err != nil {
		return fmt.Errorf("make the stream %s: %w", StreamEvents, err)
	}
	if !events.CachedInfo().Config.AllowAtomicPublish {
		return fmt.Errorf("the NATS server %s is %s: heldcall needs 2.12 or newer (atomic batches)", s.conn.ConnectedUrlRedacted(), s.conn.ConnectedServerVersion())
	}
	s.events = events
	_, err = s.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name:        StreamRequests,
		Description: "heldcall: new requests",
		Subjects:    []string{allOf(RequestSubject)},
		Storage:     jetstream.FileStorage,
		Replicas:    replicas,
		MaxAge:      s.opts.Retention,
		AllowDirect: replicas == 1,
	})
	if err != nil {
		return fmt.Errorf("make the stream %s: %w", StreamRequests, err)
	}
	return nil
}

// readFromLeader makes reads of a replicated bucket see every write that was
// acknowledged before: a follower may lag behind.
func (s *Store) readFromLeader(ctx context.Context, bucket string) (jetstream.KeyValue, error) {
	stream, err := s.js.Stream(ctx, "KV_"+bucket)
	if err != nil {
		return nil, fmt.Errorf("open the bucket %s: %w", bucket, err)
	}
	config := stream.CachedInfo().Config
	config.AllowDirect = false
	if _, err := s.js.UpdateStream(ctx, config); err != nil {
		return nil, fmt.Errorf("make reads of the bucket %s consistent: %w", bucket, err)
	}
	kv, err := s.js.KeyValue(ctx, bucket)
	if err != nil {
		return nil, fmt.Errorf("open the bucket %s: %w", bucket, err)
	}
	return kv, nil
}
