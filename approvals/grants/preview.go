package grants

import (
	"context"
	"slices"

	"github.com/heldcall/heldcall/approvals"
)

const (
	// previewEvents is the number of events that a preview reads.
	previewEvents = 10_000
	// previewItems is the number of covered calls that it returns.
	previewItems = 100
)

// Preview returns the recently recorded calls that a grant would have decided, of those of its tenant. It writes
// nothing and evaluates no rules: rules that deny or ask still override a grant that
// allows.
func (gs *Grants) Preview(ctx context.Context, g approvals.Grant) (approvals.GrantPreview, error) {
	g, err := gs.complete(g, nil)
	if err != nil {
		return approvals.GrantPreview{}, err
	}
	p, covers := approvals.GrantPreview{Grant: g, Items: []approvals.GrantCall{}}, gs.judge.GrantCovers(g)
	for e, err := range gs.store.RecentEvents(ctx, previewEvents) {
		if err != nil {
			return approvals.GrantPreview{}, approvals.Unavailable("read the recorded calls", err)
		}
		if then := thenOf(&e); then != "" && e.Principal.Tenant == g.Principal.Tenant {
			look(&p, &e, then, covers)
		}
	}
	slices.Reverse(p.Items)
	return p, nil
}

// look adds one recorded call to a preview.
func look(p *approvals.GrantPreview, e *approvals.Event, then string, covers func(approvals.Event) bool) {
	p.Calls++
	if p.Since == nil {
		at := e.Time
		p.Since = &at
	}
	if !p.Grant.CoversPrincipal(e.Principal, e.SessionID) || !covers(*e) {
		return
	}
	p.Covered++
	p.Items = append(p.Items, approvals.GrantCall{
		Time: e.Time, Principal: e.Principal, SessionID: e.SessionID, RunID: e.RunID, RequestID: e.RequestID,
		ToolName: e.ToolName, Arguments: e.Before, Then: then,
	})
	if len(p.Items) > previewItems {
		p.Items = slices.Delete(p.Items, 0, 1)
	}
}

// thenOf returns the verdict on the call of an event, "" for an event that is not the first
// one of a call.
func thenOf(e *approvals.Event) string {
	switch {
	case e.Before == nil:
		return ""
	case e.Type == approvals.EventApprovalRequired:
		return "asked"
	case e.Type == approvals.EventCallAllowed:
		return "allowed"
	case e.Type == approvals.EventCallDenied && e.RequestID == "":
		return "denied"
	}
	return ""
}
