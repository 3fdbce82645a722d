package notify

import (
	"context"

	"github.com/heldcall/heldcall/approvals"
)

// Store keeps the events that channels have still to deliver, and their records.
type Store interface {
	// Follow hands over every event of some types, from the moment the channel was
	// first followed, to one of the replicas that follow it, until the context ends.
	// A message that is neither done nor being worked on for half a minute, or whose
	// process has died, is delivered again. following is called once the channel is
	// followed: no event after that is missed. take must not block for long.
	Follow(ctx context.Context, channel string, types []approvals.EventType, following func(), take func(approvals.Event, Message)) error
	// State reads the record of a channel under a key; revision 0: there is none.
	State(ctx context.Context, channel, key string) (value []byte, revision uint64, err error)
	// PutState writes it, if its revision is still that one, else it fails with
	// [approvals.ErrConflict].
	PutState(ctx context.Context, channel, key string, value []byte, revision uint64) (uint64, error)
}

// Message acknowledges one event on its way to a channel. It does not hold the event:
// many may wait for a channel that is down.
type Message = interface {
	Done()    // it need not be delivered again
	Working() // it is being worked on
	Return()  // it is delivered again at once, to any replica
}

// Requests is what this package needs of [gate.Gate].
type Requests interface {
	Request(ctx context.Context, id string) (approvals.Request, error)
	Requests(ctx context.Context, f approvals.Filter) (approvals.Page, error)
}
