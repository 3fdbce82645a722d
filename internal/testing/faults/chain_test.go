//go:build faults

package faults_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/audit"
)

// chainReader reads the audit log from NATS, one part after the other.
type chainReader struct{ last *audit.Entry }

// read returns the events since the last call, and verifies the chain from the last entry of
// that call on.
func (c *chainReader) read(ctx context.Context, conn *natsgo.Conn) ([]approvals.Event, error) {
	var entries []audit.Entry
	var err error
	for start := time.Now(); time.Since(start) < patience; time.Sleep(200 * time.Millisecond) {
		if entries, err = c.fetch(ctx, conn); err == nil {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	linked := entries
	if c.last != nil {
		linked = append([]audit.Entry{*c.last}, entries...)
	}
	if len(linked) > 0 {
		c.last = &linked[len(linked)-1]
	}
	_, err = audit.Verify(func(yield func(audit.Entry, error) bool) {
		for _, e := range linked {
			if !yield(e, nil) {
				return
			}
		}
	})
	events := make([]approvals.Event, len(entries))
	for i, e := range entries {
		events[i] = e.Event
	}
	return events, err
}

// fetch returns the entries after the last one that was read.
func (c *chainReader) fetch(ctx context.Context, conn *natsgo.Conn) ([]audit.Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, err
	}
	stream, err := js.Stream(ctx, "HELDCALL_EVENTS")
	if err != nil {
		return nil, fmt.Errorf("open the audit log: %w", err)
	}
	next, end := uint64(1), stream.CachedInfo().State.LastSeq
	if c.last != nil {
		next = c.last.Seq + 1
	}
	if next > end {
		return nil, nil
	}
	consumer, err := stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: next})
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	var entries []audit.Entry
	for next <= end {
		batch, err := consumer.Fetch(int(min(end-next+1, 500)), jetstream.FetchMaxWait(5*time.Second))
		if err != nil {
			return nil, fmt.Errorf("read the audit log: %w", err)
		}
		for message := range batch.Messages() {
			about, err := message.Metadata()
			if err != nil {
				return nil, err
			}
			entry, err := audit.Parse(about.Sequence.Stream, slices.Clone(message.Data()))
			if err != nil {
				return nil, err
			}
			entries, next = append(entries, entry), about.Sequence.Stream+1
		}
		if batch.Error() != nil {
			return nil, fmt.Errorf("read the audit log: %w", batch.Error())
		}
	}
	return entries, nil
}
