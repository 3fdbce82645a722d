// Package heldturns keeps turns whose requests wait for people, so that they outlive the
// connection of their agent and the process: a [Keeper] stores their snapshots, knows for
// which of them an agent waits, gives each to one connection at a time, and ends those whose
// agent does not come back. It knows no HTTP and no wire dialect; snapshots are opaque.
//
// Read store.go (the records), keeper.go, attachment.go (the methods of an agent's
// connection), index.go (the state in memory), lease.go (the sign of life of the process) and reconcile.go (the work in the background).
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

// Options configures a [Keeper].
type Options struct {
	Store      Store
	Leases     Leases                // of the processes that share the store; nil: only this one uses it
	OrphanTTL  time.Duration         // how long a detached turn is kept; 0: 15 min
	Now        func() time.Time      // nil: time.Now
	Log        *slog.Logger          // nil: discards
	Registerer prometheus.Registerer // nil: metrics are not exported
}

// Keeper keeps held turns. Any number of keepers may share one store. It is safe for
// concurrent use. It is the [gate.HeldTurns] of the gate of its process.
type Keeper struct {
	store     Store
	leases    Leases
	orphanTTL time.Duration
	now       func() time.Time
	log       *slog.Logger
	owner     string // id of this process
	processes *processes
	requests  *requests
	index     *index
	metrics   *metrics
	watches   *watches
}

// New returns a keeper. It needs [Keeper.Run].
func New(o Options) *Keeper {
	if o.Now == nil {
		o.Now = time.Now
	}
	k := &Keeper{
		store: o.Store, leases: o.Leases, orphanTTL: cmp.Or(o.OrphanTTL, 15*time.Minute), now: o.Now, log: cmp.Or(o.Log, slog.New(slog.DiscardHandler)),
		owner: rand.Text(), watches: newWatches(o.Now),
	}
	k.processes = newProcesses(k.owner, o.Leases != nil, o.Now)
	k.requests = &requests{byTurn: map[string]*asked{}}
	k.index = newIndex(k.processes, k.requests)
	k.metrics = newMetrics(o.Registerer, k.index.count)
	return k
}

// Run loads the index, and then watches the store and works in the background until the
// context ends. Call it once, and run the gate after [Keeper.Ready].
func (k *Keeper) Run(ctx context.Context, g Gate) error {
	group, ctx := errgroup.WithContext(ctx)
	turns, states := k.watches.add(), k.watches.add()
	group.Go(func() error {
		return k.store.Watch(ctx, k.index.apply, turns)
	})
	group.Go(func() error {
		return k.store.WatchStates(ctx, k.index.applyState, k.index.removeState, states)
	})
	if k.leases != nil {
		group.Go(func() error { return k.leases.Watch(ctx, k.processes.renewed, k.processes.removed) })
		group.Go(func() error { return k.keepLease(ctx) })
	}
	group.Go(func() error {
		select {
		case <-k.watches.loaded:
		case <-ctx.Done():
			return nil
		}
		return (&reconciler{k, g}).work(ctx)
	})
	if err := group.Wait(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("keep held turns: %w", err)
	}
	return nil
}

// Ready is closed when all held turns are in the index.
func (k *Keeper) Ready() <-chan struct{} { return k.watches.loaded }

// Await waits until the index has what other processes had stored before the call, or until the
// store has been lost for some seconds.
func (k *Keeper) Await(ctx context.Context) {
	for k.leases != nil && ctx.Err() == nil {
		k.watches.await(ctx)
		reading, cancel := context.WithTimeout(ctx, readTimeout)
		err := k.store.Await(reading)
		cancel()
		if !k.watches.retry(err == nil && k.processes.current()) {
			return
		}
		k.log.Debug("waiting to know what other processes have stored", "error", err)
		select {
		case <-time.After(readPause):
		case <-ctx.Done():
		}
	}
}

// Any reports from memory whether any turn is stored.
func (k *Keeper) Any() bool { return k.index.stored.Load() > 0 }

// Candidates returns from memory the stored turns with a fingerprint, and those that ended
// less than the orphan TTL ago, the oldest first.
func (k *Keeper) Candidates(fingerprint string) []Candidate {
	now := k.now()
	return k.index.candidates(k.index.byFingerprint, fingerprint, now.Add(-k.orphanTTL), now)
}

// Conversation returns from memory the stored turns of a conversation, the oldest first.
func (k *Keeper) Conversation(conversation string) []Candidate {
	now := k.now()
	return k.index.candidates(k.index.byConversation, conversation, now, now)
}

// AnyTask reports from memory whether [Keeper.Task] may return a turn: whether any is stored that was
// not delivered.
func (k *Keeper) AnyTask() bool {
	k.index.mu.RLock()
	defer k.index.mu.RUnlock()
	return len(k.index.byTask) > 0
}

// Task returns from memory the stored turns with a [approvals.HeldTurn.Task] that were not delivered, the oldest
// first.
func (k *Keeper) Task(task string) []Candidate {
	now := k.now()
	return k.index.candidates(k.index.byTask, task, now, now)
}

// AgentState returns the state of a stored turn from memory; ok is false if it is not
// stored.
func (k *Keeper) AgentState(turnID string) (state approvals.AgentState, ok bool) {
	state, _, ok = k.index.current(turnID)
	return state, ok && state.State != Delivered
}

// RequestChanged is called by the gate with every state of a request.
func (k *Keeper) RequestChanged(r *approvals.Request) {
	if k.requests.changed(r, k.index.wants) {
		k.index.touched.add(r.TurnID)
	}
}

// Load reads the snapshot of a stored turn. It fails with [approvals.ErrUnknownTurn] or
// [approvals.ErrStoreUnavailable].
func (k *Keeper) Load(ctx context.Context, id string) ([]byte, error) {
	t, ok := k.index.get(id)
	if !ok {
		return nil, fmt.Errorf("load held turn %s: %w", id, approvals.ErrUnknownTurn)
	}
	return k.store.Get(ctx, t.key)
}

// Keep stores a turn before its requests are recorded, for the connection that waits for
// it. It fails with [approvals.ErrNoRoom] if the turn does not fit, with nothing stored, or
// with [approvals.ErrStoreUnavailable].
func (k *Keeper) Keep(ctx context.Context, t approvals.HeldTurn, snapshot []byte) (*Attachment, error) {
	a, key := k.newAttachment(t.ID), Key{HeldTurn: t, Owner: k.owner}
	k.index.open(key, k.now().UTC(), a)
	defer k.index.begin(t.ID)()
	stored, err := k.store.Put(ctx, key, snapshot)
	if errors.Is(err, approvals.ErrNoRoom) && k.forgetDelivered(ctx) {
		stored, err = k.store.Put(ctx, key, snapshot)
	}
	if errors.Is(err, approvals.ErrNoRoom) {
		k.index.forget(t.ID)
		return nil, err
	}
	k.index.update(t.ID, func(t *heldTurn) { t.key, t.former = stored, nil })
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
	t, ok := k.index.get(c.ID)
	if !ok {
		return nil, nil, fmt.Errorf("claim held turn %s: %w", c.ID, approvals.ErrUnknownTurn)
	}
	defer k.index.begin(c.ID)()
	a := k.newAttachment(c.ID)
	if c.Delivered {
		a.delivered.Store(new(k.index.delivery(c.ID)))
	}
	state := a.state(approvals.AgentAttached)
	revision, err := k.change(ctx, state, c.revision)
	if err != nil {
		k.index.failed(a, state.Since)
		return nil, nil, err
	}
	k.index.attach(a)
	snapshot, err := k.store.Get(ctx, t.key)
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
// details.cancel_reason, and the turn is removed from the store. That is done in the background, and
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
	state := k.newAttachment(id).state(ending)
	state.Reason = reason
	_, err := k.change(ctx, state, revision)
	return err
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
