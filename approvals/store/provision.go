package store

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/heldcall/heldcall/approvals/store/natskv"
	"github.com/heldcall/heldcall/approvals/store/subjects"
)

// duplicateWindow is the time in which JetStream recognises duplicate ids of events. An append is not
// tried again for so long; later ones look for the event in the log. A start reads the events of this time.
const duplicateWindow = time.Minute

// provisioned has the buckets and streams of the store.
type provisioned struct {
	buckets  map[string]jetstream.KeyValue // by name
	requests jetstream.Stream              // of the bucket of requests
	turns    jetstream.Stream              // of the bucket of turns
	held     objects                       // large held turns
	events   jetstream.Stream
	lost     MissingError // streams whose loss is accepted
}

// provisioner creates or updates the buckets and streams, with a number of copies.
type provisioner struct {
	*natskv.Backend
	copies natskv.Copies
}

// provision creates or updates the buckets and streams. With an external server it fails with a
// [MissingError] if streams that it had are missing.
func provision(ctx context.Context, b *natskv.Backend, o Options) (p provisioned, err error) {
	var lost MissingError
	err = b.WithCopies(ctx, o.Replicas, func(ctx context.Context, n natskv.Copies) (err error) {
		if o.URL != "" && len(lost.Streams) == 0 {
			if lost, err = checkMissing(ctx, b, o.AcceptLoss); err != nil {
				return err
			}
		}
		if p, err = (provisioner{b, n}).all(ctx, o); err == nil && o.URL != "" {
			err = recordMade(ctx, b, p.events)
		}
		return err
	})
	p.lost = lost
	return p, err
}

func (b provisioner) all(ctx context.Context, o Options) (p provisioned, err error) {
	if p.buckets, err = b.buckets(ctx, o.Retention); err != nil {
		return p, err
	}
	if p.held, err = b.heldTurns(ctx, o.MaxStored, p.buckets); err != nil {
		return p, err
	}
	if p.events, err = b.streams(ctx, o.Retention); err != nil {
		return p, err
	}
	for bucket, stream := range map[string]*jetstream.Stream{BucketRequests: &p.requests, BucketTurns: &p.turns} {
		err := b.WhenReady(ctx, "open the bucket "+bucket, func(ctx context.Context) (err error) {
			*stream, err = b.JS.Stream(ctx, "KV_"+bucket)
			return err
		})
		if err != nil {
			return p, err
		}
	}
	return p, nil
}

// provisionedBucket is a bucket and the time for which it keeps a record (0: for ever).
type provisionedBucket struct {
	name string
	ttl  time.Duration
}

func provisionedBuckets(retention time.Duration) []provisionedBucket {
	return []provisionedBucket{
		{BucketRequests, retention},
		{BucketTurns, TurnTTL},
		{BucketRuns, retention},
		{BucketSignals, 0}, // a stopped principal stays so
		{BucketGrants, 0},
		{BucketDelegations, DelegationTTL},
		{BucketDeliveries, retention},
		{BucketPush, 0},
		{BucketLimits, LimitTTL},
		{BucketSecrets, 0},
	}
}

// kept returns the streams whose messages are deleted by age only.
func kept(retention time.Duration) map[string]time.Duration {
	streams := map[string]time.Duration{subjects.StreamEvents: retention, subjects.StreamRequests: retention}
	for _, bucket := range provisionedBuckets(retention) {
		if bucket.name != BucketTurns { // turns may be deleted
			streams["KV_"+bucket.name] = bucket.ttl
		}
	}
	return streams
}

func (b provisioner) buckets(ctx context.Context, retention time.Duration) (map[string]jetstream.KeyValue, error) {
	buckets := map[string]jetstream.KeyValue{}
	for _, bucket := range provisionedBuckets(retention) {
		kv, err := b.EnsureBucket(ctx, b.copies, jetstream.StreamConfig{Name: bucket.name, MaxAge: bucket.ttl})
		if err != nil {
			return nil, err
		}
		buckets[bucket.name] = kv
	}
	return buckets, nil
}

// streams creates or updates the streams, and returns that of the events.
func (b provisioner) streams(ctx context.Context, retention time.Duration) (jetstream.Stream, error) {
	events, err := b.EnsureStream(ctx, b.copies, jetstream.StreamConfig{
		Name:               subjects.StreamEvents,
		Description:        "heldcall: audit log",
		Subjects:           []string{subjects.All(subjects.Event)},
		Storage:            jetstream.FileStorage,
		Duplicates:         duplicateWindow,
		DenyDelete:         true,
		AllowAtomicPublish: true,
	})
	if err != nil {
		return nil, err
	}
	if !events.CachedInfo().Config.AllowAtomicPublish {
		return nil, fmt.Errorf("the NATS server %s is %s: heldcall needs 2.12 or newer (atomic batches)", b.Conn.ConnectedUrlRedacted(), b.Conn.ConnectedServerVersion())
	}
	_, err = b.EnsureStream(ctx, b.copies, jetstream.StreamConfig{
		Name:        subjects.StreamRequests,
		Description: "heldcall: new requests",
		Subjects:    []string{subjects.All(subjects.Request)},
		Storage:     jetstream.FileStorage,
		MaxAge:      retention,
	})
	return events, err
}
