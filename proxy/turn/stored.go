package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/heldturns"
	"github.com/heldcall/heldcall/proxy/packed"
)

// stored is the snapshot of a held turn in the store. An agent that repeats the request
// continues the turn: see rejoin.go.
type stored struct {
	turn       *Turn
	attachment Attachment // nil: the turn is not stored
	answers    int        // of the upstream, in the snapshot
	unloaded   int        // of them, whose bytes are in the store only
	restored   bool       // the turn was made of the snapshot: what follows from its calls may be recorded
	again      bool       // it ended with an error after which the agent may repeat the request
	delivered  bool       // an agent had got the whole answer before
	released   time.Time  // when the last answer began to leave
}

// lost reports whether another connection continues the turn. This one must write and
// release nothing more.
func (s *stored) lost() bool {
	select {
	case <-s.taken():
		return true
	default:
		return false
	}
}

// leave ends the turn without another byte: it continues for another connection.
func (s *stored) leave() State {
	if r := &s.turn.review; r.hold != nil {
		r.leavePending()
	}
	s.turn.output.outcome, s.turn.output.broken = outcomeAgentGone, errTakenOver
	return Ended
}

// taken is closed when the turn is lost. It is nil for a turn that is not stored.
func (s *stored) taken() <-chan struct{} {
	if s.attachment == nil {
		return nil
	}
	return s.attachment.Lost()
}

// current reports whether the snapshot contains the last answer of the upstream, so that an
// agent that comes back gets the decisions on its calls.
func (s *stored) current() bool {
	return s.attachment != nil && s.answers == s.turn.exchange.Count
}

// notStored is added to requests of turns that are not stored.
const notStored = "The turn could not be stored: if its agent disconnects, this request is cancelled."

// keep stores the turn before its requests are recorded. There may be no room for it: then
// the turn ends with its connection.
func (s *stored) keep(ctx context.Context) error {
	if s.turn.engine.Keeper == nil || s.current() {
		return nil
	}
	err := s.write(ctx)
	if !errors.Is(err, approvals.ErrNoRoom) {
		return err
	}
	s.turn.engine.Log.Warn("a held turn is not stored and ends with its connection", "turn", s.turn.request.Turn, "error", err)
	for i := range s.turn.review.requests {
		flags := &s.turn.review.requests[i].Details.Flags
		*flags = slices.Concat(*flags, []string{notStored})
	}
	return nil
}

// opened marks that people are asked about the requests.
func (s *stored) opened(requests []approvals.Request) {
	if s.attachment != nil {
		s.attachment.Opened(requests)
	}
}

// write writes the snapshot, or a newer one.
func (s *stored) write(ctx context.Context) error {
	snapshot, err := s.snapshot(ctx)
	if errors.Is(err, approvals.ErrStoreUnavailable) {
		return err
	}
	if err != nil {
		if s.attachment != nil {
			s.report("remove a held turn", s.attachment.End)
			s.attachment = nil
		}
		return errors.Join(approvals.ErrNoRoom, err)
	}
	text, err := json.Marshal(snapshot)
	if err != nil {
		return fmt.Errorf("encode turn %s: %w", s.turn.request.Turn, err)
	}
	if s.attachment != nil {
		err = s.attachment.Update(ctx, text)
	} else {
		c, upstream := &s.turn.conversation, s.turn.exchange.Upstream.ID()
		held := approvals.HeldTurn{ID: s.turn.request.Turn, Conversation: c.SessionDigest(), Fingerprint: c.Likeness(upstream).Content, Task: c.TaskDigest(upstream, false)}
		if held.Fingerprint == "" {
			return approvals.ErrNoRoom
		}
		if s.attachment, err = s.turn.engine.Keeper.Keep(ctx, held, text); err == nil {
			s.attachment.WatchAgent(s.turn.ctx.Done())
		}
	}
	if errors.Is(err, approvals.ErrNoRoom) {
		s.attachment = nil // an older snapshot would release calls again
	}
	if err != nil {
		return err
	}
	s.answers = s.turn.exchange.Count
	s.unloaded = s.turn.exchange.Kept.Unload()
	return nil
}

// snapshot returns a snapshot with all answers of the upstream, also those that are in the
// store only.
func (s *stored) snapshot(ctx context.Context) (*Snapshot, error) {
	if s.unloaded > 0 {
		text, err := s.turn.engine.Keeper.Load(ctx, s.turn.request.Turn)
		if err != nil {
			return nil, err
		}
		var before struct{ packed.Answers }
		if err := json.Unmarshal(text, &before); err != nil {
			return nil, err
		}
		if err := s.turn.exchange.Kept.Load(&before.Answers, s.unloaded); err != nil {
			return nil, err
		}
		s.unloaded = 0
	}
	return s.turn.Snapshot()
}

// confirm makes sure that a stored turn belongs to this connection and that its snapshot is
// current, before anything of the answer is released. It fails with [approvals.ErrTaken] if
// the turn is lost.
func (s *stored) confirm() error {
	if s.attachment == nil {
		return nil
	}
	if s.lost() {
		return approvals.ErrTaken
	}
	if s.current() {
		return s.attachment.Confirm(s.turn.ctx)
	}
	if err := s.write(s.turn.ctx); !errors.Is(err, approvals.ErrNoRoom) {
		return err
	}
	return nil
}

// continues reports whether the stored turn outlives its connection: for another one, or for an agent that repeats the
// request.
func (s *stored) continues() bool {
	return s.attachment != nil && (s.lost() || s.stays())
}

// stays reports whether the turn stays in the store when it has ended: its answer was not sent.
func (s *stored) stays() bool { return s.turn.output.broken != nil || s.again }

// release ends the attachment when the turn has ended. The snapshot is removed
// after the last byte has been sent. Until then, and after errors that the next attempt may
// not have, it stays for an agent that repeats the request.
func (s *stored) release() {
	a := s.attachment
	if a == nil || s.lost() {
		return
	}
	s.attachment = nil
	if s.stays() {
		s.detach(a)
		return
	}
	delivery := s.delivery()
	s.turn.output.agent.OnSent(func(err error) {
		if err != nil {
			s.detach(a)
			return
		}
		switch s.turn.output.outcome {
		case outcomeParked:
			s.report("park a held turn", a.Park)
		case outcomeHeld, outcomeChanged, outcomePassed:
			s.report("keep a delivered turn", func(ctx context.Context) error { return a.Deliver(ctx, delivery) })
		default:
			s.report("remove a held turn", a.End)
		}
	})
}

// delivery is the delivery of the answer that is about to be sent.
func (s *stored) delivery() heldturns.Delivery {
	d := heldturns.Delivery{Released: s.released}
	for _, call := range s.turn.review.gotten() {
		d.Calls = append(d.Calls, s.turn.conversation.CallKey(call))
	}
	return d
}

// detach leaves the turn without a connection. When heldcall stops, the end of the process
// does that for all its turns.
func (s *stored) detach(a Attachment) {
	if s.turn.engine.draining.Err() == nil && !errors.Is(context.Cause(s.turn.ctx), ErrShuttingDown) {
		s.report("detach a held turn", a.Detach)
	}
}

func (s *stored) report(what string, write func(context.Context) error) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(s.turn.ctx), cancelTimeout)
	defer stop()
	if err := write(ctx); err != nil && !errors.Is(err, approvals.ErrTaken) {
		s.turn.engine.Log.Error("failed to "+what, "turn", s.turn.request.Turn, "error", err)
		s.turn.engine.metrics.storeError("turns")
	}
}
