package heldturns

import (
	"context"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// Key is the name under which a held turn is stored.
type Key struct {
	approvals.HeldTurn
	Owner string // id of the process that stored it
	Large bool   // the snapshot is in the object store
}

// Entry is a held turn, or one that has ended, without its snapshot.
type Entry struct {
	Key
	Ended     bool
	Withdrawn bool      // it has ended before people were asked, or is stored under another key
	At        time.Time // when it was written or ended, UTC
}

// State is the record of a turn that was detached, parked or attached again. A turn without
// one is attached to its owner as long as that process lives.
type State struct {
	ID         string                `json:"id"`
	State      approvals.AttachState `json:"state"`
	Since      time.Time             `json:"since"`
	Owner      string                `json:"owner"`            // the process that wrote it
	Attachment string                `json:"attachment"`       // the [Attachment] that wrote it
	Reason     string                `json:"reason,omitempty"` // of the cancellation, in the state ending
	// DeliveredAt is when the agent got the whole answer, zero if it has not. The turn is then
	// [Delivered], or attached to a repetition that gets the answer again.
	DeliveredAt time.Time `json:"delivered_at,omitzero"`
	// Calls are keys of the delivered calls: see [Keeper.Seen]. ReleasedAt is when they began to
	// leave.
	Calls      []string  `json:"calls,omitempty"`
	ReleasedAt time.Time `json:"released_at,omitzero"`
}

// Delivered is the state of a turn whose agent has got the whole answer. It is kept for
// [AgainFor], and gives the answer again to a repetition of the request. Requests and events do not
// show it.
const Delivered approvals.AttachState = "delivered"

// AgainFor is how long a delivered answer is given again.
const AgainFor = time.Minute

// ending is the state of a turn whose requests are being cancelled before it is removed. No
// agent can claim it any more.
const ending approvals.AttachState = "ending"

// Store is the durable state of held turns. The rules of [approvals.Store] hold for its
// methods.
type Store interface {
	// Put writes a snapshot and replaces one under the same key. It returns the key with
	// Large set. It fails with [approvals.ErrNoRoom] if the store is full.
	Put(ctx context.Context, k Key, snapshot []byte) (Key, error)
	// Get reads a snapshot, or fails with [approvals.ErrUnknownTurn].
	Get(ctx context.Context, k Key) ([]byte, error)
	// End removes a turn and reports it as ended for a time.
	End(ctx context.Context, k Key, keep time.Duration) error
	// Withdraw removes the snapshot under a key and reports it as withdrawn for a time.
	Withdraw(ctx context.Context, k Key, keep time.Duration) error
	// SweepBefore removes the large snapshots that were written before a time and belong to
	// turns that are not wanted.
	SweepBefore(ctx context.Context, wanted func(turn string) bool, before time.Time) error
	// Watch calls changed with every held turn, with the turns that have ended, and with every
	// change, until the context ends. It calls current with true when changed has been called
	// with all of them, and with false when changes of other processes may be missing.
	Watch(ctx context.Context, changed func(Entry), current func(bool)) error

	// PutState replaces the state of a turn that is at the revision (0: has none), else it
	// fails with [approvals.ErrConflict].
	PutState(ctx context.Context, s State, revision uint64) (uint64, error)
	// GetState reads the state of a turn, or fails with [approvals.ErrUnknownTurn].
	GetState(ctx context.Context, id string) (State, uint64, error)
	// RemoveState removes the state of a turn that is at the revision, else it fails with
	// [approvals.ErrConflict].
	RemoveState(ctx context.Context, id string, revision uint64) error
	// WatchStates is Watch for states. It calls gone with the id of a turn whose state was
	// removed.
	WatchStates(ctx context.Context, changed func(s State, revision uint64), gone func(id string), current func(bool)) error

	// Await waits until the callbacks of Watch and WatchStates were called with all that any
	// process had written before the call. It fails if that is not certain.
	Await(ctx context.Context) error

	AppendEvents(ctx context.Context, events ...approvals.Event) error
	EnsureEvent(ctx context.Context, e approvals.Event) error
}

// Leases are the signs of life of the processes that share a store. A lease has the turns of
// its process whose agents may have left without a record of it.
type Leases interface {
	// Renew records that a process lives.
	Renew(ctx context.Context, owner string, unrecorded []string) error
	// Remove records that a process has ended.
	Remove(ctx context.Context, owner string) error
	// Watch calls renewed and removed with the ids of processes. It does not report leases
	// that are no longer renewed.
	Watch(ctx context.Context, renewed func(owner string, unrecorded []string), removed func(owner string)) error
}

// Gate has the requests of the turns. [gate.Gate] implements it.
type Gate interface {
	Cancel(ctx context.Context, requestID, reason string) error
	// NotReleased records that the agent does not get the call of a request, if that was approved and not released.
	NotReleased(ctx context.Context, requestID, reason string) error
	// Ready is closed when the keeper has been called with all recorded requests.
	Ready() <-chan struct{}
}

// Candidate is a held turn that an agent may join, or one that has ended lately.
type Candidate struct {
	ID     string
	State  approvals.AttachState
	Since  time.Time // of the state, UTC
	Unsure bool      // attached, but its process may have died, or its agent may have left, a few seconds ago
	// Unrecorded is whether it is attached, and it may not be recorded yet that its agent has
	// left: its process may have died, or waits for the store.
	Unrecorded bool
	Delivered  bool      // an agent has got the whole answer: it is [Delivered], or is given again
	Ended      bool      // less than the orphan TTL ago, or delivered for longer than [AgainFor]
	Created    time.Time // when it was stored, or if it has ended, when it ended; UTC

	revision uint64 // of the state
}
