package memstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

const (
	// ackWait is the time after which an event without an acknowledgement is delivered again.
	ackWait = 30 * time.Second
	// maxUnacknowledged is the largest number of such events of a channel.
	maxUnacknowledged = 1000
)

// Deliveries delivers events to channels, and stores the state of channels.
type Deliveries struct{ process *process }

// Ack acknowledges one event for a channel.
type Ack = interface {
	Done()    // do not deliver it again
	Working() // extend the time until it is delivered again
	Return()  // deliver it again at once, to any replica
}

// consumer is what a channel has read of the log. The memory's mutex guards it.
type consumer struct {
	types   []approvals.EventType
	next    uint64               // sequence of the next event to look at
	open    map[uint64]time.Time // events without an acknowledgement by sequence: when each is delivered again
	changed signal
}

// Follow delivers the events of some types for a channel, each to one of those that follow it. A new
// channel begins with the next event.
func (s *Deliveries) Follow(ctx context.Context, channel string, types []approvals.EventType, following func(), take func(approvals.Event, Ack)) error {
	var c *consumer
	if err := s.process.do(ctx, "follow the events for channel "+channel, func() error {
		m := s.process.memory
		if c = m.channels[channel]; c == nil {
			c = &consumer{next: m.log.last() + 1, open: map[uint64]time.Time{}}
			m.channels[channel] = c
		}
		c.types = types
		return nil
	}); err != nil {
		return err
	}
	following()
	for ctx.Err() == nil {
		var due *entry
		var again time.Duration
		var grown, changed <-chan struct{}
		s.process.locked(func() {
			log := &s.process.memory.log
			due, again = c.deliver(log)
			grown, changed = log.grown.next(), c.changed.next()
		})
		if due != nil {
			take(due.Event, ack{s.process, c, due.Seq})
			continue
		}
		timer := time.NewTimer(again)
		select {
		case <-grown:
		case <-changed:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
	return nil
}

// deliver returns the next event that is due, or nil and the longest time until one may be.
func (c *consumer) deliver(log *entries) (due *entry, again time.Duration) {
	now, again := time.Now(), ackWait
	for seq, at := range c.open {
		wait := at.Sub(now)
		if again = min(again, wait); wait > 0 {
			continue
		}
		if e := log.from(seq); len(e) == 0 || e[0].Seq != seq { // retention has removed it
			delete(c.open, seq)
		} else if due == nil || seq < due.Seq {
			due = &e[0]
		}
	}
	if due == nil && len(c.open) < maxUnacknowledged {
		unread := log.from(c.next)
		i := slices.IndexFunc(unread, func(e entry) bool { return slices.Contains(c.types, e.Event.Type) })
		if i < 0 {
			c.next = log.last() + 1
		} else {
			due, c.next = &unread[i], unread[i].Seq+1
		}
	}
	if due != nil {
		c.open[due.Seq] = now.Add(ackWait)
	}
	return due, max(again, 0)
}

// ack acknowledges an event of a consumer.
type ack struct {
	process  *process
	consumer *consumer
	seq      uint64
}

func (a ack) Done()    { a.answer(func() { delete(a.consumer.open, a.seq) }) }
func (a ack) Working() { a.answer(func() { a.consumer.open[a.seq] = time.Now().Add(ackWait) }) }
func (a ack) Return()  { a.answer(func() { a.consumer.open[a.seq] = time.Now() }) }

// answer changes the state of the event, unless it was acknowledged before or the store is closed.
func (a ack) answer(change func()) {
	a.process.locked(func() {
		if _, open := a.consumer.open[a.seq]; open && !a.process.closed {
			change()
			a.consumer.changed.raise()
		}
	})
}

// State reads the value of a channel under a key. Revision 0 means that there is none.
func (s *Deliveries) State(ctx context.Context, channel, key string) ([]byte, uint64, error) {
	var r row
	err := s.process.do(ctx, "read state "+key+" of channel "+channel, func() (err error) {
		if r, err = s.process.memory.states.get(stateKey(channel, key)); errors.Is(err, errNoRow) {
			return nil
		}
		return err
	})
	return slices.Clone(r.value), r.revision, err
}

// PutState writes a value of a channel under a key if the key is at the revision, else it fails with
// [approvals.ErrConflict].
func (s *Deliveries) PutState(ctx context.Context, channel, key string, value []byte, revision uint64) (written uint64, err error) {
	if len(value) > maxRecord/2 {
		return 0, fmt.Errorf("state %s of channel %s has %d bytes: %w", key, channel, len(value), approvals.ErrTooLarge)
	}
	err = s.process.do(ctx, "write state "+key+" of channel "+channel, func() error {
		written, err = s.process.memory.states.compareAndSet(row{key: stateKey(channel, key), value: value}, revision)
		return err
	})
	return written, err
}

func stateKey(channel, key string) string { return fmt.Sprintf("%q %q", channel, key) }

// LinkKey returns the key that signs the links of a channel: fresh, if there is none yet.
func (s *Deliveries) LinkKey(ctx context.Context, channel string, fresh []byte) ([]byte, error) {
	return s.process.once(ctx, "of links of "+channel, fresh)
}
