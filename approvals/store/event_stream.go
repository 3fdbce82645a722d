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

// AppendAfter publishes entries as one atomic batch: one wait for the disk.
func (e eventStream) AppendAfter(ctx context.Context, seq uint64, entries []audit.Entry) error {
	defer e.backend.TimeWrite()()
	conn := e.backend.Conn
	batch := nuid.Next()
	for i, entry := range entries {
		msg := natsgo.NewMsg(subjects.OfEvent(entry.Event))
		msg.Data = entry.Data
		msg.Header.Set(jetstream.MsgIDHeader, entry.Event.ID)
		msg.Header.Set(jetstream.ExpectedStreamHeader, subjects.StreamEvents)
		if i == 0 {
			msg.Header.Set(jetstream.ExpectedLastSeqHeader, strconv.FormatUint(seq, 10))
		}
		if len(entries) > 1 {
			msg.Header.Set(headerBatch, batch)
			msg.Header.Set(headerBatchSeq, strconv.Itoa(i+1))
		}
		if i < len(entries)-1 {
			if err := conn.PublishMsg(msg); err != nil {
				return e.backend.Fail(natskv.OpAppend, "append to the audit log", err)
			}
			continue
		}
		if len(entries) > 1 {
			msg.Header.Set(headerBatchCommit, "1")
		}
		return e.commit(ctx, msg)
	}
	return nil
}

// commit publishes the last message of a batch and reads the reply.
func (e eventStream) commit(ctx context.Context, msg *natsgo.Msg) error {
	var reply *natsgo.Msg
	err := e.backend.Bounded(ctx, func(ctx context.Context) (err error) {
		reply, err = natskv.Await(ctx, func(ctx context.Context) (*natsgo.Msg, error) { return e.backend.Conn.RequestMsgWithContext(ctx, msg) })
		return err
	})
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
	const duplicateInBatch, duplicateInProcess = 10201, 10158
	switch {
	case ack.Duplicate:
		return audit.ErrDuplicate
	case ack.Error == nil && ack.Sequence > 0:
		return nil
	case ack.Error == nil:
		return e.backend.Fail(natskv.OpAppend, "append to the audit log", errors.New("the reply has no sequence"))
	case natskv.WrongSequence(ack.Error):
		return audit.ErrMoved
	case ack.Error.ErrorCode == duplicateInBatch || ack.Error.ErrorCode == duplicateInProcess:
		return audit.ErrDuplicate
	}
	return e.backend.Fail(natskv.OpAppend, "append to the audit log", ack.Error)
}
