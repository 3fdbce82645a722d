package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/heldcall/heldcall/approvals"
)

// probeKey is the key that [Store.Healthy] writes; it is no turn's, for those
// have two tokens.
const probeKey = "=probe"

// PutTurn keeps a hidden turn of a session until [TurnTTL] has passed. Writing
// the same id again replaces it. It is durable when PutTurn returns.
func (s *Store) PutTurn(ctx context.Context, session, id string, value []byte) error {
	return s.writeTurn(ctx, session, id, value, func(ctx context.Context, key string) error {
		_, err := s.turns.Put(ctx, key, value)
		return err
	})
}

// TakeTurn is [Store.PutTurn] for whoever comes first, on any replica: it writes
// nothing where there is a turn with this id, and reports false.
func (s *Store) TakeTurn(ctx context.Context, session, id string, value []byte) (taken bool, err error) {
	err = s.writeTurn(ctx, session, id, value, func(ctx context.Context, key string) error {
		_, err := s.turns.Create(ctx, key, value)
		if taken = err == nil; errors.Is(err, jetstream.ErrKeyExists) {
			return nil
		}
		return err
	})
	return taken, err
}

// DropTurn forgets a turn, so that it can be taken again.
func (s *Store) DropTurn(ctx context.Context, session, id string) error {
	return s.writeTurn(ctx, session, id, nil, func(ctx context.Context, key string) error { return s.turns.Delete(ctx, key) })
}

func (s *Store) writeTurn(ctx context.Context, session, id string, value []byte, write func(ctx context.Context, key string) error) error {
	if limit := s.maxRecord() - decisionRoom; len(value) > limit {
		return fmt.Errorf("hidden turn %s has %d bytes, the limit is %d: %w", id, len(value), limit, approvals.ErrTooLarge)
	}
	done, err := s.turn(ctx)
	if err != nil {
		return s.fail(opWrite, "write hidden turn "+id, err)
	}
	defer done()
	ctx, cancel := bounded(ctx)
	defer cancel()
	s.turnIndex.put(Token(session)) // first: who asks meanwhile must look
	if err := write(ctx, Token(session)+"."+Token(id)); err != nil {
		return s.fail(opWrite, "write hidden turn "+id, err)
	}
	return nil
}

// Turns are the hidden turns of a session in the order of their ids.
func (s *Store) Turns(ctx context.Context, session string) ([][]byte, error) {
	type turn struct {
		key   string
		value []byte
	}
	var turns []turn
	for msg, err := range messages(ctx, s.turnStream, "$KV."+BucketTurns+"."+Token(session)+".>") {
		if err != nil {
			return nil, s.fail(opRead, "read the hidden turns of session "+session, err)
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

// HasTurns reports from memory whether a session may have hidden turns. It
// never says no wrongly of what this process wrote; what another replica wrote
// it learns within milliseconds, and while the connection is lost it says yes.
func (s *Store) HasTurns(session string) bool {
	return !s.linked.isUp() || s.turnIndex.has(Token(session))
}

// AnyTurns reports, as [Store.HasTurns] does, whether any session may have
// hidden turns.
func (s *Store) AnyTurns() bool {
	return !s.linked.isUp() || s.turnIndex.any()
}

// turnIndex knows which sessions have hidden turns.
type turnIndex struct {
	mu       sync.RWMutex
	sessions map[string]int64 // when a turn was last written, unix seconds
	loaded   chan struct{}
}

func (x *turnIndex) init() {
	x.sessions = map[string]int64{}
	x.loaded = make(chan struct{})
}

func (x *turnIndex) put(session string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sessions[session] = time.Now().Unix()
}

func (x *turnIndex) has(session string) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	_, has := x.sessions[session]
	return has
}

func (x *turnIndex) any() bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.sessions) > 0
}

// removeBefore forgets the sessions whose turns have all expired.
func (x *turnIndex) removeBefore(t time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for session, at := range x.sessions {
		if at < t.Unix() {
			delete(x.sessions, session)
		}
	}
}

// wait returns when the sessions recorded before are known.
func (x *turnIndex) wait(ctx context.Context) error {
	select {
	case <-x.loaded:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("load the index of hidden turns: %w", ctx.Err())
	}
}

// watchTurns keeps the index until the context ends.
func (s *Store) watchTurns(ctx context.Context) {
	err := s.watch(ctx, watched{
		bucket: s.turns,
		keys:   true,
		loaded: func() { close(s.turnIndex.loaded) },
		entry: func(entry jetstream.KeyValueEntry) {
			if session, _, ok := strings.Cut(entry.Key(), "."); ok && entry.Operation() == jetstream.KeyValuePut {
				s.turnIndex.put(session)
			}
		},
	})
	if err != nil {
		s.log.Error("the index of hidden turns has stopped", "error", err)
	}
}
