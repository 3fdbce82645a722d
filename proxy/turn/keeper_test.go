package turn

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/heldturns"
)

// keeper keeps turns in memory, and gives each to the last that claims it.
type keeper struct {
	mu     sync.Mutex
	turns  map[string]*keptTurn
	failed error // of every method
}

type keptTurn struct {
	approvals.HeldTurn
	snapshot []byte
	state    approvals.AttachState
	ended    bool
	holder   *attachment
	reason   string // why it was cancelled
}

type attachment struct {
	keeper *keeper
	turn   *keptTurn
	lost   chan struct{}
	agent  <-chan struct{} // see WatchAgent
}

func (k *keeper) attach(t *keptTurn) *attachment {
	if t.holder != nil {
		close(t.holder.lost)
	}
	t.holder, t.state = &attachment{keeper: k, turn: t, lost: make(chan struct{})}, approvals.AgentAttached
	return t.holder
}

func (k *keeper) Keep(_ context.Context, held approvals.HeldTurn, snapshot []byte) (Attachment, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.failed != nil {
		return nil, k.failed
	}
	if k.turns == nil {
		k.turns = map[string]*keptTurn{}
	}
	t := &keptTurn{HeldTurn: held, snapshot: snapshot}
	k.turns[held.ID] = t
	return k.attach(t), nil
}

func (k *keeper) Await(context.Context) {}

func (k *keeper) Any() bool { k.mu.Lock(); defer k.mu.Unlock(); return len(k.turns) > 0 }

func (k *keeper) find(fits func(*keptTurn) bool) (found []Candidate) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(k.turns)) {
		if t := k.turns[id]; fits(t) {
			found = append(found, Candidate{ID: id, State: t.state, Ended: t.ended})
		}
	}
	return found
}

func (k *keeper) Candidates(f string) []Candidate {
	return k.find(func(t *keptTurn) bool { return t.Fingerprint == f })
}

func (k *keeper) Conversation(c string) []Candidate {
	return k.find(func(t *keptTurn) bool { return t.HeldTurn.Conversation == c && !t.ended })
}

func (k *keeper) AnyTask() bool { return k.Any() }

func (k *keeper) Task(task string) []Candidate {
	return k.find(func(t *keptTurn) bool { return t.HeldTurn.Task == task && !t.ended })
}

func (k *keeper) Seen([]string) {}

func (k *keeper) Load(_ context.Context, id string) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if t := k.turns[id]; t != nil && !t.ended {
		return t.snapshot, k.failed
	}
	return nil, approvals.ErrUnknownTurn
}

func (k *keeper) Claim(_ context.Context, c Candidate) (Attachment, []byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	t := k.turns[c.ID]
	if k.failed != nil {
		return nil, nil, k.failed
	}
	return k.attach(t), t.snapshot, nil
}

func (k *keeper) Cancel(_ context.Context, id, reason string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.turns[id].ended, k.turns[id].reason = true, reason
	return nil
}

func (a *attachment) Lost() <-chan struct{}            { return a.lost }
func (a *attachment) WatchAgent(agent <-chan struct{}) { a.agent = agent }
func (a *attachment) Opened([]approvals.Request)       {}

func (a *attachment) Confirm(context.Context) error { return a.keeper.failed }
func (a *attachment) Update(_ context.Context, snapshot []byte) error {
	a.turn.snapshot = snapshot
	return a.keeper.failed
}

func (a *attachment) Detach(context.Context) error {
	a.keeper.mu.Lock()
	defer a.keeper.mu.Unlock()
	a.turn.state, a.turn.holder = approvals.AgentDetached, nil
	return nil
}

func (a *attachment) Park(context.Context) error {
	a.keeper.mu.Lock()
	defer a.keeper.mu.Unlock()
	a.turn.state, a.turn.holder = approvals.AgentParked, nil
	return nil
}

func (a *attachment) Deliver(ctx context.Context, _ heldturns.Delivery) error { return a.End(ctx) }

func (a *attachment) End(context.Context) error {
	a.keeper.mu.Lock()
	defer a.keeper.mu.Unlock()
	a.turn.ended = true
	return nil
}
