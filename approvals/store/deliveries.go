package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/store/natskv"
	"github.com/heldcall/heldcall/approvals/store/subjects"
)

const (
	// followWait is the time after which a message without an acknowledgement is
	// delivered again.
	followWait = 30 * time.Second
	// followPending is the largest number of unacknowledged messages of a channel, over
	// all replicas. The messages of a channel that is down end with their requests.
	followPending = 1000
)

// Deliveries delivers events to channels, and stores the state of channels.
type Deliveries struct {
	bucket    natskv.Bucket
	keys      keys
	stream    jetstream.Stream // of the events
	inactive  time.Duration    // after which the consumer of a channel is deleted
	delivered delivered
}

// Ack acknowledges one event for a channel.
type Ack = interface {
	Done()    // do not deliver it again
	Working() // extend the time until it is delivered again
	Return()  // deliver it again at once, to any replica
}

// Follow delivers the events of some types for a channel, each to one of the replicas that
// follow the channel. A channel that nothing has followed for the retention of events begins
// with the next event.
func (s *Deliveries) Follow(ctx context.Context, channel string, types []approvals.EventType, following func(), take func(approvals.Event, Ack)) error {
	filters := make([]string, len(types))
	for i, typ := range types {
		filters[i] = subjects.Fill(subjects.Event, "*", subjects.Token(string(typ)), "*")
	}
	making, cancel := natskv.Bounded(ctx)
	defer cancel()
	consumer, err := s.consumer(making, channel, filters)
	if err != nil {
		return s.bucket.Backend.Fail(natskv.OpRead, "follow the events for channel "+channel, err)
	}
	reader, err := consumer.Messages(jetstream.PullMaxMessages(readAhead))
	if err != nil {
		return s.bucket.Backend.Fail(natskv.OpRead, "follow the events for channel "+channel, err)
	}
	defer returnUnread(reader)
	following()
	for {
		msg, err := natskv.Next(ctx, reader)
		if ctx.Err() != nil {
			if err == nil {
				_ = msg.Nak() // else it is delivered again after followWait
			}
			return nil
		}
		if err != nil {
			return s.bucket.Backend.Fail(natskv.OpRead, "follow the events for channel "+channel, err)
		}
		entry, err := entryOf(msg)
		if err != nil {
			s.bucket.Backend.Log.Error("an event cannot be read and is not delivered", "channel", channel, "error", err)
			_ = msg.Term()
			continue
		}
		take(entry.Event, ackMsg{s.bucket.Backend.Conn, msg.Reply()})
		s.delivered.raise(channel, entry.Seq)
	}
}

// consumer finds or creates the consumer of a channel. An existing one keeps its position, a
// new one begins with the next event. One that was lost while it was followed begins after
// the last event that was delivered here.
func (s *Deliveries) consumer(ctx context.Context, channel string, filters []string) (jetstream.Consumer, error) {
	config := jetstream.ConsumerConfig{
		Durable:           subjects.ChannelConsumer(channel),
		Description:       "heldcall: events for the channel " + channel,
		DeliverPolicy:     jetstream.DeliverNewPolicy,
		AckPolicy:         jetstream.AckExplicitPolicy,
		AckWait:           followWait,
		MaxAckPending:     followPending,
		FilterSubjects:    filters,
		InactiveThreshold: s.inactive,
	}
	existing, err := s.bucket.Backend.JS.Consumer(ctx, subjects.StreamEvents, config.Durable)
	switch {
	case err == nil:
		at := existing.CachedInfo()
		config.DeliverPolicy, config.OptStartSeq = at.Config.DeliverPolicy, at.Config.OptStartSeq // these cannot change
		s.delivered.raise(channel, at.AckFloor.Stream)
		return s.bucket.Backend.JS.UpdateConsumer(ctx, subjects.StreamEvents, config)
	case !errors.Is(err, jetstream.ErrConsumerNotFound):
		return nil, err
	}
	if last, known := s.delivered.last(channel); known {
		config.DeliverPolicy, config.OptStartSeq = jetstream.DeliverByStartSequencePolicy, last+1
	} else {
		head, err := s.stream.Info(ctx)
		if err != nil {
			return nil, err
		}
		s.delivered.raise(channel, head.State.LastSeq)
	}
	return s.bucket.Backend.JS.CreateOrUpdateConsumer(ctx, subjects.StreamEvents, config)
}

// delivered has the last event that was delivered here, by channel.
type delivered struct {
	mu        sync.Mutex
	byChannel map[string]uint64
}

func (d *delivered) raise(channel string, seq uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.byChannel == nil {
		d.byChannel = map[string]uint64{}
	}
	d.byChannel[channel] = max(d.byChannel[channel], seq)
}

func (d *delivered) last(channel string) (seq uint64, known bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	seq, known = d.byChannel[channel]
	return seq, known
}

// returnUnread returns the messages that a reader has received and not passed on.
func returnUnread(reader jetstream.MessagesContext) {
	reader.Drain()
	for {
		msg, err := reader.Next()
		if err != nil {
			return
		}
		_ = msg.Nak() // else it is delivered again after followWait
	}
}

// ackMsg acknowledges a message of a consumer and does not keep its text. If an
// acknowledgement is lost, the message is delivered again.
type ackMsg struct {
	conn  *natsgo.Conn
	reply string
}

func (m ackMsg) Done()    { m.send("+ACK") }
func (m ackMsg) Working() { m.send("+WPI") }
func (m ackMsg) Return()  { m.send("-NAK") }

// send sends a word of JetStream's protocol.
func (m ackMsg) send(word string) { _ = m.conn.Publish(m.reply, []byte(word)) }

// State reads the value of a channel under a key. Revision 0 means that there is none.
func (s *Deliveries) State(ctx context.Context, channel, key string) ([]byte, uint64, error) {
	entry, err := s.bucket.Get(ctx, stateKey(channel, key), errNoState)
	if errors.Is(err, errNoState) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	return entry.Value(), entry.Revision(), nil
}

// errNoState reports that a channel has no value under a key.
var errNoState = errors.New("there is no value")

// PutState writes a value of a channel under a key if the key is at the revision, else it
// fails with [approvals.ErrConflict].
func (s *Deliveries) PutState(ctx context.Context, channel, key string, value []byte, revision uint64) (uint64, error) {
	if len(value) > s.bucket.Backend.MaxRecord()/2 {
		return 0, fmt.Errorf("state %s of channel %s has %d bytes: %w", key, channel, len(value), approvals.ErrTooLarge)
	}
	return s.bucket.CompareAndSet(ctx, stateKey(channel, key), value, revision)
}

// LinkKey returns the key that signs the links of a channel: fresh, if there is none yet. It
// is the same on every replica and after a restart.
func (s *Deliveries) LinkKey(ctx context.Context, channel string, fresh []byte) ([]byte, error) {
	return s.keys.once(ctx, linkKeys+subjects.Token(channel), fresh)
}

func stateKey(channel, key string) string { return subjects.Token(channel) + "." + subjects.Token(key) }
