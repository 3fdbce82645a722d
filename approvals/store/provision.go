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
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
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
	buckets := []struct {
		name string
		ttl  time.Duration
		into *jetstream.KeyValue
	}{
		{BucketRequests, s.opts.Retention, &s.requests},
		{BucketTurns, TurnTTL, &s.turns},
		{BucketRuns, s.opts.Retention, &s.runs},
		{BucketGrants, 0, new(jetstream.KeyValue)},
	}
	for _, b := range buckets {
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
		*b.into = kv
	}
	streams := []struct {
		config jetstream.StreamConfig
		into   *jetstream.Stream
	}{
		{jetstream.StreamConfig{
			Name:               StreamEvents,
			Description:        "heldcall: audit log",
			Subjects:           []string{"heldcall.v1.events.>"},
			Storage:            jetstream.FileStorage,
			Replicas:           replicas,
			Duplicates:         duplicateWindow,
			DenyDelete:         true,
			AllowDirect:        replicas == 1,
			AllowAtomicPublish: true,
		}, &s.events},
		{jetstream.StreamConfig{
			Name:        StreamRequests,
			Description: "heldcall: new requests",
			Subjects:    []string{"heldcall.v1.requests.>"},
			Storage:     jetstream.FileStorage,
			Replicas:    replicas,
			MaxAge:      s.opts.Retention,
			AllowDirect: true,
		}, new(jetstream.Stream)},
	}
	for _, st := range streams {
		stream, err := s.js.CreateOrUpdateStream(ctx, st.config)
		if err != nil {
			return fmt.Errorf("make the stream %s: %w", st.config.Name, err)
		}
		*st.into = stream
	}
	if !s.events.CachedInfo().Config.AllowAtomicPublish {
		return fmt.Errorf("the NATS server %s is %s: heldcall needs 2.12 or newer (atomic batches)", s.conn.ConnectedUrlRedacted(), s.conn.ConnectedServerVersion())
	}
	var err error
	if s.requestStream, err = s.js.Stream(ctx, "KV_"+BucketRequests); err != nil {
		return fmt.Errorf("open the bucket %s: %w", BucketRequests, err)
	}
	if s.turnStream, err = s.js.Stream(ctx, "KV_"+BucketTurns); err != nil {
		return fmt.Errorf("open the bucket %s: %w", BucketTurns, err)
	}
	return nil
}
