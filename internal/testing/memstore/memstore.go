// Package memstore is the state of heldcall in memory: a store for tests, beside the one in JetStream,
// that starts no server. Both do what package storetest demands.
//
// Read [Store], table.go (records with revisions, and watches), then a part such as requests.go.
package memstore

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/heldcall/heldcall/approvals"
)

// maxRecord is the largest record in bytes: that of the embedded server.
const maxRecord = 8 << 20

// Options configures [New].
type Options struct {
	MaxStored int64 // bytes of held turns; 0: 1 GiB
}

// Store is the whole state, as one process has it open. Its parts are safe for concurrent use.
type Store struct {
	Requests    *Requests
	Runs        *Records[approvals.Run]
	Signals     *Records[approvals.PrincipalSignal]
	Delegations *Records[approvals.Delegation]
	Grants      *Grants
	Turns       *Turns
	Events      *Log
	Deliveries  *Deliveries
	Push        *Push
	Passkeys    *Passkeys
	Limits      *Limits
	Secrets     *Secrets
	HeldTurns   *HeldTurns
	Leases      *Leases

	process *process
}

// New returns an empty store.
func New(o Options) *Store { return open(newMemory(o)) }

// Reopen returns the same state as another process opens it: a replica, or a later start.
func (s *Store) Reopen() *Store { return open(s.process.memory) }

func open(m *memory) *Store {
	p := &process{memory: m}
	return &Store{
		Requests:    newRequests(p),
		Runs:        newRecords(p, &m.runs, "run", approvals.ErrUnknownRun, func(r *approvals.Run) string { return r.ID }),
		Signals:     newRecords(p, &m.signals, "signal", approvals.ErrUnknownSignal, (*approvals.PrincipalSignal).Key),
		Delegations: newRecords(p, &m.delegations, "delegation", approvals.ErrUnknownDelegation, func(d *approvals.Delegation) string { return d.ID }),
		Grants:      newGrants(p),
		Turns:       &Turns{p},
		Events:      newLog(p),
		Deliveries:  &Deliveries{p},
		Push:        &Push{p},
		Passkeys:    &Passkeys{p},
		Limits:      &Limits{p},
		Secrets:     &Secrets{process: p},
		HeldTurns:   newHeldTurns(p),
		Leases:      &Leases{p},
		process:     p,
	}
}

// Close waits for the appends in progress. The operations of this store fail afterwards; those of
// another on the same state do not.
func (s *Store) Close() error {
	s.Events.chain.Wait()
	s.process.memory.mu.Lock()
	defer s.process.memory.mu.Unlock()
	s.process.closed = true
	return nil
}

// Healthy fails once the store is closed.
func (s *Store) Healthy(ctx context.Context) error {
	return s.process.do(ctx, "check the store", func() error { return nil })
}

// GateStore has the parts of a store that a gate needs: it is an [approvals.Store].
type GateStore struct {
	*Requests
	approvals.EventStore
	store *Store
}

// ForGate returns the parts that a gate needs.
func (s *Store) ForGate() GateStore { return GateStore{s.Requests, s.Events, s} }

// Runs returns the records of runs.
func (s GateStore) Runs() approvals.Records[approvals.Run] { return s.store.Runs }

// Signals returns the records of signals by principal.
func (s GateStore) Signals() approvals.Records[approvals.PrincipalSignal] { return s.store.Signals }

// Delegations returns the records of delegations.
func (s GateStore) Delegations() approvals.Records[approvals.Delegation] { return s.store.Delegations }

// GrantStore has the parts of a store that grants need: it is an [approvals.GrantStore].
type GrantStore struct {
	*Grants
	*Log
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

// memory is the state. It outlives the stores that have it open.
type memory struct {
	Options

	mu          sync.Mutex // of all that follows
	requests    table
	closed      map[string]uint64 // revisions of closed requests, by id
	published   map[string][]byte // requests, by id
	runs        table
	signals     table
	delegations table
	grants      table
	log         entries
	channels    map[string]*consumer // that follow the events, by name
	states      table                // of channels
	push        table                // subscriptions
	passkeys    table
	secrets     table
	held        table // snapshots of held turns
	heldStates  table
	leases      table
	counts      map[string][]byte            // of limits
	keys        map[string][]byte            // secret keys that are made once
	turns       map[string]map[string][]byte // hidden turns, by session and id
}

func newMemory(o Options) *memory {
	if o.MaxStored == 0 {
		o.MaxStored = 1 << 30
	}
	return &memory{
		Options: o, closed: map[string]uint64{}, published: map[string][]byte{}, channels: map[string]*consumer{}, counts: map[string][]byte{}, keys: map[string][]byte{},
		turns: map[string]map[string][]byte{}, log: entries{ids: map[string]uint64{}},
	}
}

// process is who has the memory open.
type process struct {
	memory *memory
	closed bool // guarded by the memory's mutex
}

// errClosed is the cause of operations after [Store.Close].
var errClosed = errors.New("the store is closed")

// do locks the memory for an operation. It fails if the context has ended or the store is closed, and
// wraps the error of the operation with what was being done.
func (p *process) do(ctx context.Context, doing string, operation func() error) error {
	p.memory.mu.Lock()
	defer p.memory.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return approvals.Unavailable(doing, err)
	}
	if p.closed {
		return approvals.Unavailable(doing, errClosed)
	}
	if err := operation(); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

// once returns the secret key of a name: fresh, if there is none yet.
func (p *process) once(ctx context.Context, name string, fresh []byte) (key []byte, err error) {
	err = p.do(ctx, "make the key "+name, func() error {
		if _, made := p.memory.keys[name]; !made {
			p.memory.keys[name] = fresh
		}
		key = p.memory.keys[name]
		return nil
	})
	return key, err
}
