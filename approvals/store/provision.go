package store

import (
	"context"
	"errors"
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
	retained time.Duration // of requests and runs, until now
	lost     MissingError  // streams whose loss is accepted
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
	if p.retained, err = b.retention(ctx, o.Retention); err != nil {
		return p, err
	}
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
	name    string
	ttl     time.Duration
	history int64 // records of a key, so that the older one can be erased; 0: one
}

func provisionedBuckets(retention time.Duration) []provisionedBucket {
	return []provisionedBucket{
		{name: BucketRequests, ttl: retention},
		{name: BucketTurns, ttl: TurnTTL},
		{name: BucketRuns, ttl: retention},
		{name: BucketSignals}, // a stopped principal stays so
		{name: BucketGrants},
		{name: BucketDelegations, ttl: DelegationTTL},
		{name: BucketDeliveries, ttl: retention},
		{name: BucketPush},
		{name: BucketLimits, ttl: LimitTTL},
		{name: BucketSecrets, history: 2},
	}
}

// retention returns the time for which runs and requests were kept until now: the server has removed older
// ones, also if they are kept for longer from now on.
func (b provisioner) retention(ctx context.Context, next time.Duration) (retained time.Duration, err error) {
	err = b.WhenReady(ctx, "read the retention", func(ctx context.Context) error {
		stream, err := b.JS.Stream(ctx, "KV_"+BucketRuns)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			retained = next
			return nil
		}
		if err == nil {
			retained = min(next, stream.CachedInfo().Config.MaxAge)
		}
		return err
	})
	return retained, err
}

// unrecorded returns the streams of the versions before 2026-11-23, which recorded no states of
// streams. It must not grow: a state with any other stream has a record.
func unrecorded() []string {
	names := []string{subjects.StreamEvents, subjects.StreamRequests}
	for _, bucket := range []string{BucketRequests, BucketTurns, BucketRuns, BucketGrants, BucketDelegations, BucketDeliveries, BucketPush} {
		names = append(names, "KV_"+bucket)
	}
	return names
}

// kept returns the streams whose messages are deleted by age only.
func kept(retention time.Duration) map[string]time.Duration {
	streams := map[string]time.Duration{subjects.StreamEvents: retention, subjects.StreamRequests: retention}
	for _, bucket := range provisionedBuckets(retention) {
		if bucket.name != BucketTurns && bucket.history == 0 { // turns may be deleted, and older records erased
			streams["KV_"+bucket.name] = bucket.ttl
		}
	}
	return streams
}

func (b provisioner) buckets(ctx context.Context, retention time.Duration) (map[string]jetstream.KeyValue, error) {
	buckets := map[string]jetstream.KeyValue{}
	for _, bucket := range provisionedBuckets(retention) {
		kv, err := b.EnsureBucket(ctx, b.copies, jetstream.StreamConfig{Name: bucket.name, MaxAge: bucket.ttl, MaxMsgsPerSubject: bucket.history})
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
