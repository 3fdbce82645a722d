// Package store keeps the state of heldcall in NATS JetStream. There is a type for each
// bucket, and one for the audit log. The NATS server is embedded, or Options.URL names an
// external one; the code is the same for both.
//
// Read [Open], provision.go (the buckets and streams), records.go and bucket.go
// (compare-and-set, watches), a bucket such as requests.go or turns.go, then events.go.
package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/approvals/store/embedded"
)

// Names of the buckets in NATS.
const (
	BucketRequests    = "heldcall_requests"
	BucketTurns       = "heldcall_turns"
	BucketGrants      = "heldcall_grants"
	BucketRuns        = "heldcall_runs"
	BucketSignals     = "heldcall_signals" // by principal
	BucketDelegations = "heldcall_delegations"
	BucketDeliveries  = "heldcall_notify" // the state of channels
	BucketPush        = "heldcall_push"   // subscriptions to Web Push, and keys
	BucketLimits      = "heldcall_limits" // counts of policy limits
	BucketHeld        = "heldcall_held"   // snapshots of held turns
	BucketHeldStates  = "heldcall_held_states"
	BucketLeases      = "heldcall_leases"       // of processes
	BucketHeldObjects = "heldcall_held_objects" // an object store: large snapshots of held turns
)

// DelegationTTL is the time for which a delegation is kept after it was written: longer
// than a delegation may last.
const DelegationTTL = 366 * 24 * time.Hour

// Options configures [Open]. The defaults of zero fields are named here.
type Options struct {
	// URL of an external NATS server or cluster, 2.12 or newer; several are separated by
	// commas. Empty: an embedded server.
	URL string
	// Files with credentials for URL: a credentials file, or an NKey seed file, and TLS
	// files.
	Creds, NKey            string
	TLSCA, TLSCert, TLSKey string
	Replicas               int    // copies in a cluster; 0: as many as it has servers, at most 3
	Listen                 string // of the embedded server, for bots; "" is 127.0.0.1:4143, "-" is nowhere
	Dir                    string // of the embedded server; "" is ./data
	// Reviewers may connect to the embedded server with their tokens, and publish under
	// their names. Nil: every client is the reviewer "local".
	Reviewers *reviewers.Directory
	// ReviewersOnly refuses clients without credentials. It needs Reviewers.
	ReviewersOnly bool
	Retention     time.Duration // of requests, runs and audit log; 0: 90 days
	MaxStored     int64         // bytes of held turns; 0: 1 GiB
	Channels      []string      // that receive events; bots may not use their consumers
	// AcceptLoss opens the state of the embedded server although a part of it is missing or
	// damaged: see [Store.Loss].
	AcceptLoss bool
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

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
	HeldTurns   *HeldTurns

	backend   *backend
	server    *embedded.Server          // nil with an external server
	consumers *embedded.ConsumerService // of the embedded server

	stop    context.CancelFunc // of the workers
	workers sync.WaitGroup
	close   func() error
}

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
	*EventLog
}

// ForHeldTurns returns the parts that a keeper of held turns needs.
func (s *Store) ForHeldTurns() HeldTurnStore { return HeldTurnStore{s.HeldTurns, s.Events} }

// Open starts the embedded NATS server or connects to the external one, creates missing
// buckets and streams, and loads the index of turns. It fails if another process uses the
// folder, and with an [embedded.LossError] if a part of the state is missing there.
func Open(ctx context.Context, o Options) (*Store, error) {
	o = o.withDefaults()
	s := &Store{backend: &backend{log: o.Log, writing: make(chan struct{}, maxWrites)}}
	s.backend.state.init()
	s.backend.metrics = newMetrics(o.Registerer, s.backend.state.up.Load)
	s.close = sync.OnceValue(s.shutDown)
	if err := s.open(ctx, o); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (o Options) withDefaults() Options {
	if o.Listen == "" {
		o.Listen = "127.0.0.1:4143"
	}
	if o.Dir == "" {
		o.Dir = "./data"
	}
	if o.Retention == 0 {
		o.Retention = 90 * 24 * time.Hour
	}
	if o.MaxStored == 0 {
		o.MaxStored = 1 << 30
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

func (s *Store) open(ctx context.Context, o Options) error {
	if err := s.connect(o); err != nil {
		return err
	}
	p, err := s.backend.provision(ctx, o)
	if err != nil {
		return err
	}
	if s.server != nil {
		if s.consumers, err = embedded.ServeConsumers(s.server, s.backend.conn, s.backend.log); err != nil {
			return err
		}
	}
	s.makeParts(p, o.Retention)
	work, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.workers.Go(func() { s.Turns.watch(work) })
	s.workers.Go(func() { s.keepRetention(work, o.Retention) })
	if s.server != nil {
		s.workers.Go(func() { s.backend.disk.watch(work) })
		s.workers.Go(func() { s.recordState(work) })
	}
	if s.server == nil {
		s.workers.Go(func() { s.backend.failOver(work, p.turns) })
	}
	return s.Turns.index.wait(ctx)
}

// connect starts the embedded server, if there is one, and connects to the server.
func (s *Store) connect(o Options) (err error) {
	if o.URL == "" {
		if s.server, err = embedded.Start(embedded.Options{
			Dir: o.Dir, Listen: o.Listen, Reviewers: o.Reviewers, ReviewersOnly: o.ReviewersOnly, Channels: o.Channels,
			Kept: kept(o.Retention), AcceptLoss: o.AcceptLoss, Log: o.Log,
		}); err != nil {
			return err
		}
		s.backend.disk = newDisk(o.Dir, o.Log)
		s.backend.disk.restart, s.backend.disk.restarts = s.restart, s.backend.metrics.restarts
	}
	if s.backend.conn, err = s.backend.connect(o, s.server); err != nil {
		return err
	}
	if s.backend.js, err = jetstream.New(s.backend.conn); err != nil {
		return fmt.Errorf("use JetStream: %w", err)
	}
	return nil
}

// restart restarts the embedded server and waits until it is connected: a write meanwhile would
// fail.
func (s *Store) restart() error {
	reconnected := s.backend.state.nextReconnect()
	if err := s.server.Restart(); err != nil {
		return err
	}
	select {
	case <-reconnected:
		return nil
	case <-time.After(reconnectWait):
		return errors.New("it does not accept the connection of heldcall")
	}
}

func (s *Store) makeParts(p provisioned, retention time.Duration) {
	of := func(name string) bucket { return bucket{s.backend, p.buckets[name]} }
	s.Requests = newRequests(of(BucketRequests))
	s.Runs = &Records[approvals.Run]{of(BucketRuns), "run", approvals.ErrUnknownRun, func(r *approvals.Run) string { return r.ID }}
	s.Signals = &Records[approvals.PrincipalSignal]{of(BucketSignals), "signal", approvals.ErrUnknownSignal, (*approvals.PrincipalSignal).Key}
	s.Delegations = &Records[approvals.Delegation]{of(BucketDelegations), "delegation", approvals.ErrUnknownDelegation, func(d *approvals.Delegation) string { return d.ID }}
	s.Grants = newGrants(of(BucketGrants))
	s.Turns = newTurns(of(BucketTurns), p.turns)
	s.Events = newEventLog(eventStream{s.backend, p.events})
	s.Deliveries = &Deliveries{bucket: of(BucketDeliveries), keys: keys{of(BucketPush)}, stream: p.events, inactive: retention}
	s.Limits = &Limits{bucket: of(BucketLimits)}
	s.HeldTurns = newHeldTurns(of, p.held)
	if s.server == nil {
		s.HeldTurns.Leases = &Leases{of(BucketLeases)}
	}
	s.Push = &Push{bucket: of(BucketPush), keys: keys{of(BucketPush)}}
}

// Close waits for the writes in progress, and closes the connection, then the embedded
// server. The store cannot be used afterwards. Later calls return the result of the first.
func (s *Store) Close() error { return s.close() }

func (s *Store) shutDown() error {
	if s.stop != nil {
		s.stop()
	}
	s.workers.Wait()
	if s.Events != nil {
		s.Events.chain.Wait()
	}
	if s.consumers != nil {
		s.consumers.Close()
	}
	if s.Events != nil && s.server != nil {
		s.record()
	}
	if s.backend.conn != nil {
		s.backend.conn.Close()
		<-s.backend.state.ended
	}
	if s.server != nil {
		return s.server.Close()
	}
	return nil
}

// Healthy writes a record and reads it back. Its error wraps
// [approvals.ErrStoreUnavailable].
func (s *Store) Healthy(ctx context.Context) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	if err := s.backend.disk.check(ctx); err != nil {
		return s.backend.fail(opProbe, "write a probe", err)
	}
	return s.Turns.probe(ctx)
}

// reconnectWait is the time limit for the connection to the embedded server after its restart.
const reconnectWait = 30 * time.Second

// recordInterval is the time between two records of the state of the streams. What is lost of
// the writes since the last record may not be noticed after a crash.
const recordInterval = 5 * time.Second

// recordState records the state of the streams until the context ends.
func (s *Store) recordState(ctx context.Context) {
	ticker := time.NewTicker(recordInterval)
	defer ticker.Stop()
	for {
		s.record()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (s *Store) record() {
	if s.backend.disk.failing() {
		return // the server restarts then
	}
	if err := s.backend.disk.wrote("states", s.server.Record()); err != nil {
		s.backend.log.Error("failed to record the state of the streams; trying again", "error", err)
	}
}

// Loss returns what was missing or damaged at the start and accepted, "" for nothing.
func (s *Store) Loss() string {
	if s.server == nil {
		return ""
	}
	return (&embedded.LossError{Losses: s.server.Losses()}).Details()
}

// Conn returns the connection to NATS, for the channel that serves bots. The store closes
// it.
func (s *Store) Conn() *natsgo.Conn { return s.backend.conn }

// ListenAddr returns the address of the embedded server for bots, "" if there is none.
func (s *Store) ListenAddr() string {
	if s.server == nil {
		return ""
	}
	return s.server.Addr()
}
