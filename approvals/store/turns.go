package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/store/natskv"
	"github.com/heldcall/heldcall/approvals/store/subjects"
)

// TurnTTL is the time for which a hidden turn is kept after it was written.
const TurnTTL = 30 * 24 * time.Hour

// probeKey is the key that [Store.Healthy] writes. Keys of turns have two tokens.
const probeKey = "=probe"

// Turns are the hidden turns of sessions, with an index of the sessions in memory.
type Turns struct {
	bucket   natskv.Bucket
	stream   jetstream.Stream // of the bucket
	index    *turnIndex
	position natskv.Position // of the index
}

func newTurns(b natskv.Bucket, stream jetstream.Stream) *Turns {
	return &Turns{bucket: b, stream: stream, index: newTurnIndex()}
}

// PutTurn writes a hidden turn of a session and replaces one with the same id. It is kept
// for [TurnTTL].
func (s *Turns) PutTurn(ctx context.Context, session, id string, value []byte) error {
	return s.write(ctx, session, id, value, func(ctx context.Context, key string) error {
		_, err := s.bucket.KV.Put(ctx, key, value)
		return err
	})
}

// TakeTurn is [Turns.PutTurn] for the first caller on all replicas: if a turn with this id
// exists, TakeTurn writes nothing and reports false.
func (s *Turns) TakeTurn(ctx context.Context, session, id string, value []byte) (taken bool, err error) {
	err = s.write(ctx, session, id, value, func(ctx context.Context, key string) error {
		_, exists, err := s.bucket.Create(ctx, key, value)
		taken = err == nil && !exists
		return err
	})
	return taken, err
}

// DropTurn deletes a turn, so that it can be taken again.
func (s *Turns) DropTurn(ctx context.Context, session, id string) error {
	return s.write(ctx, session, id, nil, func(ctx context.Context, key string) error { return s.bucket.KV.Delete(ctx, key) })
}

func (s *Turns) write(ctx context.Context, session, id string, value []byte, write func(ctx context.Context, key string) error) error {
	if limit := s.bucket.Backend.MaxRecord() - decisionRoom; len(value) > limit {
		return fmt.Errorf("hidden turn %s has %d bytes, the limit is %d: %w", id, len(value), limit, approvals.ErrTooLarge)
	}
	return s.bucket.Backend.Write(ctx, natskv.OpWrite, "write hidden turn "+id, func(ctx context.Context) error {
		s.index.put(subjects.Token(session)) // first: readers must read the turns from now on
		return write(ctx, subjects.Token(session)+"."+subjects.Token(id))
	})
}

// Turns returns the hidden turns of a session in the order of their ids.
func (s *Turns) Turns(ctx context.Context, session string) ([][]byte, error) {
	type turn struct {
		key   string
		value []byte
	}
	var turns []turn
	for msg, err := range natskv.Messages(ctx, s.stream, "$KV."+BucketTurns+"."+subjects.Token(session)+".>", 1) {
		if err != nil {
			return nil, s.bucket.Backend.Fail(natskv.OpRead, "read the hidden turns of session "+session, err)
		}
		if msg.Header.Get("KV-Operation") == "" {
			turns = append(turns, turn{msg.Subject, msg.Data})
		}
	}
	slices.SortFunc(turns, func(a, b turn) int { return strings.Compare(a.key, b.key) })
	values := make([][]byte, len(turns))
	for i, t := range turns {
		values[i] = t.value
	}
	return values, nil
}

// AwaitTurns returns when [Turns.HasTurns] knows what any replica had written before the call. It
// reports false, without waiting, if changes may be missing: the index may count as current before it
// has what was written meanwhile.
func (s *Turns) AwaitTurns(ctx context.Context) (known bool, err error) {
	backend := s.bucket.Backend
	if backend.Disk != nil { // no other replica writes
		return true, nil
	}
	if !s.current() {
		return false, nil
	}
	ctx, cancel := natskv.Bounded(ctx)
	defer cancel()
	err = s.bucket.Reach(ctx, &s.position)
	if err != nil && !errors.Is(err, natskv.ErrBehind) {
		return false, backend.Fail(natskv.OpRead, "find the last hidden turn", err)
	}
	return err == nil, nil
}

// HasTurns reports from memory whether a session may have hidden turns. Those of other
// replicas are known after milliseconds: see [Turns.AwaitTurns]. While changes of others may
// be missing, it reports true.
func (s *Turns) HasTurns(session string) bool {
	return !s.current() || s.index.has(subjects.Token(session))
}

// AnyTurns reports whether any session may have hidden turns: see [Turns.HasTurns].
func (s *Turns) AnyTurns() bool {
	return !s.current() || s.index.any()
}

// current reports whether the index has all changes, as far as is known.
func (s *Turns) current() bool { return s.bucket.Backend.Connected() && s.index.current.Load() }

// watch updates the index until the context ends.
func (s *Turns) watch(ctx context.Context) {
	err := s.bucket.Watch(ctx, natskv.Watched{
		Keys:     true,
		Current:  s.index.setCurrent,
		Position: &s.position,
		Entry: func(entry *natskv.Entry) {
			if session, _, ok := strings.Cut(entry.Key(), "."); ok && entry.Operation() == jetstream.KeyValuePut {
				s.index.put(session)
			}
		},
	})
	if err != nil {
		s.bucket.Backend.Log.Error("the watch of hidden turns has ended", "error", err)
	}
}

// probe writes a value and reads it back.
func (s *Turns) probe(ctx context.Context) error {
	backend, value := s.bucket.Backend, []byte(rand.Text())
	revision, err := s.bucket.KV.Put(ctx, probeKey, value)
	if err = backend.Disk.Wrote(natskv.OpWrite, err); err != nil {
		return backend.Fail(natskv.OpProbe, "write a probe", err)
	}
	entry, err := s.bucket.KV.Get(ctx, probeKey)
	if err != nil {
		return backend.Fail(natskv.OpProbe, "read a probe", err)
	}
	// A later revision may be a probe of another replica. An earlier one is an error.
	if entry.Revision() < revision || (entry.Revision() == revision && !bytes.Equal(entry.Value(), value)) {
		return backend.Fail(natskv.OpProbe, "read a probe", errors.New("the value differs from the written one"))
	}
	return nil
}
