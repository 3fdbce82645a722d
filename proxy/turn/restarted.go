package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/judge"
)

// An agent that was killed while its call is held, and started again, sends another request where
// it writes the time into its prompt. The model then makes the same call again. People see one card
// for both: the new request, which says so, in place of that of the turn that has no agent any more.

// joinRestarted ends the turn of the agent before it was started again, if there is one, and
// marks the requests that are about a call of that turn.
func (r *review) joinRestarted(ctx context.Context, upstream string) error {
	k, c := r.engine.Keeper, r.conversation
	if k == nil || r.rules().Folder() == "" || c.Parsed.LastUser() == "" {
		return nil
	}
	before, err := r.leftTurn(ctx, upstream, k.Task(c.TaskDigest(upstream, false)))
	if before == nil || err != nil {
		return err
	}
	switch err := k.Cancel(ctx, before.id, approvals.CancelAgentRestarted); {
	case errors.Is(err, approvals.ErrTaken), errors.Is(err, approvals.ErrUnknownTurn):
		return nil // its agent has come back, or another one was faster
	case err != nil:
		return err
	}
	for _, same := range before.calls {
		var ended *approvals.DecidedError
		switch err := r.engine.Gate.Cancel(ctx, same.held.ID, approvals.CancelAgentRestarted); {
		case errors.As(err, &ended) && ended.Request.Details.CancelReason == approvals.CancelAgentRestarted: // the end of the turn was faster
		case ended != nil, errors.Is(err, approvals.ErrUnknownRequest):
			continue // what was decided counts for the call before
		case err != nil:
			return err
		}
		same.request.JoinRestarted(&same.held)
	}
	return nil
}

// turnLeft is a turn without an agent that has the calls of this one.
type turnLeft struct {
	id    string
	calls []sameCall
}

// sameCall is a call for which people are asked a second time.
type sameCall struct {
	request *approvals.Request // that is about to be recorded
	held    approvals.Request  // of the turn before, undecided
}

// leftTurn returns the one turn that fits among some, nil for none or several.
func (r *review) leftTurn(ctx context.Context, upstream string, candidates []Candidate) (fits *turnLeft, err error) {
	compared := 0
	for _, candidate := range candidates {
		if candidate.State != approvals.AgentDetached || candidate.Ended {
			continue
		}
		if compared++; compared > maxCompared {
			return nil, nil
		}
		left := &turnLeft{id: candidate.ID}
		switch left.calls, err = r.callsOf(ctx, upstream, candidate.ID); {
		case err != nil:
			return nil, err
		case len(left.calls) == 0:
		case fits != nil:
			return nil, nil
		default:
			fits = left
		}
	}
	return fits, nil
}

// callsOf returns the calls that this turn and another one have in common, if the other was that of
// an agent in the same place.
func (r *review) callsOf(ctx context.Context, upstream, id string) (same []sameCall, err error) {
	done, err := r.engine.comparingPlace(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	text, err := r.engine.Keeper.Load(ctx, id)
	if errors.Is(err, approvals.ErrUnknownTurn) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var before struct {
		Folder   string
		Frame    string
		Request  struct{ Peer string }
		Requests []approvals.Request
	}
	if err := json.Unmarshal(text, &before); err != nil {
		r.engine.Log.Error("cannot read a held turn", "turn", id, "error", err)
		return nil, nil
	}
	if before.Folder != r.rules().Folder() || before.Frame != r.conversation.Likeness(upstream).Frame || before.Request.Peer != r.conversation.Request.Peer {
		return nil, nil
	}
	for _, asked := range before.Requests {
		held, err := r.engine.Gate.Request(ctx, asked.ID)
		if errors.Is(err, approvals.ErrUnknownRequest) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the request of a held turn: %w", err)
		}
		if request := r.sameRequest(&held); request != nil && held.Status == approvals.StatusPending && held.TurnID == id {
			same = append(same, sameCall{request, held})
		}
	}
	return same, nil
}

// sameRequest returns the new request about a call with the tool and the arguments of another.
func (r *review) sameRequest(held *approvals.Request) *approvals.Request {
	for i, j := range r.asked {
		q := &r.requests[i]
		isNew := q.ID == "" && q.Details.Restarted == nil
		if isNew && q.Kind == held.Kind && judge.Key(j.shown()) == judge.Key(judge.Approved(held)) {
			return q
		}
	}
	return nil
}
