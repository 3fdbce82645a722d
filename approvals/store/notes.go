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
	"github.com/heldcall/heldcall/approvals/audit"
	"github.com/heldcall/heldcall/notify"
)

const (
	// consumerPrefix begins the names of the consumers that channels read with.
	consumerPrefix = "heldcall_notify_"
	// followWait is how long a message may be in hand without a word of it.
	followWait = 30 * time.Second
	// followPending is how many messages of a channel are in hand at most, over all
	// replicas. A channel that is down waits with those; they end with their requests.
	followPending = 1000
)

var _ notify.Store = (*Store)(nil)

// Follow hands over the events of some types to one of those who follow a channel.
// A channel that nobody has followed for as long as events are kept begins anew.
func (s *Store) Follow(ctx context.Context, channel string, types []approvals.EventType, following func(), take func(approvals.Event, notify.Message)) error {
	filters := make([]string, len(types))
	for i, typ := range types {
		filters[i] = subjectOf(EventSubject, "*", Token(string(typ)), "*")
	}
	making, cancel := bounded(ctx)
	defer cancel()
	consumer, err := s.consumer(making, channel, filters)
	if err != nil {
		return s.fail(opRead, "follow the events for channel "+channel, err)
	}
	reader, err := consumer.Messages(jetstream.PullMaxMessages(readAhead))
	if err != nil {
		return s.fail(opRead, "follow the events for channel "+channel, err)
	}
	defer giveBack(reader)
	following()
	for {
		msg, err := reader.Next(jetstream.NextContext(ctx))
		if ctx.Err() != nil {
			if err == nil {
				_ = msg.Nak() // else it is handed over after followWait
			}
			return nil
		}
		if err != nil {
			return s.fail(opRead, "follow the events for channel "+channel, err)
		}
		entry, err := entryOf(msg)
		if err != nil {
			s.log.Error("an event cannot be read; no channel is told of it", "channel", channel, "error", err)
			_ = msg.Term()
			continue
		}
		take(entry.Event, told{s.conn, msg.Reply()})
		s.followed.raise(channel, entry.Seq)
	}
}

// consumer finds or makes the consumer of a channel: one that is there keeps its
// place, a new one begins with what comes next. One that was lost while it was
// followed begins after what was handed over here.
func (s *Store) consumer(ctx context.Context, channel string, filters []string) (jetstream.Consumer, error) {
	config := jetstream.ConsumerConfig{
		Durable:           consumerPrefix + Token(channel),
		Description:       "heldcall: what is told on the channel " + channel,
		DeliverPolicy:     jetstream.DeliverNewPolicy,
		AckPolicy:         jetstream.AckExplicitPolicy,
		AckWait:           followWait,
		MaxAckPending:     followPending,
		FilterSubjects:    filters,
		InactiveThreshold: s.opts.Retention,
	}
	existing, err := s.js.Consumer(ctx, StreamEvents, config.Durable)
	switch {
	case err == nil:
		at := existing.CachedInfo()
		config.DeliverPolicy, config.OptStartSeq = at.Config.DeliverPolicy, at.Config.OptStartSeq // where it began stays
		s.followed.raise(channel, at.AckFloor.Stream)
		return s.js.UpdateConsumer(ctx, StreamEvents, config)
	case !errors.Is(err, jetstream.ErrConsumerNotFound):
		return nil, err
	}
	if last, followed := s.followed.last(channel); followed {
		config.DeliverPolicy, config.OptStartSeq = jetstream.DeliverByStartSequencePolicy, last+1
	} else {
		head, err := s.events.Info(ctx)
		if err != nil {
			return nil, err
		}
		s.followed.raise(channel, head.State.LastSeq)
	}
	return s.js.CreateOrUpdateConsumer(ctx, StreamEvents, config)
}

// followed is the last event that was handed over here, by channel.
type followed struct {
	mu        sync.Mutex
	byChannel map[string]uint64
}

func (f *followed) raise(channel string, seq uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.byChannel == nil {
		f.byChannel = map[string]uint64{}
	}
	f.byChannel[channel] = max(f.byChannel[channel], seq)
}

func (f *followed) last(channel string) (seq uint64, known bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	seq, known = f.byChannel[channel]
	return seq, known
}

// giveBack returns what a reader has taken and not handed over.
func giveBack(reader jetstream.MessagesContext) {
	reader.Drain()
	for {
		msg, err := reader.Next()
		if err != nil {
			return
		}
		_ = msg.Nak() // else it is handed over after followWait
	}
}

// told answers for a message of a consumer, whose text it does not hold. That an answer
// is lost means no more than that the message comes again.
type told struct {
	conn  *natsgo.Conn
	reply string
}

func (t told) Done()    { t.answer("+ACK") }
func (t told) Working() { t.answer("+WPI") }
func (t told) Return()  { t.answer("-NAK") }

// answer sends a word of JetStream's protocol.
func (t told) answer(word string) { _ = t.conn.Publish(t.reply, []byte(word)) }

// Note reads what a channel has written under a key.
func (s *Store) Note(ctx context.Context, channel, key string) ([]byte, uint64, error) {
	entry, err := s.get(ctx, s.notes, noteKey(channel, key), errNoNote)
	if errors.Is(err, errNoNote) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	return entry.Value(), entry.Revision(), nil
}

// errNoNote says that nothing is written under a key.
var errNoNote = errors.New("nothing is written there")

// PutNote writes what a channel is to find again.
func (s *Store) PutNote(ctx context.Context, channel, key string, value []byte, revision uint64) (uint64, error) {
	if len(value) > s.maxRecord()/2 {
		return 0, fmt.Errorf("note %s of channel %s has %d bytes: %w", key, channel, len(value), approvals.ErrTooLarge)
	}
	return s.compareAndSet(ctx, s.notes, noteKey(channel, key), value, revision)
}

func noteKey(channel, key string) string { return Token(channel) + "." + Token(key) }

// entryOf reads the entry of the audit log that a message is.
func entryOf(msg jetstream.Msg) (audit.Entry, error) {
	meta, err := msg.Metadata()
	if err != nil {
		return audit.Entry{}, err
	}
	return audit.Parse(meta.Sequence.Stream, msg.Data())
}
