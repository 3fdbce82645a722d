// Package heldturns keeps turns whose requests wait for people, so that they outlive the
// connection of their agent and the process: a [Keeper] stores their snapshots, knows for
// which of them an agent waits, gives each to one connection at a time, and ends those whose
// agent does not come back. It knows no HTTP and no wire dialect; snapshots are opaque.
//
// Read keeper.go, which has what is stored and the methods without an agent, then
// attachment.go (the methods of an agent's connection), index.go (what is in memory) and
// reconcile.go (the work in the background).
package heldturns

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/heldcall/heldcall/approvals"
)

// Key is the name under which a held turn is stored.
type Key struct {
	approvals.HeldTurn
	Owner string // id of the process that stored it
	Large bool   // the snapshot is in the object store
}

// Entry is a held turn, or one that has ended, without its snapshot.
type Entry struct {
	Key
	Ended bool
	At    time.Time // when it was written or ended, UTC
}

// State is the record of a turn that was detached, parked or attached again. A turn without
// one is attached to its owner as long as that process lives.
type State struct {
	ID         string                `json:"id"`
	State      approvals.AttachState `json:"state"`
	Since      time.Time             `json:"since"`
	Owner      string                `json:"owner"`            // the process that wrote it
	Attachment string                `json:"attachment"`       // the [Attachment] that wrote it
	Reason     string                `json:"reason,omitempty"` // of the cancellation, in the state ending
}

// ending is the state of a turn whose requests are being cancelled before it is removed. No
// agent can claim it any more.
const ending approvals.AttachState = "ending"

// Store is the durable state of held turns. The rules of [approvals.Store] hold for its
// methods.
type Store interface {
	// Put writes a snapshot and replaces one under the same key. It returns the key with
	// Large set. It fails with [approvals.ErrNoRoom] if the store is full.
	Put(ctx context.Context, k Key, snapshot []byte) (Key, error)
	// Get reads a snapshot, or fails with [approvals.ErrUnknownTurn].
	Get(ctx context.Context, k Key) ([]byte, error)
	// End removes a turn and reports it as ended for a time.
	End(ctx context.Context, k Key, keep time.Duration) error
	// Sweep removes the large snapshots of turns that are not wanted.
	Sweep(ctx context.Context, wanted func(turn string) bool) error
	// Watch is [approvals.RequestStore.WatchRequests] for held turns.
	Watch(ctx context.Context, changed func(Entry), loaded func()) error

	// PutState replaces the state of a turn that is at the revision (0: has none), else it
	// fails with [approvals.ErrConflict].
	PutState(ctx context.Context, s State, revision uint64) (uint64, error)
	// GetState reads the state of a turn, or fails with [approvals.ErrUnknownTurn].
	GetState(ctx context.Context, id string) (State, uint64, error)
	// RemoveState removes the state of a turn that is at the revision, else it fails with
	// [approvals.ErrConflict].
	RemoveState(ctx context.Context, id string, revision uint64) error
	// WatchStates is [approvals.RequestStore.WatchRequests] for states. It calls gone with
	// the id of a turn whose state was removed.
	WatchStates(ctx context.Context, changed func(s State, revision uint64), gone func(id string), loaded func()) error

	AppendEvents(ctx context.Context, events ...approvals.Event) error
	EnsureEvent(ctx context.Context, e approvals.Event) error
}

// Gate has the requests of the turns. [gate.Gate] implements it.
type Gate interface {
	Cancel(ctx context.Context, requestID, reason string) error
	// Ready is closed when the keeper has been called with all recorded requests.
	Ready() <-chan struct{}
}

// Options configures a [Keeper].
type Options struct {
	Store      Store
	OrphanTTL  time.Duration         // how long a detached turn is kept; 0: 15 min
	Now        func() time.Time      // nil: time.Now
	Log        *slog.Logger          // nil: discards
	Registerer prometheus.Registerer // nil: metrics are not exported
}

// Keeper keeps held turns. Any number of keepers may share one store. It is safe for
// concurrent use. It is the [gate.HeldTurns] of the gate of its process.
type Keeper struct {
	store     Store
	orphanTTL time.Duration
	now       func() time.Time
	log       *slog.Logger
	owner     string // id of this process
	index     *index
	metrics   *metrics
	ready     chan struct{}
}

// New returns a keeper. It needs [Keeper.Run].
func New(o Options) *Keeper {
	if o.Now == nil {
		o.Now = time.Now
	}
	k := &Keeper{
		store: o.Store, orphanTTL: cmp.Or(o.OrphanTTL, 15*time.Minute), now: o.Now, log: cmp.Or(o.Log, slog.New(slog.DiscardHandler)),
		owner: rand.Text(), ready: make(chan struct{}),
	}
	k.index = newIndex(k.owner, o.Now().UTC())
	k.metrics = newMetrics(o.Registerer, k.index.count)
	return k
}

// Run loads the index, and then watches the store and works in the background until the
// context ends. Call it once, and run the gate after [Keeper.Ready].
func (k *Keeper) Run(ctx context.Context, g Gate) error {
	group, ctx := errgroup.WithContext(ctx)
	turns, states := make(chan struct{}), make(chan struct{})
	group.Go(func() error {
		return k.store.Watch(ctx, k.index.apply, func() { close(turns) })
	})
	group.Go(func() error {
		return k.store.WatchStates(ctx, k.index.applyState, k.index.removeState, func() { close(states) })
	})
	group.Go(func() error {
		for _, loaded := range []<-chan struct{}{turns, states} {
			select {
			case <-loaded:
			case <-ctx.Done():
				return nil
			}
		}
		close(k.ready)
		return k.work(ctx, g)
	})
	if err := group.Wait(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("keep held turns: %w", err)
	}
	return nil
}

// Ready is closed when all held turns are in the index.
func (k *Keeper) Ready() <-chan struct{} { return k.ready }

// Any reports from memory whether any turn is stored.
func (k *Keeper) Any() bool { return k.index.stored.Load() > 0 }

// Candidate is a held turn that an agent may join, or one that has ended lately.
type Candidate struct {
	ID      string
	State   approvals.AttachState
	Since   time.Time // of the state, UTC
	Ended   bool      // less than the orphan TTL ago
	Created time.Time // when it was stored, or if it has ended, when it ended; UTC

	revision uint64 // of the state
}

// Candidates returns from memory the stored turns with a fingerprint, and those that ended
// less than the orphan TTL ago, the oldest first.
func (k *Keeper) Candidates(fingerprint string) []Candidate {
	return k.index.candidates(k.index.byFingerprint, fingerprint, k.now().Add(-k.orphanTTL))
}

// Conversation returns from memory the stored turns of a conversation, the oldest first.
func (k *Keeper) Conversation(conversation string) []Candidate {
	return k.index.candidates(k.index.byConversation, conversation, k.now())
}

// AgentState returns the state of a stored turn from memory; ok is false if it is not
// stored.
func (k *Keeper) AgentState(turnID string) (state approvals.AgentState, ok bool) {
	return k.index.agentState(turnID)
}

// RequestChanged is called by the gate with every state of a request.
func (k *Keeper) RequestChanged(r *approvals.Request) {
	k.index.requestChanged(r)
}

// Load reads the snapshot of a stored turn. It fails with [approvals.ErrUnknownTurn] or
// [approvals.ErrStoreUnavailable].
func (k *Keeper) Load(ctx context.Context, id string) ([]byte, error) {
	key, ok := k.index.key(id)
	if !ok {
		return nil, fmt.Errorf("load held turn %s: %w", id, approvals.ErrUnknownTurn)
	}
	return k.store.Get(ctx, key)
}

// Keep stores a turn before its requests are recorded, for the connection that waits for
// it. It fails with [approvals.ErrNoRoom] if the turn does not fit, with nothing stored, or
// with [approvals.ErrStoreUnavailable].
func (k *Keeper) Keep(ctx context.Context, t approvals.HeldTurn, snapshot []byte) (*Attachment, error) {
	a, key := k.newAttachment(t.ID), Key{HeldTurn: t, Owner: k.owner}
	k.index.add(key, k.now().UTC(), a)
	defer k.index.begin(t.ID)()
	stored, err := k.store.Put(ctx, key, snapshot)
	if errors.Is(err, approvals.ErrNoRoom) {
		k.index.forget(t.ID)
		return nil, err
	}
	k.index.setKey(stored)
	if err != nil { // it may be stored
		k.index.abandon(a)
		return nil, err
	}
	return a, nil
}

// Claim gives a stored turn to a new connection, and returns its snapshot. The connection
// that had it loses it. The candidate has the state that the caller has seen: Claim fails
// with [approvals.ErrTaken] if another connection has claimed the turn since, else with
// [approvals.ErrUnknownTurn] if the turn has ended, or [approvals.ErrStoreUnavailable].
func (k *Keeper) Claim(ctx context.Context, c Candidate) (*Attachment, []byte, error) {
	key, ok := k.index.key(c.ID)
	if !ok {
		return nil, nil, fmt.Errorf("claim held turn %s: %w", c.ID, approvals.ErrUnknownTurn)
	}
	defer k.index.begin(c.ID)()
	a := k.newAttachment(c.ID)
	state := k.newState(a, approvals.AgentAttached)
	revision, err := k.change(ctx, state, c.revision)
	if err != nil {
		return nil, nil, err
	}
	k.index.attach(a)
	snapshot, err := k.store.Get(ctx, key)
	switch {
	case errors.Is(err, approvals.ErrUnknownTurn): // it has ended meanwhile
		k.index.end(c.ID, k.now().UTC())
		return nil, nil, err
	case err != nil:
		k.index.leave(a, state.Since)
		return nil, nil, err
	}
	k.logState(ctx, state, revision)
	return a, snapshot, nil
}

// Cancel ends a turn for which no agent waits: its pending requests are cancelled with a
// details.cancel_reason, and what is stored is removed. That is done in the background, and
// tried again after an error of the store. Cancel fails with [approvals.ErrTaken] if an agent
// has the turn, [approvals.ErrUnknownTurn] or [approvals.ErrStoreUnavailable].
func (k *Keeper) Cancel(ctx context.Context, id, reason string) error {
	state, revision, ok := k.index.current(id)
	switch {
	case !ok:
		return fmt.Errorf("cancel held turn %s: %w", id, approvals.ErrUnknownTurn)
	case state.State == approvals.AgentAttached:
		return fmt.Errorf("cancel held turn %s: %w", id, approvals.ErrTaken)
	}
	defer k.index.begin(id)()
	return k.end(ctx, id, reason, revision)
}

// end begins the end of a turn without an agent whose state is at a revision.
func (k *Keeper) end(ctx context.Context, id, reason string, revision uint64) error {
	state := k.newState(k.newAttachment(id), ending)
	state.Reason = reason
	_, err := k.change(ctx, state, revision)
	return err
}

// newState returns the state of a turn after a step of an attachment.
func (k *Keeper) newState(a *Attachment, state approvals.AttachState) State {
	return State{ID: a.turn, State: state, Since: k.now().UTC(), Owner: k.owner, Attachment: a.id}
}

// change writes the state of a turn that is at a revision. If the state has changed since,
// it writes only if no other attachment has the turn, else it fails with
// [approvals.ErrTaken].
func (k *Keeper) change(ctx context.Context, state State, at uint64) (revision uint64, err error) {
	for attempt := 0; ; attempt++ {
		revision, err = k.store.PutState(ctx, state, at)
		if err == nil {
			k.index.applyState(state, revision)
			return revision, nil
		}
		if !errors.Is(err, approvals.ErrConflict) {
			return 0, err
		}
		var current State
		if current, at, err = k.store.GetState(ctx, state.ID); err != nil {
			return 0, err
		}
		k.index.applyState(current, at)
		other := current.State == approvals.AgentAttached && current.Attachment != state.Attachment
		if other || current.State == ending {
			return 0, fmt.Errorf("held turn %s: %w", state.ID, approvals.ErrTaken)
		}
		if err := approvals.Pause(ctx, attempt); err != nil {
			return 0, approvals.Unavailable("change the state of held turn "+state.ID, err)
		}
	}
}
