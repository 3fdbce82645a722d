package approvals

import (
	"context"
	"errors"
	"fmt"
)

// ReviewerTimeout is the reviewer_id of what a deadline decided. No person has
// this name.
const ReviewerTimeout = "timeout"

// errOverdue and errNotDue stop a step whose time is wrong.
var (
	errOverdue = errors.New("the deadline has passed")
	errNotDue  = errors.New("the deadline has not come")
)

// Decide takes a reviewer's decision. The fields of the reviewer and Channel must
// have been set by the channel that authenticated the reviewer. It returns the
// request as it then stands: still pending where more approvals are required.
//
// It fails with [*DecidedError] when the request had ended before, its deadline
// included; [*ForbiddenError] when this reviewer may not; [ErrUnknownRequest]; [*InvalidError]; [ErrTooLarge] for an edit or note
// that does not fit a record; or [ErrStoreUnavailable], when nothing is known of
// the outcome.
func (g *Gate) Decide(ctx context.Context, d Decision) (Request, error) {
	if err := checkDecision(d); err != nil {
		return Request{}, err
	}
	r, err := g.move(ctx, d.RequestID, func(r *Request) error {
		now := g.now().UTC()
		if !now.Before(r.ExpiresAt) {
			return errOverdue
		}
		d.DecidedAt, d.GrantID = now, ""
		return g.apply(r, d)
	})
	if errors.Is(err, errOverdue) {
		if r, err = g.expire(ctx, d.RequestID); err == nil {
			err = &DecidedError{r}
		}
	}
	if err == nil {
		g.metrics.decided(r, d)
	}
	if err == nil && d.Action == ActionAbortRun {
		_, err = g.Signal(ctx, Signal{RunID: r.RunID, Action: SignalAbort, ReviewerID: d.ReviewerID})
		if err != nil { // the request says that the run is aborted: make it so
			g.due.add(&job{kind: jobRepair, id: r.ID, at: g.now().Add(retryDelay)})
		}
	}
	return r, err
}

// checkDecision refuses what no request can be decided by.
func checkDecision(d Decision) error {
	if d.ReviewerID == "" || d.ReviewerID == ReviewerTimeout {
		return &InvalidError{"reviewer_id", fmt.Sprintf("%q cannot decide", d.ReviewerID)}
	}
	if err := checkRemember(d); err != nil {
		return err
	}
	switch d.Action {
	case ActionApprove, ActionDeny, ActionAbortRun, ActionAllowAlways, ActionDenyAlways:
		if len(d.ModifiedArgs) > 0 {
			return &InvalidError{"modified_args", fmt.Sprintf("they need the action %q, not %q", ActionModifyArgs, d.Action)}
		}
		return nil
	case ActionModifyArgs:
		if len(d.ModifiedArgs) == 0 {
			return &InvalidError{"modified_args", "the action modify_args needs them"}
		}
		return nil
	case ActionAnswer:
		return &InvalidError{"action", "this version cannot ask questions yet: \"answer\" is not taken; use approve or deny"}
	case "":
		return &InvalidError{"action", "it is missing"}
	default:
		return &InvalidError{"action", fmt.Sprintf("%q is not known; use approve, deny, modify_args, allow_always, deny_always or abort_run", d.Action)}
	}
}

// checkRemember refuses a decision that says what to remember and not that
// anything is.
func checkRemember(d Decision) error {
	if d.Action == ActionAllowAlways || d.Action == ActionDenyAlways {
		return nil
	}
	for _, one := range []struct {
		field string
		given bool
	}{
		{"patterns", len(d.Patterns) > 0},
		{"grant_expires_at", d.GrantExpiresAt != nil},
		{"scope", d.Scope != ""},
		{"template", d.Template != ""},
	} {
		if one.given {
			return &InvalidError{one.field, fmt.Sprintf("only allow_always and deny_always take it, not %q", d.Action)}
		}
	}
	return nil
}

// apply lets a decision take effect on a pending request.
func (g *Gate) apply(r *Request, d Decision) error {
	if err := g.mayDecide(r, &d); err != nil {
		return err
	}
	switch d.Action {
	case ActionDeny:
		r.Decisions = append(r.Decisions, d)
		g.end(r, StatusDenied)
	case ActionAbortRun:
		if r.RunID == "" {
			return &InvalidError{"action", "the request belongs to no run that could be aborted; use deny"}
		}
		r.Decisions = append(r.Decisions, d)
		r.Details.CancelReason = CancelRunAborted
		g.end(r, StatusCancelled)
	case ActionModifyArgs:
		if r.RequiredApprovals > 1 {
			return &InvalidError{"action", fmt.Sprintf("the request needs %d approvals of the same arguments; they cannot be edited", r.RequiredApprovals)}
		}
		wants, err := g.checkModified(r, d.ModifiedArgs)
		if err != nil {
			return err
		}
		if err := r.Widened(&d, wants); err != nil {
			return err
		}
		r.Decisions = append(r.Decisions, d)
		g.end(r, StatusApproved)
	case ActionAllowAlways, ActionDenyAlways:
		return g.applyAlways(r, d)
	case ActionApprove:
		r.Decisions = append(r.Decisions, d)
		if r.filled() {
			g.end(r, StatusApproved)
		}
	}
	return nil
}

// applyAlways lets a decision take effect that is to be remembered. What the grant
// will be stands in the decision, so that a crash cannot lose it.
func (g *Gate) applyAlways(r *Request, d Decision) error {
	if g.grants == nil {
		return &InvalidError{"action", fmt.Sprintf("decisions are not remembered here: %q is not taken; use approve or deny", d.Action)}
	}
	grant, err := g.grants.propose(r, d)
	if err != nil {
		return err
	}
	d.Patterns, d.Scope, d.GrantExpiresAt, d.Template = grant.Patterns, grant.Scope, grant.ExpiresAt, grant.Template
	d.GrantID = g.ids.next(d.DecidedAt)
	r.Decisions = append(r.Decisions, d)
	if d.Action == ActionDenyAlways {
		g.end(r, StatusDenied)
	} else {
		g.end(r, StatusApproved)
	}
	return nil
}

// expire ends a request whose deadline has come, as its on_timeout says.
func (g *Gate) expire(ctx context.Context, id string) (Request, error) {
	return g.move(ctx, id, func(r *Request) error {
		now := g.now().UTC()
		if now.Before(r.ExpiresAt) {
			return errNotDue
		}
		if r.OnTimeout != OnTimeoutApprove {
			g.end(r, StatusExpired)
			return nil
		}
		r.Decisions = append(r.Decisions, Decision{
			RequestID:  r.ID,
			Action:     ActionApprove,
			ReviewerID: ReviewerTimeout,
			DecidedAt:  now,
		})
		g.end(r, StatusApproved)
		return nil
	})
}
