package notify_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/notify"
)

// otherReplica has the records of a memory, and events of its own.
type otherReplica struct {
	*memory
	events chan approvals.Event
}

func (o *otherReplica) Follow(ctx context.Context, channel string, types []approvals.EventType, following func(), take func(approvals.Event, notify.Message)) error {
	return (&memory{events: o.events}).Follow(ctx, channel, types, following, take)
}

// slowGroups is a memory that takes its time to store a group.
type slowGroups struct{ *memory }

func (s slowGroups) PutState(ctx context.Context, channel, key string, value []byte, revision uint64) (uint64, error) {
	if strings.HasPrefix(key, "group-") && revision == 0 {
		time.Sleep(time.Second)
	}
	return s.memory.PutState(ctx, channel, key, value, revision)
}

// TestGroupOfAnotherReplica: a request that one replica posts together with others is on no other card, also
// when another replica gets an event of it before the group is stored. If the replica dies before that, the
// request is posted alone.
func TestGroupOfAnotherReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, m := &follower{}, newMemory()
		other := &otherReplica{m, make(chan approvals.Event, 10)}
		start := func(s notify.Store) (stop func()) {
			d, err := notify.New(notify.Options{Store: s, Requests: m, Channels: []notify.Setup{{Name: "board", Channel: b, Gather: 2 * time.Second}}})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- d.Run(ctx) }()
			synctest.Wait()
			return func() { cancel(); <-ended }
		}
		stop := start(slowGroups{m})
		defer start(other)()
		first := m.ask("r", "a")
		m.ask("r", "b")
		time.Sleep(2100 * time.Millisecond) // the group is being stored
		other.events <- approvals.Event{ID: "event", Type: approvals.EventTurnDetached, RequestID: first.ID, TurnID: first.TurnID}
		shows(t, b, 10*time.Second, "a=pending b=pending")
		stop()
		b.mu.Lock()
		b.cards = nil
		b.mu.Unlock()
		m.mu.Lock()
		for key := range m.states {
			if strings.Contains(key, "group-") { // the replica has died before it stored the group
				delete(m.states, key)
				delete(m.revision, key)
			}
		}
		m.mu.Unlock()
		other.events <- approvals.Event{ID: "later", Type: approvals.EventTurnDetached, RequestID: first.ID, TurnID: first.TurnID}
		shows(t, b, 2*time.Minute, "a=pending")
	})
}
