package gate

import (
	"context"
	"errors"
	"fmt"

	"github.com/heldcall/heldcall/approvals"
)

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
func (g *Gate) Decide(ctx context.Context, d approvals.Decision) (approvals.Request, error) {
	if err := checkDecision(d); err != nil {
		return approvals.Request{}, err
	}
	r, err := g.move(ctx, d.RequestID, func(r *approvals.Request) error {
		now := g.now().UTC()
		if !now.Before(r.ExpiresAt) {
			return errOverdue
		}
		d.DecidedAt, d.GrantID = now, ""
		return g.apply(r, d)
	})
	if errors.Is(err, errOverdue) {
		if r, err = g.expire(ctx, d.RequestID); err == nil {
			err = &approvals.DecidedError{Request: r}
		}
	}
	if err == nil {
		g.metrics.decided(r, d)
	}
	if err == nil && d.Action == approvals.ActionAbortRun {
		_, err = g.Signal(ctx, approvals.Signal{RunID: r.RunID, Action: approvals.SignalAbort, ReviewerID: d.ReviewerID})
		if err != nil { // the request says that the run is aborted: make it so
			g.due.add(&job{kind: jobRepair, id: r.ID, at: g.now().Add(retryDelay)})
		}
	}
	return r, err
}

// checkDecision refuses what no request can be decided by.
func checkDecision(d approvals.Decision) error {
	if d.ReviewerID == "" || d.ReviewerID == approvals.ReviewerTimeout {
		return &approvals.InvalidError{Field: "reviewer_id", Reason: fmt.Sprintf("%q cannot decide", d.ReviewerID)}
	}
	if err := checkRemember(d); err != nil {
		return err
	}
	switch d.Action {
	case approvals.ActionApprove, approvals.ActionDeny, approvals.ActionAbortRun, approvals.ActionAllowAlways, approvals.ActionDenyAlways:
		if len(d.ModifiedArgs) > 0 {
			return &approvals.InvalidError{Field: "modified_args", Reason: fmt.Sprintf("they need the action %q, not %q", approvals.ActionModifyArgs, d.Action)}
		}
		return nil
	case approvals.ActionModifyArgs:
		if len(d.ModifiedArgs) == 0 {
			return &approvals.InvalidError{Field: "modified_args", Reason: "the action modify_args needs them"}
		}
		return nil
	case approvals.ActionAnswer:
		return &approvals.InvalidError{Field: "action", Reason: "this version cannot ask questions yet: \"answer\" is not taken; use approve or deny"}
	case "":
		return &approvals.InvalidError{Field: "action", Reason: "it is missing"}
	default:
		return &approvals.InvalidError{Field: "action", Reason: fmt.Sprintf("%q is not known; use approve, deny, modify_args, allow_always, deny_always or abort_run", d.Action)}
	}
}

// checkRemember refuses a decision that says what to remember and not that
// anything is.
func checkRemember(d approvals.Decision) error {
	if d.Action == approvals.ActionAllowAlways || d.Action == approvals.ActionDenyAlways {
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
			return &approvals.InvalidError{Field: one.field, Reason: fmt.Sprintf("only allow_always and deny_always take it, not %q", d.Action)}
		}
	}
	return nil
}

// apply lets a decision take effect on a pending request.
func (g *Gate) apply(r *approvals.Request, d approvals.Decision) error {
	if err := g.mayDecide(r, &d); err != nil {
		return err
	}
	switch d.Action {
	case approvals.ActionDeny:
		r.Decisions = append(r.Decisions, d)
		g.end(r, approvals.StatusDenied)
	case approvals.ActionAbortRun:
		if r.RunID == "" {
			return &approvals.InvalidError{Field: "action", Reason: "the request belongs to no run that could be aborted; use deny"}
		}
		r.Decisions = append(r.Decisions, d)
		r.Details.CancelReason = approvals.CancelRunAborted
		g.end(r, approvals.StatusCancelled)
	case approvals.ActionModifyArgs:
		if r.RequiredApprovals > 1 {
			return &approvals.InvalidError{Field: "action", Reason: fmt.Sprintf("the request needs %d approvals of the same arguments; they cannot be edited", r.RequiredApprovals)}
		}
		wants, err := g.checkModified(r, d.ModifiedArgs)
		if err != nil {
			return err
		}
		if err := r.Widened(&d, wants); err != nil {
			return err
		}
		r.Decisions = append(r.Decisions, d)
		g.end(r, approvals.StatusApproved)
	case approvals.ActionAllowAlways, approvals.ActionDenyAlways:
		return g.applyAlways(r, d)
	case approvals.ActionApprove:
		r.Decisions = append(r.Decisions, d)
		if r.Filled() {
			g.end(r, approvals.StatusApproved)
		}
	}
	return nil
}

// applyAlways lets a decision take effect that is to be remembered. What the grant
// will be stands in the decision, so that a crash cannot lose it.
func (g *Gate) applyAlways(r *approvals.Request, d approvals.Decision) error {
	if g.grants == nil {
		return &approvals.InvalidError{Field: "action", Reason: fmt.Sprintf("decisions are not remembered here: %q is not taken; use approve or deny", d.Action)}
	}
	grant, err := g.grants.Propose(r, d)
	if err != nil {
		return err
	}
	d.Patterns, d.Scope, d.GrantExpiresAt, d.Template = grant.Patterns, grant.Scope, grant.ExpiresAt, grant.Template
	d.GrantID = g.ids.Next(d.DecidedAt)
	r.Decisions = append(r.Decisions, d)
	if d.Action == approvals.ActionDenyAlways {
		g.end(r, approvals.StatusDenied)
	} else {
		g.end(r, approvals.StatusApproved)
	}
	return nil
}

// expire ends a request whose deadline has come, as its on_timeout says.
func (g *Gate) expire(ctx context.Context, id string) (approvals.Request, error) {
	return g.move(ctx, id, func(r *approvals.Request) error {
		now := g.now().UTC()
		if now.Before(r.ExpiresAt) {
			return errNotDue
		}
		if r.OnTimeout != approvals.OnTimeoutApprove {
			g.end(r, approvals.StatusExpired)
			return nil
		}
		r.Decisions = append(r.Decisions, approvals.Decision{
			RequestID:  r.ID,
			Action:     approvals.ActionApprove,
			ReviewerID: approvals.ReviewerTimeout,
			DecidedAt:  now,
		})
		g.end(r, approvals.StatusApproved)
		return nil
	})
}
