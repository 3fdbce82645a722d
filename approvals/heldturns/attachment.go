package heldturns

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/heldcall/heldcall/approvals"
)

// Attachment is the hold of one connection on a stored turn. A turn has one at most: a later
// one takes the turn over. Its methods fail with [approvals.ErrTaken] then.
type Attachment struct {
	keeper *Keeper
	turn   string
	id     string
	lost   chan struct{}
	// delivered is the delivery of an answer that is given again; nil: it was not delivered.
	delivered atomic.Pointer[Delivery]
	agent     atomic.Pointer[<-chan struct{}] // see WatchAgent; nil: not known
	joined    []string                        // requests of other turns for which its turn waits; the index has the lock
}

func (k *Keeper) newAttachment(turn string) *Attachment {
	return &Attachment{keeper: k, turn: turn, id: rand.Text(), lost: make(chan struct{})}
}

// state returns the state of the turn after a step of the attachment.
func (a *Attachment) state(to approvals.AttachState) State {
	s := State{ID: a.turn, State: to, Since: a.keeper.now().UTC(), Owner: a.keeper.owner, Attachment: a.id}
	if d := a.delivered.Load(); d != nil {
		s.DeliveredAt, s.ReleasedAt, s.Calls = d.At, d.Released, d.Calls
	}
	if to == Delivered {
		s.Since = s.DeliveredAt
	}
	return s
}

// Lost is closed when another connection, of this process or of another, has taken the turn
// over, or when the turn has ended elsewhere. The turn must write and release nothing then.
func (a *Attachment) Lost() <-chan struct{} { return a.lost }

func (a *Attachment) errTaken() error {
	return fmt.Errorf("held turn %s: %w", a.turn, approvals.ErrTaken)
}

// Update replaces the snapshot: the turn is held again after a continuation. If the new
// snapshot does not fit, Update fails with [approvals.ErrNoRoom] and the turn is no longer
// stored: the old one would release the calls before again.
func (a *Attachment) Update(ctx context.Context, snapshot []byte) error {
	k := a.keeper
	t, stored := k.index.get(a.turn)
	if _, ok := k.index.holds(a); !ok || !stored {
		return a.errTaken()
	}
	put, err := k.store.Put(ctx, t.key, snapshot)
	if errors.Is(err, approvals.ErrNoRoom) {
		return errors.Join(err, a.End(ctx))
	}
	if put == t.key {
		return err
	}
	if err != nil { // it may be stored
		k.index.update(a.turn, func(t *heldTurn) { t.addFormerLocked(put) })
		return err
	}
	k.index.update(a.turn, func(t *heldTurn) { t.setKeyLocked(put) })
	return k.withdrawFormer(ctx, a.turn)
}

// WatchAgent sets the channel that is closed when the agent leaves. The keeper then knows it before the turn
// calls [Attachment.Detach], which may have to wait for another operation of the turn.
func (a *Attachment) WatchAgent(left <-chan struct{}) { a.agent.Store(&left) }

// hasLeft reports whether the agent has left. a may be nil.
func (a *Attachment) hasLeft() bool {
	if a == nil {
		return false
	}
	agent := a.agent.Load()
	if agent == nil {
		return false
	}
	select {
	case <-*agent:
		return true
	default:
		return false
	}
}

// Opened marks that people are asked about the requests of the turn. A turn that ends before is not reported as ended:
// it was never held. The keeper learns of the requests here, since the agent may leave before the gate has read them
// from the store. Requests of other turns stay open while the turn waits for them, also when those turns end.
func (a *Attachment) Opened(requests []approvals.Request) {
	var joined []string
	for i := range requests {
		a.keeper.RequestChanged(&requests[i])
		if requests[i].TurnID != a.turn {
			joined = append(joined, requests[i].ID)
		}
	}
	a.keeper.index.opened(a, joined)
}

// Confirm reads from the store whether the turn still belongs to this attachment: a process
// that was cut off from the store may have lost it to another one without notice.
func (a *Attachment) Confirm(ctx context.Context) error {
	k := a.keeper
	if _, ok := k.index.holds(a); !ok {
		return a.errTaken()
	}
	if k.leases == nil { // there is no other process
		return nil
	}
	state, revision, err := k.store.GetState(ctx, a.turn)
	if errors.Is(err, approvals.ErrUnknownTurn) {
		return nil
	}
	if err != nil {
		return err
	}
	k.index.applyState(state, revision)
	if _, ok := k.index.holds(a); !ok {
		return a.errTaken()
	}
	return nil
}

// Detach leaves the turn without an agent, because the connection broke: an agent may claim
// it until the orphan TTL has passed. After an error of the store it is recorded in the
// background. An answer that was delivered before stays so.
func (a *Attachment) Detach(ctx context.Context) error {
	if a.delivered.Load() != nil {
		return a.leave(ctx, Delivered)
	}
	return a.leave(ctx, approvals.AgentDetached)
}

// Park leaves the turn without an agent, because it got a notice in place of the answer.
// After an error the turn still belongs to the attachment.
func (a *Attachment) Park(ctx context.Context) error { return a.leave(ctx, approvals.AgentParked) }

// Deliver leaves the turn because its agent has got the whole answer. After an error the turn is
// removed.
func (a *Attachment) Deliver(ctx context.Context, d Delivery) error {
	d.At = a.keeper.now().UTC()
	a.delivered.Store(&d)
	err := a.leave(ctx, Delivered)
	if err != nil && a.keeper.index.abandon(a) {
		a.keeper.index.touched.add(a.turn)
	}
	return err
}

// leave records that the agent has left.
func (a *Attachment) leave(ctx context.Context, to approvals.AttachState) error {
	k := a.keeper
	revision, ok := k.index.holds(a)
	if !ok {
		return a.errTaken()
	}
	defer k.index.begin(a.turn)()
	state := a.state(to)
	if to == approvals.AgentDetached {
		k.index.leave(a, state.Since)
	}
	revision, err := k.change(ctx, state, revision)
	if err != nil {
		return err
	}
	k.index.leave(a, state.Since)
	k.logState(ctx, state, revision)
	return nil
}

// End removes the turn from the store, at its proper end. After an error of the store it
// is removed in the background.
func (a *Attachment) End(ctx context.Context) error {
	defer a.keeper.index.begin(a.turn)()
	if !a.keeper.index.abandon(a) {
		return a.errTaken()
	}
	return a.keeper.remove(ctx, a.turn)
}
