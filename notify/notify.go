// Package notify announces requests to people over channels such as chats, and takes
// their answers there.
//
// # Cards
//
// A channel posts cards. A card holds the calls that a model made together, and those
// of the same run that follow within a moment ([Setup].Gather), or,
// where more come than a channel may post singly, many that have nothing to do with
// one another. It shows the present state of its requests: when one of them is
// decided, anywhere, escalates or ends, the card is updated.
//
// # Delivery
//
// Each channel reads the audit log with a durable consumer of its own, and what it
// has posted is recorded ([Store]). So nothing is lost or posted twice by a
// restart, several replicas share the work, and a channel that is slow or down
// delays no other, and never a call: nothing in front of the agent waits for this
// package. Only where a process dies between the moment a card reaches the service
// and the record of it, the channel is asked whether it is there ([Finder]); one
// that is no Finder gets the card again, under the same [Delivery].ID.
//
// A delivery that fails is tried again with growing pauses, for as long as it makes
// sense: a request that has ended is not announced as new.
//
// # Stages
//
// A runner takes each event of a channel through small stages, one file each: intake.go
// and sweep.go fill the queue; a worker takes an item, placement.go decides where its
// card is posted, group.go puts many cards together, deliver.go posts and updates, and
// retry.go decides when to try again. cards.go holds the records.
//
// # Routes
//
// [Route] defines which requests go where, when, and how urgently.
package notify

import (
	"context"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// Channel is one medium. It is safe for concurrent use.
//
// Errors define whether another attempt helps: after one wrapped in [Permanent] there is
// none, [RetryAfter] has its time, after any other error there is one later.
// Neither errors nor logs of a channel hold secrets or arguments.
type Channel interface {
	// Post announces requests for the first time. The reference that it returns is
	// recorded before anything else is done for the card. One that comes with an error
	// is recorded too: part of the card is posted, and an Update is to do the rest.
	Post(ctx context.Context, d Delivery) (Ref, error)
}

// Updater is a channel whose cards can be changed. Others get requests when they are
// new, and nothing else.
type Updater interface {
	// Update updates a posted card. The reference that it returns replaces the one
	// before, also with an error, unless it is empty.
	Update(ctx context.Context, d Delivery, posted Ref) (Ref, error)
}

// Finder is a channel that can find a delivery whose result is unknown: the process
// died, or the connection broke, before the answer was there.
type Finder interface {
	Find(ctx context.Context, d Delivery) (ref Ref, found bool, err error)
}

// Listener is a channel on which people answer. Listen runs until the context ends;
// when it returns before, it is called again after a pause.
type Listener interface {
	Listen(ctx context.Context) error
}

// Chooser is a channel that finds its recipients itself: routes do not concern it.
// Where there are none, nothing is recorded.
type Chooser interface {
	// Anybody reports whether the channel has any recipient.
	Anybody() bool
	// Wants reports whether any of the requests has a recipient.
	Wants(requests []approvals.Request) bool
}

// Ref is how a channel finds again what it has posted, in a form of its own; never
// empty.
type Ref string

// Delivery is the content of a card.
type Delivery struct {
	// ID is the card's at its target: the same at each attempt and each update.
	ID string
	// Target is where in the channel, as routes name it: "" is the channel's own.
	Target string
	// Requests are in their present state, oldest first, at least one.
	Requests []approvals.Request
	// Events are those since the card was last updated, oldest first, with arguments
	// only for machines. The one of a request that waited before
	// the channel was set up has no Seq and no Hash.
	Events []approvals.Event
	// Grouped is true where the requests were put together because many came at
	// once, not because a model made the calls together.
	Grouped bool
	// Thread is the first card of the same run at the same target, "" for that card
	// itself and where Grouped.
	Thread Ref
	// Since is when the first attempt at posting began.
	Since time.Time
}

// Setup is one channel and how it is used.
type Setup struct {
	Name    string // as routes name it, and metrics: of the configuration, unique
	Channel Channel
	// EachEvent is for machines: a card is one request, each of its events is
	// delivered once, and nothing is grouped.
	EachEvent bool
	Threads   bool    // deliveries name the first card of their run
	Workers   int     // deliveries at the same time; 0: 4
	Rate      float64 // deliveries a second in the long run; 0: no limit
	Burst     int     // deliveries at once within Rate; 0: 1
	Group     Group   // of new cards
	// Gather is how long the requests of a run are gathered for one card, from the first of them:
	// an agent that makes several calls at once, in several conversations with its model, is
	// announced once. 0: each card is posted at once.
	Gather time.Duration
}

// Group bounds the new cards at one target: at most Cards in any time of Within.
// What comes beyond that is posted together, as soon as one more card may be. Cards
// 0: no bound.
type Group struct {
	Cards  int
	Within time.Duration
}

// EventTypes returns the types of events that channels get.
func EventTypes() []approvals.EventType {
	return []approvals.EventType{
		approvals.EventApprovalRequired, approvals.EventApprovalDecision, approvals.EventApprovalEscalated,
		approvals.EventApprovalExpired, approvals.EventApprovalCancelled,
		approvals.EventTurnDetached, approvals.EventTurnReattached, approvals.EventTurnParked, approvals.EventTurnReady, approvals.EventCallNotReleased,
	}
}
