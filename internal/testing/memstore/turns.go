package memstore

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/heldcall/heldcall/approvals"
)

// Turns are the hidden turns of sessions.
type Turns struct{ process *process }

// PutTurn writes a hidden turn of a session and replaces one with the same id.
func (s *Turns) PutTurn(ctx context.Context, session, id string, value []byte) error {
	_, err := s.put(ctx, session, id, value, true)
	return err
}

// TakeTurn is [Turns.PutTurn] for the first caller: if a turn with this id exists, it writes nothing and
// reports false.
func (s *Turns) TakeTurn(ctx context.Context, session, id string, value []byte) (taken bool, err error) {
	return s.put(ctx, session, id, value, false)
}

func (s *Turns) put(ctx context.Context, session, id string, value []byte, replace bool) (written bool, err error) {
	if limit := maxRecord - decisionRoom; len(value) > limit {
		return false, fmt.Errorf("hidden turn %s has %d bytes, the limit is %d: %w", id, len(value), limit, approvals.ErrTooLarge)
	}
	err = s.process.do(ctx, "write hidden turn "+id, func() error {
		turns := s.process.memory.turns[session]
		if turns == nil {
			turns = map[string][]byte{}
			s.process.memory.turns[session] = turns
		}
		if _, exists := turns[id]; !exists || replace {
			turns[id], written = bytes.Clone(value), true
		}
		return nil
	})
	return written, err
}

// DropTurn deletes a turn, so that it can be taken again.
func (s *Turns) DropTurn(ctx context.Context, session, id string) error {
	return s.process.do(ctx, "delete hidden turn "+id, func() error {
		delete(s.process.memory.turns[session], id)
		return nil
	})
}

// Turns returns the hidden turns of a session in the order of their ids.
func (s *Turns) Turns(ctx context.Context, session string) (values [][]byte, err error) {
	err = s.process.do(ctx, "read the hidden turns of session "+session, func() error {
		turns := s.process.memory.turns[session]
		for _, id := range slices.Sorted(maps.Keys(turns)) {
			values = append(values, bytes.Clone(turns[id]))
		}
		return nil
	})
	return values, err
}

// AwaitTurns does not wait: [Turns.HasTurns] knows everything.
func (s *Turns) AwaitTurns(context.Context) (known bool, err error) { return true, nil }

// HasTurns reports whether a session has or had hidden turns.
func (s *Turns) HasTurns(session string) (has bool) {
	s.process.locked(func() { _, has = s.process.memory.turns[session] })
	return has
}

// AnyTurns reports whether any session has or had hidden turns.
func (s *Turns) AnyTurns() (has bool) {
	s.process.locked(func() { has = len(s.process.memory.turns) > 0 })
	return has
}
