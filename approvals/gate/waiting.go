package gate

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/heldcall/heldcall/approvals"
)

// A grant decides the calls that wait already, not only those to come, and so does a changed policy. Each call is judged
// again, whole. A grant approves in the name and with the rights of the reviewer who gave it. Every replica looks; the first
// decides.

// decideByGrants approves pending requests by each grant that comes into force, until the context ends. It begins when
// the requests are loaded, with the grants that a process may not have applied before it died.
func (g *Gate) decideByGrants(ctx context.Context, kept <-chan approvals.Grant) error {
	if g.grants == nil || g.allowedBy == nil {
		return nil
	}
	select {
	case <-g.ready:
	case <-ctx.Done():
		return nil
	}
	for cursor, more := "", true; more && g.transitions.pending.any(); {
		page := g.grants.Grants(approvals.GrantFilter{Limit: 500, Cursor: cursor})
		for i := range page.Items {
			g.decideByGrant(ctx, &page.Items[i])
		}
		cursor, more = page.NextCursor, page.NextCursor != ""
	}
	for {
		select {
		case grant := <-kept:
			g.decideByGrant(ctx, &grant)
		case <-ctx.Done():
			return nil
		}
	}
}

// decideByPolicies decides pending requests by the policies in force when one has changed, until the context ends.
func (g *Gate) decideByPolicies(ctx context.Context, changed <-chan struct{}) error {
	select {
	case <-g.ready:
	case <-ctx.Done():
		return nil
	}
	for {
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
		for _, id := range g.transitions.pending.ids() {
			if ctx.Err() != nil {
				break
			}
			g.logUndecided("a changed policy", "", id, g.decideByPolicy(ctx, id))
		}
	}
}

func (g *Gate) decideByPolicy(ctx context.Context, id string) error {
	defer g.transitions.closing.begin(approvals.Request{ID: id})()
	_, err := g.transitions.do(ctx, id, func(r *approvals.Request) error {
		now := g.now().UTC()
		decision, decides := g.byPolicy(ctx, *r)
		if !decides || !now.Before(r.ExpiresAt) {
			return errNotDecided
		}
		decision.DecidedAt = now
		r.Decisions = append(r.Decisions, decision)
		status := approvals.StatusDenied
		if decision.Action.Approves() {
			status = approvals.StatusApproved
		}
		finish(r, status, now)
		return nil
	})
	return err
}

// logUndecided logs why a grant or a changed policy has not decided a request, unless people are to decide it.
func (g *Gate) logUndecided(by, grant, request string, err error) {
	var decided *approvals.DecidedError
	var forbidden *approvals.ForbiddenError
	var invalid *approvals.InvalidError
	switch {
	case err == nil, errors.Is(err, errNotDecided), errors.Is(err, approvals.ErrUnknownRequest), errors.Is(err, context.Canceled):
	case errors.As(err, &decided), errors.As(err, &forbidden), errors.As(err, &invalid):
		g.log.Debug("a pending request is not decided by "+by, "grant", grant, "request", request, "reason", err)
	default:
		g.log.Warn("failed to decide a pending request by "+by, "grant", grant, "request", request, "error", err)
	}
}

// decideByGrant approves the pending requests that a grant covers. A request that is newer than the grant was judged by
// it when it came.
func (g *Gate) decideByGrant(ctx context.Context, grant *approvals.Grant) {
	if grant.Effect != approvals.GrantAllow || grant.Expired(g.now()) {
		return
	}
	for _, id := range g.transitions.pending.before(grant) {
		if ctx.Err() != nil {
			return
		}
		g.logUndecided("a grant", grant.ID, id, g.approveBy(ctx, grant, id))
	}
}

// errNotDecided stops the decision on a request that is left to people.
var errNotDecided = errors.New("people decide the request")

func (g *Gate) approveBy(ctx context.Context, grant *approvals.Grant, id string) error {
	defer g.transitions.closing.begin(approvals.Request{ID: id})()
	decision := g.decider.decisionBy(grant, id)
	r, err := g.transitions.do(ctx, id, func(r *approvals.Request) error {
		now := g.now().UTC()
		if !now.Before(r.ExpiresAt) || !r.GrantsDecide() || !grant.CoversPrincipal(r.Principal, r.SessionID) || !g.allowedBy(ctx, *r, grant.ID) {
			return errNotDecided
		}
		if err := g.decider.authorize(r, &decision); err != nil {
			return err
		}
		decision.DecidedAt = now
		r.Decisions = append(r.Decisions, decision)
		finish(r, approvals.StatusApproved, now)
		return nil
	})
	if err == nil {
		g.metrics.decided(&r, &decision)
		g.grants.Used(grant.ID)
	}
	return err
}

// decisionBy returns the approval of a request by a grant: in the name of its reviewer, and with the rights that it was
// given with. A grant that was written by hand has those of its reviewer.
func (d *decider) decisionBy(grant *approvals.Grant, request string) approvals.Decision {
	who, _ := d.delegations.profile(grant.GrantedBy)
	groups := grant.Groups
	if grant.RequestID == "" {
		groups = who.Groups
	}
	return approvals.Decision{
		RequestID: request, Action: approvals.ActionApprove, Rule: "grant " + grant.ID, Note: "decided by grant " + grant.ID,
		ReviewerID: grant.GrantedBy, ReviewerUser: who.User, ReviewerGroups: groups, OwnRightsOnly: true, Channel: grant.Channel,
	}
}

// any reports whether any request is pending.
func (p *pending) any() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.byID) > 0
}

// ids returns the ids of the pending requests, the oldest first.
func (p *pending) ids() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.byID))
}

// before returns the pending requests that were made before a grant, but the one whose decision made it.
func (p *pending) before(grant *approvals.Grant) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	ids := slices.Sorted(maps.Keys(p.byID))
	return slices.DeleteFunc(ids, func(id string) bool { return id == grant.RequestID || p.byID[id].createdAt.After(grant.CreatedAt) })
}
