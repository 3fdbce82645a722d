package store

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/heldcall/heldcall/approvals"
)

var _ approvals.GrantStore = (*Store)(nil)

// PutGrant writes a grant that stands at a revision (0: never existed).
func (s *Store) PutGrant(ctx context.Context, g approvals.Grant, revision uint64) (uint64, error) {
	value, err := encode(g)
	if err != nil {
		return 0, fmt.Errorf("encode grant %s: %w", g.ID, err)
	}
	if limit := s.maxRecord() / 2; len(value) > limit { // its event holds it too
		return 0, fmt.Errorf("grant %s has %d bytes, the limit is %d: %w", g.ID, len(value), limit, approvals.ErrTooLarge)
	}
	return s.compareAndSet(ctx, s.grants, Token(g.ID), value, revision)
}

// GetGrant reads a grant.
func (s *Store) GetGrant(ctx context.Context, id string) (approvals.Grant, uint64, error) {
	entry, err := s.get(ctx, s.grants, Token(id), approvals.ErrUnknownGrant)
	if err != nil {
		return approvals.Grant{}, 0, err
	}
	g, err := decodeGrant(entry)
	return g, entry.Revision(), err
}

// DeleteGrant removes a grant. A mark stays in its place, so that the same grant
// is never written again.
func (s *Store) DeleteGrant(ctx context.Context, id string) error {
	done, err := s.turn(ctx)
	if err != nil {
		return s.fail(opWrite, "delete grant "+id, err)
	}
	defer done()
	ctx, cancel := bounded(ctx)
	defer cancel()
	if err := s.grants.Delete(ctx, Token(id)); err != nil {
		return s.fail(opWrite, "delete grant "+id, err)
	}
	return nil
}

// WatchGrants tells of every grant, every change of one, and of those that are
// deleted.
func (s *Store) WatchGrants(ctx context.Context, changed func(approvals.Grant, uint64), gone func(string), loaded func()) error {
	return s.watch(ctx, watched{
		bucket: s.grants,
		loaded: loaded,
		entry: func(entry jetstream.KeyValueEntry) {
			if entry.Operation() != jetstream.KeyValuePut {
				if id, err := ParseToken(entry.Key()); err == nil {
					gone(id)
				}
				return
			}
			g, err := decodeGrant(entry)
			if err != nil {
				s.log.Error("a record of a grant cannot be read", "key", entry.Key(), "error", err)
				return
			}
			changed(g, entry.Revision())
		},
	})
}

func decodeGrant(entry jetstream.KeyValueEntry) (approvals.Grant, error) {
	var g approvals.Grant
	if err := json.Unmarshal(entry.Value(), &g); err != nil {
		return g, fmt.Errorf("read grant %s: %w: %w", entry.Key(), approvals.ErrStoreUnavailable, err)
	}
	if Token(g.ID) != entry.Key() {
		return g, fmt.Errorf("read grant %s: %w: the record is of grant %q", entry.Key(), approvals.ErrStoreUnavailable, g.ID)
	}
	return g, nil
}

// RecentEvents yields the last n events of the audit log, oldest first.
func (s *Store) RecentEvents(ctx context.Context, n int) iter.Seq2[approvals.Event, error] {
	return func(yield func(approvals.Event, error) bool) {
		head, err := eventStream{s}.Head(ctx)
		if err != nil {
			yield(approvals.Event{}, err)
			return
		}
		from := uint64(1)
		if last := uint64(n); head.Seq > last {
			from = head.Seq - last + 1
		}
		for entry, err := range s.Entries(ctx, from) {
			if !yield(entry.Event, err) {
				return
			}
		}
	}
}
