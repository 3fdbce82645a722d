// Package store keeps the state of heldcall in NATS JetStream: requests, runs
// and hidden turns in key-value buckets, the audit log and the stream that bots
// read. The NATS server is embedded, on disk, unless Options.URL names another;
// both are used through the same code.
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
	"github.com/heldcall/heldcall/approvals/audit"
	"github.com/heldcall/heldcall/approvals/reviewers"
)

// Names of what the store keeps in NATS.
const (
	StreamEvents      = "HELDCALL_EVENTS"   // the audit log
	StreamRequests    = "HELDCALL_REQUESTS" // new requests, for bots
	BucketRequests    = "heldcall_requests"
	BucketTurns       = "heldcall_turns"
	BucketGrants      = "heldcall_grants"
	BucketRuns        = "heldcall_runs"
	BucketDelegations = "heldcall_delegations"
	BucketNotes       = "heldcall_notify" // what channels have posted
	BucketPush        = "heldcall_push"   // who is told by Web Push, and the keys that are made once
)

// TurnTTL is how long a hidden turn is kept after it was written.
const TurnTTL = 30 * 24 * time.Hour

// DelegationTTL is how long a delegation is kept after it was written: longer
// than one may hold.
const DelegationTTL = 366 * 24 * time.Hour

// Options say where the state is. Zero fields take the defaults named here.
type Options struct {
	// URL of an external NATS server or cluster, 2.12 or newer, several
	// separated by commas. Empty: a server is embedded.
	URL string
	// Credentials for URL: a credentials file, or an NKey seed file, and TLS
	// files as far as the server asks for them.
	Creds, NKey            string
	TLSCA, TLSCert, TLSKey string
	Replicas               int    // copies in a cluster; 0: as many as it has servers, at most 3
	Listen                 string // of the embedded server, for bots; "" is 127.0.0.1:4143, "-" is nowhere
	Dir                    string // of the embedded server; "" is ./data
	// Reviewers may connect to the embedded server with their tokens, and publish
	// as themselves. nil: whoever connects is the reviewer "local".
	Reviewers *reviewers.Directory
	// ReviewersOnly keeps out whoever gives no credentials. With Reviewers.
	ReviewersOnly bool
	Retention     time.Duration // of requests, runs and audit log; 0: 90 days
	Channels      []string      // that are told of events: their consumers are not for bots
	Log           *slog.Logger
	Registerer    prometheus.Registerer
}

// Store implements [approvals.Store] and keeps hidden turns. It is safe for
// concurrent use.
type Store struct {
	opts    Options
	log     *slog.Logger
	metrics *metrics
	server  *embedded // nil with an external server
	disk    *disk     // of the embedded server, else nil
	conn    *natsgo.Conn
	js      jetstream.JetStream

	requests, turns, runs, grants jetstream.KeyValue
	delegations, notes, push      jetstream.KeyValue
	turnStream                    jetstream.Stream // behind the bucket
	events                        jetstream.Stream
	chain                         *audit.Log

	index     requestIndex
	turnIndex turnIndex
	linked    reconnects
	followed  followed      // by channels
	writing   chan struct{} // as many as write just now
	searching chan struct{} // as many as search just now

	stop    context.CancelFunc
	workers sync.WaitGroup
	closing sync.Once
	closed  error
}

var _ approvals.Store = (*Store)(nil)

// Open starts or reaches the NATS server, makes what is missing there, and
// loads the index of turns. Another process that uses the same folder is an
// error that names the folder.
func Open(ctx context.Context, o Options) (*Store, error) {
	s := &Store{opts: o.withDefaults(), writing: make(chan struct{}, maxWrites), searching: make(chan struct{}, maxSearches)}
	s.metrics = newMetrics(o.Registerer, s.linked.isUp)
	s.log = s.opts.Log
	s.linked.init()
	s.index.init()
	s.turnIndex.init()
	if err := s.open(ctx); err != nil {
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
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

func (s *Store) open(ctx context.Context) error {
	var err error
	if s.opts.URL == "" {
		if s.server, err = startEmbedded(s.opts); err != nil {
			return err
		}
		s.disk = newDisk(s.opts.Dir)
	}
	if s.conn, err = s.connect(); err != nil {
		return err
	}
	if s.js, err = jetstream.New(s.conn); err != nil {
		return fmt.Errorf("use JetStream: %w", err)
	}
	if err := s.provision(ctx); err != nil {
		return err
	}
	if s.server != nil {
		if s.server.door, err = openDoor(s.server, s.conn, s.log); err != nil {
			return err
		}
	}
	s.chain = audit.NewLog(eventStream{s}, s.maxRecord)
	work, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.workers.Go(func() { s.watchTurns(work) })
	s.workers.Go(func() { s.keepRetention(work) })
	if s.disk != nil {
		s.workers.Go(func() { s.watchDisk(work) })
	}
	return s.turnIndex.wait(ctx)
}

// Close ends the connection and the embedded server, in this order, after what
// is being written. The store cannot be used afterwards. Calls after the first
// return what that returned.
func (s *Store) Close() error {
	s.closing.Do(func() { s.closed = s.close() })
	return s.closed
}

func (s *Store) close() error {
	if s.stop != nil {
		s.stop()
	}
	s.workers.Wait()
	if s.chain != nil {
		s.chain.Wait()
	}
	if s.server != nil && s.server.door != nil {
		s.server.door.close()
	}
	if s.conn != nil {
		s.conn.Close()
		s.linked.awaitClosed()
	}
	if s.server != nil {
		return s.server.close()
	}
	return nil
}

// Conn is the connection to NATS, for the channel that serves bots. It belongs
// to the store.
func (s *Store) Conn() *natsgo.Conn { return s.conn }

// ListenAddr is the address at which the embedded server takes bots; "" when
// there is none.
func (s *Store) ListenAddr() string {
	if s.server == nil {
		return ""
	}
	return s.server.addr
}

// maxRecord is the largest payload that NATS takes.
func (s *Store) maxRecord() int { return int(s.conn.MaxPayload()) }
