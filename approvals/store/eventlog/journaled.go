package eventlog

import (
	"context"

	"github.com/heldcall/heldcall/approvals/audit"
	"github.com/heldcall/heldcall/approvals/store/journal"
	"github.com/heldcall/heldcall/approvals/store/natskv"
)

// journaled is the journal with a time limit for appends.
type journaled struct {
	*journal.Journal
	backend *natskv.Backend
}

// AppendAfter is [journal.Journal.AppendAfter] within the time of a write. It ends as soon as it is known that the
// folder cannot be written.
func (s journaled) AppendAfter(ctx context.Context, seq uint64, entries []audit.Entry) (n int, err error) {
	defer s.backend.TimeWrite()()
	err = s.backend.Bounded(ctx, func(ctx context.Context) (err error) {
		n, err = s.Journal.AppendAfter(ctx, seq, entries)
		return err
	})
	return n, err
}

// published is the stream that the journal publishes to.
type published struct{ eventStream }

// AppendAfter appends to the stream. It is not timed as a write: the entries are durable already.
func (s published) AppendAfter(ctx context.Context, seq uint64, entries []audit.Entry) (int, error) {
	return s.append(ctx, seq, entries)
}

// Head returns the end of the stream. It returns at its deadline even if the disk does not answer.
func (s published) Head(ctx context.Context) (audit.Head, error) {
	ctx, cancel := natskv.Bounded(ctx)
	defer cancel()
	return natskv.Await(ctx, s.eventStream.Head)
}
