package runs

import (
	"context"
	"errors"

	"github.com/heldcall/heldcall/approvals"
)

// Signals are the signals by principal. It is safe for concurrent use.
type Signals struct {
	states *states
}

// Send pauses, resumes or aborts all runs of a principal, present and future, and returns
// the signal. The channel that authenticated the reviewer must have set ReviewerID. An
// abort cancels the pending requests of these runs, and is in force until a resume. A signal
// that changes nothing succeeds. Send fails with [*approvals.InvalidError] or
// [approvals.ErrStoreUnavailable].
func (g *Signals) Send(ctx context.Context, s approvals.PrincipalSignal) (approvals.PrincipalSignal, error) {
	state, event, err := checkAction(s.Action, s.ReviewerID)
	if err == nil && s.Principal == (approvals.Principal{}) {
		err = approvals.Invalid("principal", "it is empty; name a tenant, a user or an agent")
	}
	if err != nil {
		return s, err
	}
	if err := g.states.options.maskPayload(ctx, &s.Payload); err != nil {
		return s, err
	}
	sent, err := g.write(ctx, s, event)
	if err != nil {
		return sent, err
	}
	g.apply(sent)
	if state == approvals.RunAborted {
		err = g.states.cancelAborted(ctx)
	}
	return sent, err
}

// write writes the signal by compare-and-set, then its event.
func (g *Signals) write(ctx context.Context, s approvals.PrincipalSignal, event approvals.EventType) (approvals.PrincipalSignal, error) {
	for attempt := 0; ; attempt++ {
		before, revision, err := g.states.options.Signals.Get(ctx, s.Key())
		s.Since = laterThan(before.Since, g.states.options.Now())
		switch {
		case errors.Is(err, approvals.ErrUnknownSignal) && s.Action == approvals.SignalResume:
			return s, nil
		case err != nil && !errors.Is(err, approvals.ErrUnknownSignal):
			return s, err
		case err == nil && before.Action == s.Action:
			return before, nil
		case err == nil && before.Action == approvals.SignalAbort && s.Action == approvals.SignalPause:
			return before, approvals.Invalid("action", "%s has aborted these runs; resume them first", before.ReviewerID)
		}
		err = g.states.options.Signals.Put(ctx, s, revision)
		if errors.Is(err, approvals.ErrConflict) {
			if err := approvals.Pause(ctx, attempt); err != nil {
				return s, approvals.Unavailable("write a signal", err)
			}
			continue
		}
		if err != nil {
			return s, err
		}
		return s, g.states.options.Record(ctx, approvals.Event{
			Type: event, Tenant: s.Principal.Tenant, Principal: s.Principal, ReviewerID: s.ReviewerID, Note: string(s.Payload), Time: s.Since,
		})
	}
}

// apply makes a signal take effect in this process.
func (g *Signals) apply(s approvals.PrincipalSignal) {
	if !g.states.principals.apply(s) {
		return
	}
	g.states.wake()
	if s.State() == approvals.RunAborted {
		g.states.options.Schedule(g.states.options.Now(), "", g.states.cancelAborted)
	}
}

// InForce returns the signals that pause or abort runs, the latest first.
func (g *Signals) InForce() []approvals.PrincipalSignal { return g.states.principals.list() }
