package store

import (
	"context"
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
	held    objects                       // large held turns
	events  jetstream.Stream
}

// copies is the number of copies of the state in a cluster. If the configuration did not
// ask for it, streams that have more keep them.
type copies struct {
	number int
	asked  bool
}

// provision creates or updates the buckets and streams. Options.Replicas is the number of
// copies; 0 means as many as the cluster has servers, at most 3, and not fewer than there are.
func (b *backend) provision(ctx context.Context, o Options) (provisioned, error) {
	ctx, cancel := context.WithTimeout(ctx, provisionTime)
	defer cancel()
	n := copies{o.Replicas, o.Replicas > 0}
	if !n.asked {
		n.number = 1
		if b.conn.ConnectedClusterName() != "" {
			n.number = 3
		}
	}
	// The servers of a cluster that has just started find each other one after the other.
	patient, cancel := context.WithTimeout(ctx, placementTime)
	defer cancel()
	for {
		p, err := b.provisionWith(ctx, n, o)
		if !notEnoughServers(err) {
			return p, err
		}
		select {
		case <-time.After(provisionPause):
			continue
		case <-patient.Done():
		}
		if n.asked || n.number == 1 {
			return p, err
		}
		n.number--
		b.log.Warn("the cluster has too few servers for three copies of the state", "copies", n.number, "error", err)
	}
}

func (b *backend) provisionWith(ctx context.Context, n copies, o Options) (p provisioned, err error) {
	if p.buckets, err = b.provisionBuckets(ctx, n, o.Retention); err != nil {
		return p, err
	}
	if p.held, err = b.provisionHeld(ctx, n, o.MaxStored, p.buckets); err != nil {
		return p, err
	}
	if p.events, err = b.provisionStreams(ctx, n, o.Retention); err != nil {
		return p, err
	}
	err = b.whenReady(ctx, "open the bucket "+BucketTurns, func(ctx context.Context) (err error) {
		p.turns, err = b.js.Stream(ctx, "KV_"+BucketTurns)
		return err
	})
	return p, err
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

func (b *backend) provisionBuckets(ctx context.Context, n copies, retention time.Duration) (map[string]jetstream.KeyValue, error) {
	buckets := map[string]jetstream.KeyValue{}
	for _, bucket := range provisionedBuckets(retention) {
		kv, err := b.ensureBucket(ctx, n, jetstream.StreamConfig{Name: bucket.name, MaxAge: bucket.ttl})
		if err != nil {
			return nil, err
		}
		buckets[bucket.name] = kv
	}
	return buckets, nil
}

// ensureBucket creates or updates a bucket with the name and the settings of c, as the
// NATS library does.
func (b *backend) ensureBucket(ctx context.Context, n copies, c jetstream.StreamConfig) (kv jetstream.KeyValue, err error) {
	name := c.Name
	c.Name, c.Subjects = "KV_"+name, []string{"$KV." + name + ".>"}
	c.MaxMsgsPerSubject, c.Discard, c.AllowRollup, c.DenyDelete = 1, jetstream.DiscardNew, true, true
	if _, err := b.ensureStream(ctx, n, c); err != nil {
		return nil, err
	}
	err = b.whenReady(ctx, "open the bucket "+name, func(ctx context.Context) (err error) {
		kv, err = b.js.KeyValue(ctx, name)
		return err
	})
	return kv, err
}

// provisionStreams creates or updates the streams, and returns that of the events.
func (b *backend) provisionStreams(ctx context.Context, n copies, retention time.Duration) (jetstream.Stream, error) {
	events, err := b.ensureStream(ctx, n, jetstream.StreamConfig{
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
		return nil, fmt.Errorf("the NATS server %s is %s: heldcall needs 2.12 or newer (atomic batches)", b.conn.ConnectedUrlRedacted(), b.conn.ConnectedServerVersion())
	}
	_, err = b.ensureStream(ctx, n, jetstream.StreamConfig{
		Name:        subjects.StreamRequests,
		Description: "heldcall: new requests",
		Subjects:    []string{subjects.All(subjects.Request)},
		Storage:     jetstream.FileStorage,
		MaxAge:      retention,
	})
	return events, err
}
