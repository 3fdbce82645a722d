package gate

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/grants"
	"github.com/heldcall/heldcall/approvals/questions"
)

// decider applies decisions of reviewers to requests.
type decider struct {
	transitions    *transitions
	delegations    *delegations
	grants         *grants.Grants // nil: decisions are not remembered
	checkEdit      func(approvals.Request, json.RawMessage) ([]approvals.Demand, error)
	noSelfApproval bool
	conceal        func(context.Context, *approvals.Request, *approvals.Decision) (func(context.Context, bool), error)
	prove          func(context.Context, *approvals.Request, *approvals.Decision) (string, error)
	answering      *semaphore.Weighted // while values of a decision are stored, that of another one here must not replace them
	now            func() time.Time
	ids            *approvals.IDSource
}

// decide is [Gate.Decide] without what follows: metrics and the end of a run. A request
// whose deadline has passed expires instead, and the error is a [*approvals.DecidedError].
func (d *decider) decide(ctx context.Context, decision approvals.Decision) (approvals.Request, error) {
	if err := checkDecision(&decision); err != nil {
		return approvals.Request{}, err
	}
	if len(decision.Values)+len(decision.Responses) > 0 {
		if err := d.answering.Acquire(ctx, 1); err != nil {
			return approvals.Request{}, approvals.Unavailable("wait for another answer", err)
		}
		defer d.answering.Release(1)
	}
	decision.Passkey = ""
	settle := func(context.Context, bool) {}
	r, err := d.transitions.do(ctx, decision.RequestID, func(r *approvals.Request) error {
		now := d.now().UTC()
		if !now.Before(r.ExpiresAt) {
			return errOverdue
		}
		decision.DecidedAt, decision.GrantID, decision.Rule = now, "", ""
		if err := d.confirm(ctx, r, &decision); err != nil {
			return err
		}
		return d.apply(ctx, r, decision, &settle)
	})
	if errors.Is(err, errOverdue) {
		if r, err = d.transitions.expire(ctx, decision.RequestID); err == nil {
			err = &approvals.DecidedError{Request: r}
		}
	}
	if !errors.Is(err, approvals.ErrStoreUnavailable) { // else it may be recorded
		settle(context.WithoutCancel(ctx), err == nil)
	}
	return r, err
}

// confirm refuses a decision without what its request asks for besides. An assertion of a passkey
// counts once, so it is not verified again after a conflict: the request is the same.
func (d *decider) confirm(ctx context.Context, r *approvals.Request, decision *approvals.Decision) (err error) {
	if decision.Passkey != "" {
		return nil
	}
	trial := *decision
	if err := d.authorize(r, &trial); err != nil {
		return err
	}
	if err := decision.CheckConfirmation(r); err != nil {
		return err
	}
	decision.Passkey, err = d.prove(ctx, r, decision)
	return err
}

// refusePasskeys refuses approvals that need a passkey.
func refusePasskeys(_ context.Context, r *approvals.Request, decision *approvals.Decision) (string, error) {
	if r.Details.Passkey && decision.Action.Approves() {
		return "", approvals.Invalid("assertion", "an approval of this request needs a passkey, and there are none here; it can be denied")
	}
	return "", nil
}

// apply makes a decision take effect on a pending request. Settle is called afterwards.
func (d *decider) apply(ctx context.Context, r *approvals.Request, decision approvals.Decision, settle *func(context.Context, bool)) error {
	if err := d.authorize(r, &decision); err != nil {
		return err
	}
	if err := r.CheckPossible(&decision); err != nil {
		return err
	}
	if err := questions.CheckFor(r, &decision); err != nil {
		return err
	}
	(*settle)(ctx, false) // of an attempt before a conflict
	var err error
	if *settle, err = d.conceal(ctx, r, &decision); err != nil {
		return err
	}
	if decision.Remembers() {
		if err := d.remember(r, &decision); err != nil {
			return err
		}
	}
	status := approvals.StatusApproved
	switch decision.Action {
	case approvals.ActionAnswer:
		status = approvals.StatusAnswered
	case approvals.ActionDeny, approvals.ActionDenyAlways:
		status = approvals.StatusDenied
	case approvals.ActionAbortRun:
		if r.RunID == "" {
			return approvals.Invalid("action", "the request belongs to no run that could be aborted; use deny")
		}
		r.Details.CancelReason = approvals.CancelRunAborted
		status = approvals.StatusCancelled
	case approvals.ActionModifyArgs:
		if err := d.edit(r, &decision); err != nil {
			return err
		}
	}
	r.Decisions = append(r.Decisions, decision)
	if decision.Action == approvals.ActionApprove && r.Missing() != "" {
		return nil // it stays pending
	}
	finish(r, status, d.now())
	return nil
}

// authorize returns an error unless a reviewer may take this decision on this request: by
// their own groups or in the place of another reviewer. To them, a request of a tenant that is not theirs does not exist. It sets the first reviewer in
// whose place they can decide, and the demands for which an approval counts.
func (d *decider) authorize(r *approvals.Request, decision *approvals.Decision) error {
	decision.OnBehalfOf, decision.OnBehalfUser, decision.OnBehalfGroups, decision.Fills = "", "", nil, nil
	if !decision.Tenants.Has(r.Principal.Tenant) {
		return approvals.ErrUnknownRequest
	}
	refused := permit(r, decision, decision.ReviewerGroups, d.noSelfApproval)
	if refused == nil || decision.OwnRightsOnly {
		return refused
	}
	first := refused
	for _, name := range d.delegations.delegators(decision.ReviewerID) {
		who, exists := d.delegations.profile(name)
		if !exists || !who.Tenants.Has(r.Principal.Tenant) || !approvals.MemberOf(who.Groups, r.Reviewers) {
			continue
		}
		decision.OnBehalfOf, decision.OnBehalfUser, decision.OnBehalfGroups = name, who.User, who.Groups
		if refused = permit(r, decision, who.Groups, d.noSelfApproval); refused == nil {
			return nil
		}
	}
	if errors.As(first, new(*approvals.InvalidError)) { // the reviewer has approved already
		return first
	}
	return refused
}

// edit checks a decision that changes the arguments.
func (d *decider) edit(r *approvals.Request, decision *approvals.Decision) error {
	if err := checkArguments(r, decision.ModifiedArgs); err != nil {
		return err
	}
	if d.checkEdit == nil || r.Kind == approvals.KindResult { // policy has no rules about what a reviewer writes
		return nil
	}
	wants, err := d.checkEdit(*r, decision.ModifiedArgs)
	switch {
	case errors.As(err, new(*approvals.InvalidError)):
		return err
	case err != nil:
		return approvals.Invalid(editedField, "%s", err)
	}
	return permitEdit(r, decision, wants)
}

// remember adds the terms of the grant to a decision that is remembered: the record of the
// decision is enough to write the grant after a crash.
func (d *decider) remember(r *approvals.Request, decision *approvals.Decision) error {
	if d.grants == nil {
		return approvals.Invalid("action", "decisions are not remembered here, so %q is refused; use approve or deny", decision.Action)
	}
	grant, err := d.grants.Propose(r, *decision)
	if err != nil {
		return err
	}
	decision.Patterns, decision.Scope, decision.GrantExpiresAt, decision.Template = grant.Patterns, grant.Scope, grant.ExpiresAt, grant.Template
	decision.GrantID = d.ids.Next(decision.DecidedAt)
	return nil
}
