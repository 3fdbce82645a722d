package grants

import (
	"context"
	"slices"

	"github.com/heldcall/heldcall/approvals"
)

const (
	// previewEvents is how far back in the audit log a preview looks.
	previewEvents = 10_000
	// previewItems is how many covered calls it shows.
	previewItems = 100
)

// Preview says which of the calls recorded lately a grant would have decided, if
// it had held then. Nothing is written. Rules are not asked: a deny rule, or one
// that asks, still stands above a grant that allows.
func (b *Grants) Preview(ctx context.Context, g approvals.Grant) (approvals.GrantPreview, error) {
	g, err := b.complete(g, nil)
	if err != nil {
		return approvals.GrantPreview{}, err
	}
	p, covers := approvals.GrantPreview{Grant: g, Items: []approvals.GrantCall{}}, b.judge.GrantCovers(g)
	for e, err := range b.store.RecentEvents(ctx, previewEvents) {
		if err != nil {
			return approvals.GrantPreview{}, approvals.Unavailable("read the calls recorded lately", err)
		}
		if then := thenOf(&e); then != "" {
			look(&p, &e, then, covers)
		}
	}
	slices.Reverse(p.Items)
	return p, nil
}

// look takes one recorded call into account.
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

// thenOf says what an event tells of a call, "" for an event that is not the
// first of one.
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
