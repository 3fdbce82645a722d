package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/heldcall/heldcall/approvals/audit"
	"github.com/heldcall/heldcall/approvals/store/natskv"
	"github.com/heldcall/heldcall/approvals/store/subjects"
)

// entryStream is the [audit.Stream] of the events.
type entryStream struct {
	backend *natskv.Backend
	stream  jetstream.Stream
}

// Head returns the end of the log.
func (e entryStream) Head(ctx context.Context) (audit.Head, error) {
	ctx, cancel := natskv.Bounded(ctx)
	defer cancel()
	info, err := e.stream.Info(ctx)
	if err != nil {
		return audit.Head{}, e.backend.Fail(natskv.OpRead, "read the end of the audit log", err)
	}
	head := audit.Head{Seq: info.State.LastSeq}
	if info.State.Msgs == 0 {
		return head, nil
	}
	return e.headAt(ctx, head.Seq)
}

// First returns the oldest entry, zero if there is none.
func (e entryStream) First(ctx context.Context) (audit.Head, error) {
	ctx, cancel := natskv.Bounded(ctx)
	defer cancel()
	info, err := e.stream.Info(ctx)
	if err != nil {
		return audit.Head{}, e.backend.Fail(natskv.OpRead, "read the start of the audit log", err)
	}
	if info.State.Msgs == 0 {
		return audit.Head{}, nil
	}
	return e.headAt(ctx, info.State.FirstSeq)
}

// headAt reads the hash of an entry that must be there.
func (e entryStream) headAt(ctx context.Context, seq uint64) (audit.Head, error) {
	entry, err := e.Entry(ctx, seq)
	if errors.Is(err, audit.ErrNoEntry) {
		err = &audit.BrokenError{Seq: seq, Reason: "the store has lost it"}
	}
	return audit.Head{Seq: seq, Hash: entry.Event.Hash}, err
}

// Entry reads one entry.
func (e entryStream) Entry(ctx context.Context, seq uint64) (audit.Entry, error) {
	ctx, cancel := natskv.Bounded(ctx)
	defer cancel()
	msg, err := e.stream.GetMsg(ctx, seq)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return audit.Entry{}, fmt.Errorf("audit entry %d: %w", seq, audit.ErrNoEntry)
	}
	if err != nil {
		return audit.Entry{}, e.backend.Fail(natskv.OpRead, "read the audit log", err)
	}
	return audit.Parse(msg.Sequence, msg.Data)
}

// The headers of an atomic batch (NATS ADR-50).
const (
	headerBatch       = "Nats-Batch-Id"
	headerBatchSeq    = "Nats-Batch-Sequence"
	headerBatchCommit = "Nats-Batch-Commit"
)

// The numbers of entries up to which each is a message of its own on a server with one copy. Such a
// server syncs each message, and a batch once, but keeps it in files that it creates and removes: at
// 32 entries that costs as much CPU time as the syncs and two thirds of the time, at 64 two thirds of
// the CPU time and a third of the time. An external server has a round trip for each message besides.
const (
	maxSingle         = 3
	maxSingleEmbedded = 31
)

// AppendAfter publishes each entry as a message, or several as an atomic batch.
//
// All single messages to the embedded server are sent at once: only this process writes its log, one
// append at a time. An external server gets a message only after the reply to the one before it:
// after a conflict, the expected sequence of the next entry can be that of an entry of another
// writer, and the chain would fork.
func (e entryStream) AppendAfter(ctx context.Context, seq uint64, entries []audit.Entry) (done int, err error) {
	defer e.backend.TimeWrite()()
	publish, each := e.publish, len(entries)
	external := e.backend.Disk == nil
	switch {
	case !external && len(entries) > maxSingleEmbedded, external && len(entries) > maxSingle,
		len(entries) > 1 && e.stream.CachedInfo().Config.Replicas > 1:
		publish = e.publishBatch
	case external:
		each = 1
	}
	for part := range slices.Chunk(entries, each) {
		after := seq + uint64(done) // publish may begin after this call has ended
		n, err := e.bounded(ctx, func(ctx context.Context) (int, error) { return publish(ctx, after, part) })
		if done += n; err != nil {
			return done, err
		}
	}
	return done, nil
}

// bounded publishes within the time of a write, and returns how many entries are durable.
func (e entryStream) bounded(ctx context.Context, publish func(context.Context) (int, error)) (done int, err error) {
	err = e.backend.Bounded(ctx, func(ctx context.Context) (err error) {
		done, err = natskv.Await(ctx, publish)
		return err
	})
	const duplicateInBatch = 10201 // 10158 is one in process, which may not be stored in the end
	switch api := (*jetstream.APIError)(nil); {
	case err == nil || errors.Is(err, audit.ErrDuplicate):
		return done, err
	case natskv.WrongSequence(err):
		return done, audit.ErrMoved
	case errors.As(err, &api) && api.ErrorCode == duplicateInBatch:
		return done, audit.ErrDuplicate
	}
	return done, e.backend.Fail(natskv.OpAppend, "append to the audit log", err)
}

// publish sends all entries, and waits for the reply to the last one: each is stored only after
// the one before it. If one of several is refused, it fails with [audit.ErrDuplicate], and the
// number of stored entries is unknown. [audit.Log] then appends them one by one.
func (e entryStream) publish(ctx context.Context, seq uint64, entries []audit.Entry) (int, error) {
	last := len(entries) - 1
	for i, entry := range entries {
		msg := message(entry)
		msg.Header.Set(jetstream.ExpectedLastSeqHeader, strconv.FormatUint(seq+uint64(i), 10))
		if i > 0 { // the sequence alone does not show that the entry before is that of this append
			msg.Header.Set(jetstream.ExpectedLastMsgIDHeader, entries[i-1].Event.ID)
		}
		if i < last {
			if err := e.backend.Conn.PublishMsg(msg); err != nil {
				return 0, err
			}
			continue
		}
		reply, err := e.backend.JS.PublishMsgAsync(msg)
		if err == nil {
			err = awaitReply(ctx, reply, entry.Seq)
		}
		if api := (*jetstream.APIError)(nil); last > 0 && errors.As(err, &api) {
			return 0, fmt.Errorf("%w: %w", audit.ErrDuplicate, err)
		}
		if err != nil {
			return 0, err
		}
	}
	return len(entries), nil
}

// publishBatch appends all entries or none.
func (e entryStream) publishBatch(ctx context.Context, seq uint64, entries []audit.Entry) (int, error) {
	batch, last := nuid.Next(), len(entries)-1
	for i, entry := range entries {
		msg := message(entry)
		msg.Header.Set(headerBatch, batch)
		msg.Header.Set(headerBatchSeq, strconv.Itoa(i+1))
		if i == 0 {
			msg.Header.Set(jetstream.ExpectedLastSeqHeader, strconv.FormatUint(seq, 10))
		}
		if i < last {
			if err := e.backend.Conn.PublishMsg(msg); err != nil {
				return 0, err
			}
			continue
		}
		msg.Header.Set(headerBatchCommit, "1")
		reply, err := e.backend.JS.PublishMsgAsync(msg)
		if err == nil {
			err = awaitReply(ctx, reply, entry.Seq)
		}
		if err != nil {
			return 0, err
		}
	}
	return len(entries), nil
}

// message returns the message of an entry.
func message(entry audit.Entry) *natsgo.Msg {
	msg := natsgo.NewMsg(subjects.OfEvent(entry.Event))
	msg.Data = entry.Data
	msg.Header.Set(jetstream.MsgIDHeader, entry.Event.ID)
	msg.Header.Set(jetstream.ExpectedStreamHeader, subjects.StreamEvents)
	return msg
}

// awaitReply waits until the server has stored a message, or the last one of a batch, with the
// sequence seq. It does not wait longer than until the connection is lost.
func awaitReply(ctx context.Context, reply jetstream.PubAckFuture, seq uint64) error {
	select {
	case stored := <-reply.Ok():
		switch {
		case stored.Duplicate:
			return audit.ErrDuplicate
		case stored.Sequence != seq:
			return fmt.Errorf("the reply has the sequence %d, not %d", stored.Sequence, seq)
		}
		return nil
	case err := <-reply.Err():
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
