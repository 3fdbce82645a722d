package store

import (
	"context"
	"errors"
	"maps"
	"strings"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/heldturns"
	"github.com/heldcall/heldcall/approvals/store/natskv"
	"github.com/heldcall/heldcall/approvals/store/subjects"
)

// HeldTurns are the snapshots of held turns, and the records of their states. It is the
// store of a [heldturns.Keeper].
//
// A snapshot is under the key {owner}.{conversation}.{fingerprint}.{turn}.{task}, so that a watch
// of the keys is enough for an index. A large snapshot is in the object store, under the id
// of the turn: its key ends with .large and has no value. Earlier versions have written no task.
type HeldTurns struct {
	Leases *Leases // nil with the embedded server: only this process uses it

	turns   natskv.Bucket
	states  Records[heldturns.State]
	objects objects

	turnsRead, statesRead natskv.Position // of the watches
}

const (
	largeToken = "large"
	maxInline  = 1 << 20 // bytes of a snapshot in the bucket
)

func newHeldTurns(of func(name string) natskv.Bucket, o objects) *HeldTurns {
	return &HeldTurns{
		turns: of(BucketHeld), objects: o,
		states: Records[heldturns.State]{of(BucketHeldStates), "state of held turn", approvals.ErrUnknownTurn, func(s *heldturns.State) string { return s.ID }},
	}
}

// heldKey returns the key of a held turn.
func heldKey(k heldturns.Key) string {
	tokens := []string{subjects.Token(k.Owner), subjects.Token(k.Conversation), subjects.Token(k.Fingerprint), subjects.Token(k.ID)}
	if k.Task != "" {
		tokens = append(tokens, subjects.Token(k.Task))
	}
	if k.Large {
		tokens = append(tokens, largeToken)
	}
	return strings.Join(tokens, ".")
}

// parseHeldKey is the reverse of heldKey.
func parseHeldKey(key string) (k heldturns.Key, ok bool) {
	key, k.Large = strings.CutSuffix(key, "."+largeToken)
	tokens := strings.Split(key, ".")
	parts := []*string{&k.Owner, &k.Conversation, &k.Fingerprint, &k.ID, &k.Task}
	if len(tokens) < len(parts)-1 || len(tokens) > len(parts) {
		return k, false
	}
	for i, to := range parts[:len(tokens)] {
		name, err := subjects.ParseToken(tokens[i])
		if err != nil {
			return k, false
		}
		*to = name
	}
	return k, true
}

// Put writes the snapshot of a held turn and replaces an earlier one under the same key. It
// sets Large and returns the key. It fails with [approvals.ErrNoRoom] if the turns that are
// held need all of hold.max_stored.
func (s *HeldTurns) Put(ctx context.Context, k heldturns.Key, snapshot []byte) (heldturns.Key, error) {
	doing := "store held turn " + k.ID
	if k.Large = len(snapshot) > min(maxInline, s.turns.Backend.MaxRecord()-decisionRoom); k.Large {
		if err := s.objects.put(ctx, k.ID, snapshot); err != nil {
			return k, err
		}
		snapshot = nil
	}
	err := noRoom(doing, s.turns.Backend.Write(ctx, natskv.OpWrite, doing, func(ctx context.Context) error {
		_, err := s.turns.KV.Put(ctx, heldKey(k), snapshot)
		return err
	}))
	if k.Large && errors.Is(err, approvals.ErrNoRoom) {
		err = errors.Join(err, s.objects.remove(ctx, k.ID))
	}
	return k, err
}

// Get reads the snapshot of a held turn, or fails with [approvals.ErrUnknownTurn].
func (s *HeldTurns) Get(ctx context.Context, k heldturns.Key) ([]byte, error) {
	entry, err := s.turns.Get(ctx, heldKey(k), approvals.ErrUnknownTurn)
	if err != nil {
		return nil, err
	}
	if k.Large {
		return s.objects.get(ctx, k.ID)
	}
	return entry.Value(), nil
}

// End removes a held turn. Its key is reported as ended for the time of keep.
func (s *HeldTurns) End(ctx context.Context, k heldturns.Key, keep time.Duration) error {
	return s.remove(ctx, k, natsgo.Header{}, keep)
}

// Withdraw removes the snapshot under a key. It is reported as withdrawn for the time of
// keep.
func (s *HeldTurns) Withdraw(ctx context.Context, k heldturns.Key, keep time.Duration) error {
	return s.remove(ctx, k, natsgo.Header{withdrawnHeader: {"true"}}, keep)
}

// withdrawnHeader is in the marker of a turn that was withdrawn.
const withdrawnHeader = "Heldcall-Withdrawn"

// remove replaces a snapshot by the marker of a purge, with more headers: see NATS' ADR-8.
func (s *HeldTurns) remove(ctx context.Context, k heldturns.Key, header natsgo.Header, keep time.Duration) error {
	doing, subject := "remove held turn "+k.ID, "$KV."+BucketHeld+"."+heldKey(k)
	header.Set("KV-Operation", "PURGE")
	header.Set(jetstream.MsgRollup, jetstream.MsgRollupSubject)
	mark := func(ctx context.Context) error {
		msg := &natsgo.Msg{Subject: subject, Header: maps.Clone(header)}
		_, err := s.turns.Backend.JS.PublishMsg(ctx, msg, jetstream.WithMsgTTL(max(keep.Round(time.Second), time.Second)))
		return err
	}
	err := s.turns.Backend.Write(ctx, natskv.OpWrite, doing, func(ctx context.Context) error {
		err := mark(ctx)
		if !errors.Is(noRoom(doing, err), approvals.ErrNoRoom) {
			return err
		}
		// A full bucket of a cluster does not take the marker that makes room.
		stream, err := s.turns.Backend.JS.Stream(ctx, "KV_"+BucketHeld)
		if err != nil {
			return err
		}
		if err := stream.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
			return err
		}
		return mark(ctx)
	})
	if err == nil && k.Large {
		err = s.objects.remove(ctx, k.ID)
	}
	return err
}

// SweepBefore removes the large snapshots that were written before a time and belong to
// turns that are not wanted: a crash has left them.
func (s *HeldTurns) SweepBefore(ctx context.Context, wanted func(turn string) bool, before time.Time) error {
	return s.objects.sweep(ctx, wanted, before)
}

// Watch calls changed with every held turn, with the turns that have ended, and with every
// change. It reads no snapshots.
func (s *HeldTurns) Watch(ctx context.Context, changed func(heldturns.Entry), current func(bool)) error {
	return s.turns.Watch(ctx, natskv.Watched{Keys: true, Current: current, Position: &s.turnsRead, Entry: func(entry *natskv.Entry) {
		k, ok := parseHeldKey(entry.Key())
		if !ok {
			s.turns.Backend.Log.Error("failed to read the key of a held turn", "key", entry.Key())
			return
		}
		removed, withdrawn := entry.Operation() != jetstream.KeyValuePut, entry.Header(withdrawnHeader) != ""
		changed(heldturns.Entry{Key: k, Ended: removed && !withdrawn, Withdrawn: withdrawn, At: entry.Created().UTC()})
	}})
}

// PutState writes the state of a held turn whose record is at a revision (0: has none), else
// it fails with [approvals.ErrConflict].
func (s *HeldTurns) PutState(ctx context.Context, state heldturns.State, revision uint64) (uint64, error) {
	return s.states.put(ctx, state, revision, s.states.bucket.Backend.MaxRecord())
}

// GetState reads the state of a held turn, or fails with [approvals.ErrUnknownTurn].
func (s *HeldTurns) GetState(ctx context.Context, id string) (heldturns.State, uint64, error) {
	return s.states.Get(ctx, id)
}

// RemoveState removes the state of a held turn whose record is at a revision, else it fails
// with [approvals.ErrConflict].
func (s *HeldTurns) RemoveState(ctx context.Context, id string, revision uint64) error {
	return purge(ctx, s.states.bucket, "remove the state of held turn "+id, subjects.Token(id), jetstream.LastRevision(revision), jetstream.PurgeTTL(time.Minute))
}

// WatchStates calls changed with every state and every change of one, and gone with the ids
// of the turns whose state was removed.
func (s *HeldTurns) WatchStates(ctx context.Context, changed func(state heldturns.State, revision uint64), gone func(id string), current func(bool)) error {
	return s.states.watch(ctx, func(r record[heldturns.State]) { changed(r.value, r.revision) }, gone, natskv.Watched{Current: current, Position: &s.statesRead})
}

// Await waits until the callbacks of [HeldTurns.Watch] and [HeldTurns.WatchStates] were called with
// all that any process had written before the call. It fails if that is not certain.
func (s *HeldTurns) Await(ctx context.Context) error {
	var both errgroup.Group
	both.Go(func() error { return s.turns.Reach(ctx, &s.turnsRead) })
	both.Go(func() error { return s.states.bucket.Reach(ctx, &s.statesRead) })
	return both.Wait()
}
