// Package store hides that the state of heldcall is in NATS JetStream. There is a type for each
// bucket, and one for the audit log. The NATS server is embedded, or Options.URL names an external
// one; the code is the same for both.
//
// Read [Open], provision.go (the buckets and streams), records.go, a bucket such as
// requests.go or turns.go. Package natskv has compare-and-set and watches.
package store

import (
	"context"
	"errors"
	"sync"
	"time"

	natsgo "github.com/nats-io/nats.go"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/store/natskv"
	"github.com/heldcall/heldcall/approvals/store/requestindex"
)

// Store is the whole state. Its parts are safe for concurrent use.
type Store struct {
	Requests    *Requests
	Runs        *Records[approvals.Run]
	Signals     *Records[approvals.PrincipalSignal]
	Delegations *Records[approvals.Delegation]
	Grants      *Grants
	Turns       *Turns
	Events      *EventLog
	Deliveries  *Deliveries
	Push        *Push
	Limits      *Limits
	Secrets     *Secrets
	HeldTurns   *HeldTurns

	backend  *natskv.Backend
	server   natsServer
	workers  workers
	retained time.Duration
}

// Retained returns the shortest time for which requests and runs were kept before the start, and are
// kept now.
func (s *Store) Retained() time.Duration { return s.retained }

// GateStore has the parts of a store that a gate needs: it is an [approvals.Store].
type GateStore struct {
	*Requests
	approvals.EventStore
	runs        *Records[approvals.Run]
	signals     *Records[approvals.PrincipalSignal]
	delegations *Records[approvals.Delegation]
}

// Runs returns the records of runs.
func (s GateStore) Runs() approvals.Records[approvals.Run] { return s.runs }

// Signals returns the records of signals by principal.
func (s GateStore) Signals() approvals.Records[approvals.PrincipalSignal] { return s.signals }

// Delegations returns the records of delegations.
func (s GateStore) Delegations() approvals.Records[approvals.Delegation] { return s.delegations }

// ForGate returns the parts that a gate needs.
func (s *Store) ForGate() GateStore {
	return GateStore{s.Requests, s.Events, s.Runs, s.Signals, s.Delegations}
}

// GrantStore has the parts of a store that grants need: it is an [approvals.GrantStore].
type GrantStore struct {
	*Grants
	*EventLog
}

// ForGrants returns the parts that grants need.
func (s *Store) ForGrants() GrantStore { return GrantStore{s.Grants, s.Events} }

// HeldTurnStore has the parts of a store that a keeper of held turns needs: it is a
// [heldturns.Store].
type HeldTurnStore struct {
	*HeldTurns
	approvals.EventStore
}

// ForHeldTurns returns the parts that a keeper of held turns needs.
func (s *Store) ForHeldTurns() HeldTurnStore { return HeldTurnStore{s.HeldTurns, s.Events} }

// Open starts the embedded NATS server or connects to the external one, creates missing
// buckets and streams, and loads the index of turns. It fails if another process uses the
// folder, and with an [embedded.LossError] or a [MissingError] if a part of the state is
// missing.
func Open(ctx context.Context, o Options) (*Store, error) {
	o = o.withDefaults()
	s := &Store{backend: natskv.NewBackend(o.Log, o.Registerer)}
	s.workers.shutDown = sync.OnceValue(s.shutDown)
	if err := s.open(ctx, o); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Store) open(ctx context.Context, o Options) error {
	if err := s.connect(o); err != nil {
		return err
	}
	p, err := provision(ctx, s.backend, o)
	if err != nil {
		return err
	}
	s.server.lost, s.retained = p.lost, p.retained
	if s.server.local != nil {
		if err := s.server.local.serveConsumers(); err != nil {
			return err
		}
	}
	index, err := s.openIndex(p.requests, o)
	if err != nil {
		return err
	}
	s.makeParts(p, index, o.Retention)
	work := s.workers.begin()
	s.workers.Go(func() { s.Turns.watch(work) })
	s.workers.Go(func() { s.keepRetention(work, p.requests, o.Retention) })
	if s.server.local != nil {
		s.workers.Go(func() { s.backend.Disk.Watch(work) })
		s.workers.Go(func() { s.server.local.recordState(work) })
	} else {
		s.workers.Go(func() { s.backend.FailOver(work, p.turns) })
	}
	return s.Turns.index.wait(ctx)
}

// connect starts the embedded server, if there is one, and connects to the server.
func (s *Store) connect(o Options) error {
	if o.URL == "" {
		return s.startServer(o)
	}
	options, err := credentials(o)
	if err != nil {
		return err
	}
	return s.backend.Connect(o.URL, options)
}

func (s *Store) makeParts(p provisioned, index *requestindex.Index, retention time.Duration) {
	of := func(name string) natskv.Bucket { return natskv.Bucket{Backend: s.backend, KV: p.buckets[name]} }
	s.Requests = newRequests(of(BucketRequests), index)
	s.Runs = &Records[approvals.Run]{of(BucketRuns), "run", approvals.ErrUnknownRun, func(r *approvals.Run) string { return r.ID }}
	s.Signals = &Records[approvals.PrincipalSignal]{of(BucketSignals), "signal", approvals.ErrUnknownSignal, (*approvals.PrincipalSignal).Key}
	s.Delegations = &Records[approvals.Delegation]{of(BucketDelegations), "delegation", approvals.ErrUnknownDelegation, func(d *approvals.Delegation) string { return d.ID }}
	s.Grants = newGrants(of(BucketGrants))
	s.Turns = newTurns(of(BucketTurns), p.turns)
	s.Events = newEventLog(s.backend, p.events)
	s.Deliveries = &Deliveries{bucket: of(BucketDeliveries), keys: keys{of(BucketPush)}, stream: p.events, inactive: retention}
	s.Limits = &Limits{bucket: of(BucketLimits)}
	s.Secrets = &Secrets{bucket: of(BucketSecrets)}
	s.HeldTurns = newHeldTurns(of, p.held)
	if s.server.local == nil {
		s.HeldTurns.Leases = &Leases{of(BucketLeases)}
	}
	s.Push = &Push{bucket: of(BucketPush), keys: keys{of(BucketPush)}}
}

// Close waits for the writes in progress, and closes the connection, then the embedded
// server. The store cannot be used afterwards. Later calls return the result of the first.
func (s *Store) Close() error { return s.workers.shutDown() }

func (s *Store) shutDown() error {
	s.workers.end()
	var err error
	if s.Events != nil { // the parts were made
		s.Events.wait()
		err = s.Requests.index.Close()
	}
	if s.server.local == nil {
		s.backend.Close()
		return err
	}
	return errors.Join(err, s.server.local.close(s.Events != nil))
}

// Healthy writes a record and reads it back. Its error wraps
// [approvals.ErrStoreUnavailable].
func (s *Store) Healthy(ctx context.Context) error {
	ctx, cancel := natskv.Bounded(ctx)
	defer cancel()
	if err := s.backend.CheckDisk(ctx); err != nil {
		return err
	}
	return s.Turns.probe(ctx)
}

// Conn returns the connection to NATS, for the channel that serves bots. The store closes
// it.
func (s *Store) Conn() *natsgo.Conn { return s.backend.Conn }

// workers are the goroutines of a store. They end with it.
type workers struct {
	shutDown func() error // of the store, once

	stop context.CancelFunc
	sync.WaitGroup
}

// begin returns the context of the workers.
func (w *workers) begin() context.Context {
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	return ctx
}

// end stops the workers, if they have begun, and waits for them.
func (w *workers) end() {
	if w.stop != nil {
		w.stop()
	}
	w.Wait()
}
