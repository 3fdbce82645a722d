package memstore

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/audit"
)

// Log is the audit log, a chain of events that [audit.Log] writes.
type Log struct {
	stream
	chain *audit.Log
}

func newLog(p *process) *Log {
	s := stream{p}
	return &Log{s, audit.NewLog(s, func() int { return maxRecord })}
}

// entries are the entries of the log in their order. The memory's mutex guards them.
type entries struct {
	dropped uint64 // entries that were removed from the start
	kept    []entry
	ids     map[string]uint64 // sequences by the ids of the events that are kept
	grown   signal
}

// entry is an entry of the log, and when it was written.
type entry struct {
	audit.Entry
	at time.Time
}

// last returns the sequence of the last entry, 0 for none.
func (e *entries) last() uint64 { return e.dropped + uint64(len(e.kept)) }

// from returns the entries from a sequence on.
func (e *entries) from(seq uint64) []entry {
	if seq > e.last() {
		return nil
	}
	return e.kept[max(seq, e.dropped+1)-e.dropped-1:]
}

// stream is the [audit.Stream] in memory, and what reads it.
type stream struct{ process *process }

// Head returns the end of the log.
func (s stream) Head(ctx context.Context) (head audit.Head, err error) {
	err = s.process.do(ctx, "read the end of the audit log", func() error {
		if kept := s.process.memory.log.kept; len(kept) > 0 {
			head = kept[len(kept)-1].head()
		}
		return nil
	})
	return head, err
}

// First returns the oldest entry, zero if there is none.
func (s stream) First(ctx context.Context) (head audit.Head, err error) {
	err = s.process.do(ctx, "read the start of the audit log", func() error {
		if kept := s.process.memory.log.kept; len(kept) > 0 {
			head = kept[0].head()
		}
		return nil
	})
	return head, err
}

func (e entry) head() audit.Head { return audit.Head{Seq: e.Seq, Hash: e.Event.Hash} }

// Entry reads one entry, or fails with [audit.ErrNoEntry].
func (s stream) Entry(ctx context.Context, seq uint64) (found audit.Entry, err error) {
	err = s.process.do(ctx, fmt.Sprintf("read audit entry %d", seq), func() error {
		if log := &s.process.memory.log; seq <= log.dropped || seq > log.last() {
			return audit.ErrNoEntry
		}
		found = s.process.memory.log.from(seq)[0].Entry
		return nil
	})
	return found, err
}

// AppendAfter appends all entries or none: see [audit.Stream].
func (s stream) AppendAfter(ctx context.Context, seq uint64, added []audit.Entry) (done int, err error) {
	err = s.process.do(ctx, "append to the audit log", func() error {
		log := &s.process.memory.log
		if log.last() != seq {
			return audit.ErrMoved
		}
		if slices.ContainsFunc(added, func(e audit.Entry) bool { return log.ids[e.Event.ID] > 0 }) {
			return audit.ErrDuplicate
		}
		now := time.Now()
		for _, e := range added {
			log.kept = append(log.kept, entry{e, now})
			log.ids[e.Event.ID] = e.Seq
		}
		log.grown.raise()
		return nil
	})
	if err != nil {
		return 0, err
	}
	return len(added), nil
}

// AppendEvents adds to the audit chain.
func (s *Log) AppendEvents(ctx context.Context, events ...approvals.Event) error {
	if err := s.process.do(ctx, "append to the audit log", func() error { return nil }); err != nil {
		return err
	}
	if err := s.chain.Append(ctx, events...); err != nil {
		return approvals.Unavailable("append to the audit log", err)
	}
	return nil
}

// EnsureEvent appends an event unless one with its id is in the log.
func (s *Log) EnsureEvent(ctx context.Context, e approvals.Event) error {
	err := s.chain.Ensure(ctx, e, func(ctx context.Context) (exists bool, err error) {
		err = s.process.do(ctx, "look for event "+e.ID, func() error { exists = s.process.memory.log.ids[e.ID] > 0; return nil })
		return exists, err
	})
	if err != nil {
		return approvals.Unavailable("append to the audit log", err)
	}
	return nil
}

// HasEvent reports whether an event of the type, the tenant and the request of e is in the log.
func (s *Log) HasEvent(ctx context.Context, e approvals.Event) (exists bool, err error) {
	err = s.process.do(ctx, "look for an event of request "+e.RequestID, func() error {
		exists = slices.ContainsFunc(s.process.memory.log.kept, func(kept entry) bool {
			return kept.Event.Type == e.Type && kept.Event.Tenant == e.Tenant && kept.Event.RequestID == e.RequestID
		})
		return nil
	})
	return exists, err
}

// LastSeq returns the sequence number of the latest event, 0 for none.
func (s *Log) LastSeq(ctx context.Context) (seq uint64, err error) {
	err = s.process.do(ctx, "read the end of the audit log", func() error { seq = s.process.memory.log.last(); return nil })
	return seq, err
}

// Events yields the audit log from a sequence on (0: from the next event) and waits for more.
func (s *Log) Events(ctx context.Context, from uint64) iter.Seq2[approvals.Event, error] {
	return func(yield func(approvals.Event, error) bool) {
		for next := from; ctx.Err() == nil; {
			var read []entry
			var grown <-chan struct{}
			s.process.locked(func() {
				log := &s.process.memory.log
				if next == 0 {
					next = log.last() + 1
				}
				read, grown = log.from(next), log.grown.next()
			})
			for _, e := range read {
				if !yield(e.Event, nil) || ctx.Err() != nil {
					return
				}
				next = e.Seq + 1
			}
			select {
			case <-grown:
			case <-ctx.Done():
			}
		}
	}
}

// entriesNow yields the entries that are in the log now.
func (s stream) entriesNow(ctx context.Context, wanted func(entry) bool) iter.Seq2[audit.Entry, error] {
	return func(yield func(audit.Entry, error) bool) {
		var kept []entry
		if err := s.process.do(ctx, "read the audit log", func() error { kept = s.process.memory.log.kept; return nil }); err != nil {
			yield(audit.Entry{}, err)
			return
		}
		for _, e := range kept {
			if wanted(e) && !yield(e.Entry, nil) {
				return
			}
		}
	}
}

// Entries yields the audit log from a sequence on, up to its end at the time of the call.
func (s stream) Entries(ctx context.Context, from uint64) iter.Seq2[audit.Entry, error] {
	return s.entriesNow(ctx, func(e entry) bool { return e.Seq >= from })
}

// EntriesFrom yields the audit log after a sequence and not before a time, up to its end at the time of
// the call.
func (s stream) EntriesFrom(ctx context.Context, after uint64, since time.Time) iter.Seq2[audit.Entry, error] {
	return s.entriesNow(ctx, func(e entry) bool { return e.Seq > after && !e.Event.Time.Before(since) })
}

// OfType yields the entries of a type from a sequence on, to the end of the log.
func (s stream) OfType(ctx context.Context, t approvals.EventType, from uint64) iter.Seq2[audit.Entry, error] {
	return s.entriesNow(ctx, func(e entry) bool { return e.Event.Type == t && e.Seq >= from })
}

// Changes returns the entries of a type, in order.
func (s stream) Changes(ctx context.Context, t approvals.EventType) (changes []audit.Entry, err error) {
	for e, err := range s.OfType(ctx, t, 1) {
		if err != nil {
			return nil, err
		}
		changes = append(changes, e)
	}
	return changes, nil
}

// RecentEvents yields the last n events, oldest first.
func (s *Log) RecentEvents(ctx context.Context, n int) iter.Seq2[approvals.Event, error] {
	return func(yield func(approvals.Event, error) bool) {
		last, err := s.LastSeq(ctx)
		if err != nil {
			yield(approvals.Event{}, err)
			return
		}
		for e, err := range s.Entries(ctx, last-min(last, uint64(n))+1) {
			if !yield(e.Event, err) {
				return
			}
		}
	}
}

// DropBefore deletes the events that were written before a time, except the last, after it has called
// declare with the first entry that remains: see [audit.Stored].
func (s *Log) DropBefore(ctx context.Context, before time.Time, declare func(context.Context, audit.Head) error) error {
	const doing = "delete old audit entries"
	var old []entry
	var first audit.Head
	if err := s.process.do(ctx, doing, func() error {
		kept := s.process.memory.log.kept
		for len(old)+1 < len(kept) && kept[len(old)].at.Before(before) {
			old = kept[:len(old)+1]
		}
		if len(old) > 0 {
			first = kept[len(old)].head()
		}
		return nil
	}); err != nil || len(old) == 0 {
		return err
	}
	if err := declare(ctx, first); err != nil {
		return err
	}
	return s.process.do(ctx, doing, func() error {
		log := &s.process.memory.log
		for _, e := range old {
			delete(log.ids, e.Event.ID)
		}
		log.kept, log.dropped = log.from(first.Seq), first.Seq-1
		return nil
	})
}
