package notify

import (
	"context"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// workingEvery is how often queued messages are reported as being worked on; the store
// hands over again those of which it has not heard for half a minute.
const workingEvery = 10 * time.Second

type intake struct {
	channel *channel
	store   Store
	queue   *queue
}

// follow queues events until the context ends. following is called once the channel is
// followed.
func (in *intake) follow(ctx context.Context, following func()) {
	in.channel.repeat(ctx, "the events of a channel cannot be read", func(ctx context.Context) error {
		return in.store.Follow(ctx, in.channel.setup.Name, EventTypes(), following, func(e approvals.Event, m Message) {
			if in.channel.idle() {
				m.Done()
				return
			}
			in.queue.add(in.channel.cardKey(e.RequestID, e.TurnID), in.channel.trim(e), m, time.Time{})
		})
	})
}

func (in *intake) keepWorking(ctx context.Context) {
	tick := time.NewTicker(workingEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			for _, m := range in.queue.messages() {
				m.Working()
			}
		}
	}
}

// returnAll returns the queued messages, so that another replica continues at once.
func (in *intake) returnAll() {
	for _, m := range in.queue.messages() {
		m.Return()
	}
}
