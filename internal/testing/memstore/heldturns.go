package memstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/heldturns"
)

const (
	// maxInline is the size of a snapshot in bytes above which it is large, as in JetStream.
	maxInline = 1 << 20
	// stateMark is the time for which a removed state is reported.
	stateMark = time.Minute
	// leaseAge is the time for which a lease that is not renewed is kept.
	leaseAge = time.Minute
)

// HeldTurns are the snapshots of held turns, and the records of their states. It is the store of a
// [heldturns.Keeper].
type HeldTurns struct {
	process               *process
	states                *Records[heldturns.State]
	turnsRead, statesRead position // of the watches
}

func newHeldTurns(p *process) *HeldTurns {
	return &HeldTurns{process: p, states: newRecords(p, &p.memory.heldStates, "state of held turn", approvals.ErrUnknownTurn, func(s *heldturns.State) string { return s.ID })}
}

// heldKey is the key of a held turn: its JSON.
func heldKey(k heldturns.Key) string {
	key, err := json.Marshal(k)
	if err != nil {
		panic(fmt.Sprintf("encode the key of held turn %s: %v", k.ID, err))
	}
	return string(key)
}

// Put writes the snapshot of a held turn and replaces an earlier one under the same key. It sets Large and
// returns the key. It fails with [approvals.ErrNoRoom] if the turns that are held need all of [Options.MaxStored].
func (s *HeldTurns) Put(ctx context.Context, k heldturns.Key, snapshot []byte) (heldturns.Key, error) {
	k.Large = len(snapshot) > maxInline
	return k, s.process.do(ctx, "store held turn "+k.ID, func() error {
		held, key := &s.process.memory.held, heldKey(k)
		size := int64(len(snapshot))
		for other, r := range held.rows {
			if other != key {
				size += int64(len(r.value))
			}
		}
		if size > s.process.memory.MaxStored {
			return approvals.ErrNoRoom
		}
		held.set(row{key: key, value: snapshot})
		return nil
	})
}

// Get reads the snapshot of a held turn, or fails with [approvals.ErrUnknownTurn].
func (s *HeldTurns) Get(ctx context.Context, k heldturns.Key) (snapshot []byte, err error) {
	err = s.process.do(ctx, "read held turn "+k.ID, func() error {
		r, err := s.process.memory.held.get(heldKey(k))
		if errors.Is(err, errNoRow) {
			return approvals.ErrUnknownTurn
		}
		snapshot = append([]byte(nil), r.value...)
		return err
	})
	return snapshot, err
}

// End removes a held turn. Its key is reported as ended for the time of keep.
func (s *HeldTurns) End(ctx context.Context, k heldturns.Key, keep time.Duration) error {
	return s.remove(ctx, k, removed, keep)
}

// Withdraw removes the snapshot under a key. It is reported as withdrawn for the time of keep.
func (s *HeldTurns) Withdraw(ctx context.Context, k heldturns.Key, keep time.Duration) error {
	return s.remove(ctx, k, withdrawn, keep)
}

func (s *HeldTurns) remove(ctx context.Context, k heldturns.Key, why mark, keep time.Duration) error {
	return s.process.do(ctx, "remove held turn "+k.ID, func() error {
		s.process.memory.held.set(row{key: heldKey(k), mark: why, expires: time.Now().Add(max(keep.Round(time.Second), time.Second))})
		return nil
	})
}

// SweepBefore does nothing: a crash leaves no parts of snapshots.
func (s *HeldTurns) SweepBefore(context.Context, func(turn string) bool, time.Time) error { return nil }

// Watch calls changed with every held turn, with the turns that have ended, and with every change.
func (s *HeldTurns) Watch(ctx context.Context, changed func(heldturns.Entry), current func(bool)) error {
	return s.process.watch(ctx, &s.process.memory.held, watched{current: current, position: &s.turnsRead, change: func(r row) {
		e := heldturns.Entry{Ended: r.mark == removed, Withdrawn: r.mark == withdrawn, At: r.at}
		if err := json.Unmarshal([]byte(r.key), &e.Key); err != nil {
			panic(fmt.Sprintf("decode the key %s: %v", r.key, err))
		}
		changed(e)
	}})
}

// PutState writes the state of a held turn whose record is at a revision (0: has none), else it fails
// with [approvals.ErrConflict].
func (s *HeldTurns) PutState(ctx context.Context, state heldturns.State, revision uint64) (uint64, error) {
	return s.states.put(ctx, state, revision, maxRecord)
}

// GetState reads the state of a held turn, or fails with [approvals.ErrUnknownTurn].
func (s *HeldTurns) GetState(ctx context.Context, id string) (heldturns.State, uint64, error) {
	return s.states.Get(ctx, id)
}

// RemoveState removes the state of a held turn whose record is at a revision, else it fails with
// [approvals.ErrConflict].
func (s *HeldTurns) RemoveState(ctx context.Context, id string, revision uint64) error {
	return s.process.do(ctx, "remove the state of held turn "+id, func() error {
		_, err := s.states.table.compareAndSet(row{key: id, mark: removed, expires: time.Now().Add(stateMark)}, revision)
		return err
	})
}

// WatchStates calls changed with every state and every change of one, and gone with the ids of the turns
// whose state was removed.
func (s *HeldTurns) WatchStates(ctx context.Context, changed func(state heldturns.State, revision uint64), gone func(id string), current func(bool)) error {
	return s.process.watch(ctx, s.states.table, watched{current: current, position: &s.statesRead, change: func(r row) {
		if r.live() {
			changed(s.states.decode(r), r.revision)
		} else {
			gone(r.key)
		}
	}})
}

// Await waits until the callbacks of [HeldTurns.Watch] and [HeldTurns.WatchStates] were called with all
// that any process had written before the call. It fails if there is no watch.
func (s *HeldTurns) Await(ctx context.Context) error {
	var both errgroup.Group
	both.Go(func() error { return s.process.reach(ctx, &s.process.memory.held, &s.turnsRead) })
	both.Go(func() error { return s.process.reach(ctx, s.states.table, &s.statesRead) })
	return both.Wait()
}

// Leases are the signs of life of the processes that share the memory. They are the [heldturns.Leases].
type Leases struct{ process *process }

// Renew records that a process lives, and the turns whose agents may have left without a record of it.
func (l *Leases) Renew(ctx context.Context, owner string, unrecorded []string) error {
	value, err := json.Marshal(unrecorded)
	if err != nil {
		return fmt.Errorf("encode a lease: %w", err)
	}
	return l.process.do(ctx, "renew a lease", func() error {
		l.process.memory.leases.set(row{key: owner, value: value, expires: time.Now().Add(leaseAge)})
		return nil
	})
}

// Remove records that a process has ended.
func (l *Leases) Remove(ctx context.Context, owner string) error {
	return l.process.do(ctx, "remove a lease", func() error {
		l.process.memory.leases.set(row{key: owner, mark: removed, expires: time.Now().Add(leaseAge)})
		return nil
	})
}

// Watch calls renewed and removed with the ids of processes. Leases that are not renewed are not
// reported.
func (l *Leases) Watch(ctx context.Context, renewed func(owner string, unrecorded []string), removed func(owner string)) error {
	return l.process.watch(ctx, &l.process.memory.leases, watched{current: func(bool) {}, change: func(r row) {
		if !r.live() {
			removed(r.key)
			return
		}
		var unrecorded []string
		if err := json.Unmarshal(r.value, &unrecorded); err != nil {
			panic(fmt.Sprintf("decode the lease of %s: %v", r.key, err))
		}
		renewed(r.key, unrecorded)
	}})
}
