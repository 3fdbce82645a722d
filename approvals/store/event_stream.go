package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/heldcall/heldcall/approvals/audit"
	"github.com/heldcall/heldcall/approvals/store/natskv"
	"github.com/heldcall/heldcall/approvals/store/subjects"
)

// eventStream is the [audit.Stream] of the events.
type eventStream struct {
	backend *natskv.Backend
	stream  jetstream.Stream
}

// Head returns the end of the log.
func (e eventStream) Head(ctx context.Context) (audit.Head, error) {
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
func (e eventStream) First(ctx context.Context) (audit.Head, error) {
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
func (e eventStream) headAt(ctx context.Context, seq uint64) (audit.Head, error) {
	entry, err := e.Entry(ctx, seq)
	if errors.Is(err, audit.ErrNoEntry) {
		err = &audit.BrokenError{Seq: seq, Reason: "the store has lost it"}
	}
	return audit.Head{Seq: seq, Hash: entry.Event.Hash}, err
}

// Entry reads one entry.
func (e eventStream) Entry(ctx context.Context, seq uint64) (audit.Entry, error) {
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

// maxSingle is the number of entries up to which each is a message of its own. NATS keeps a
// batch of a stream with one copy in files that it creates and removes, which costs as much
// as about 12 synced messages; with several copies in memory.
const maxSingle = 3

// AppendAfter publishes few entries one after the other, and others as an atomic batch. It
// does not send an entry before the reply to the one before it: after a conflict, the
// expected sequence of the next entry can be that of an entry of another writer, and the
// chain would fork.
func (e eventStream) AppendAfter(ctx context.Context, seq uint64, entries []audit.Entry) (int, error) {
	defer e.backend.TimeWrite()()
	if len(entries) > maxSingle || (len(entries) > 1 && e.stream.CachedInfo().Config.Replicas > 1) {
		if err := e.appendBatch(ctx, seq, entries); err != nil {
			return 0, err
		}
		return len(entries), nil
	}
	for i, entry := range entries {
		msg := message(entry)
		msg.Header.Set(jetstream.ExpectedLastSeqHeader, strconv.FormatUint(seq+uint64(i), 10))
		if err := e.commit(ctx, msg, entry.Seq); err != nil {
			return i, err
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

// appendBatch appends all entries or none.
func (e eventStream) appendBatch(ctx context.Context, seq uint64, entries []audit.Entry) error {
	batch := nuid.Next()
	for i, entry := range entries {
		msg := message(entry)
		msg.Header.Set(headerBatch, batch)
		msg.Header.Set(headerBatchSeq, strconv.Itoa(i+1))
		if i == 0 {
			msg.Header.Set(jetstream.ExpectedLastSeqHeader, strconv.FormatUint(seq, 10))
		}
		if i == len(entries)-1 {
			msg.Header.Set(headerBatchCommit, "1")
			return e.commit(ctx, msg, entry.Seq)
		}
		if err := e.backend.Conn.PublishMsg(msg); err != nil {
			return e.backend.Fail(natskv.OpAppend, "append to the audit log", err)
		}
	}
	return nil
}

// errReconnected is the error of a write whose connection was lost before the reply.
var errReconnected = errors.New("the connection to NATS was lost before the reply")

// commit publishes a message, or the last one of a batch, and waits until the server has
// stored it with the sequence seq. It does not wait longer than until a reconnect: the reply
// was for the connection that is lost.
func (e eventStream) commit(ctx context.Context, msg *natsgo.Msg, seq uint64) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	reconnected := e.backend.NextReconnect()
	go func() {
		select {
		case <-reconnected:
			cancel(errReconnected)
		case <-ctx.Done():
		}
	}()
	var reply *natsgo.Msg
	err := e.backend.Bounded(ctx, func(ctx context.Context) (err error) {
		reply, err = natskv.Await(ctx, func(ctx context.Context) (*natsgo.Msg, error) { return e.backend.Conn.RequestMsgWithContext(ctx, msg) })
		return err
	})
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, errReconnected) {
		err = cause
	}
	if err != nil {
		return e.backend.Fail(natskv.OpAppend, "append to the audit log", err)
	}
	var ack struct {
		Error     *jetstream.APIError `json:"error"`
		Sequence  uint64              `json:"seq"`
		Duplicate bool                `json:"duplicate"`
	}
	if err := json.Unmarshal(reply.Data, &ack); err != nil {
		return e.backend.Fail(natskv.OpAppend, "append to the audit log", err)
	}
	const duplicateInBatch = 10201 // 10158 is one in process, which may not be stored in the end
	switch {
	case ack.Duplicate:
		return audit.ErrDuplicate
	case ack.Error == nil && ack.Sequence == seq:
		return nil
	case ack.Error == nil:
		return e.backend.Fail(natskv.OpAppend, "append to the audit log", fmt.Errorf("the reply has the sequence %d, not %d", ack.Sequence, seq))
	case natskv.WrongSequence(ack.Error):
		return audit.ErrMoved
	case ack.Error.ErrorCode == duplicateInBatch:
		return audit.ErrDuplicate
	}
	return e.backend.Fail(natskv.OpAppend, "append to the audit log", ack.Error)
}
