package grants

import (
	"context"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals"
)

// suggestionRequests is the number of other requests that suggestions are compared with.
const suggestionRequests = 200

// Suggestions returns the suggested patterns of a request, each with the number of the latest
// requests of its principal that a grant of it and of the exact patterns would have decided. Like
// a preview it evaluates no rules. There are none where the decision is not remembered.
func (gs *Grants) Suggestions(ctx context.Context, r *approvals.Request) ([]approvals.Suggestion, error) {
	found := []approvals.Suggestion{}
	if len(r.SuggestedPatterns) == 0 || r.Status.Final() || r.DefaultGrant() == nil {
		return found, nil
	}
	asked, err := gs.latestRequests(ctx, r)
	if err != nil {
		return nil, err
	}
	exact := slices.DeleteFunc(slices.Clone(r.SuggestedPatterns), func(pattern string) bool { return strings.Contains(pattern, "*") })
	for _, pattern := range r.SuggestedPatterns {
		g := approvals.Grant{Effect: approvals.GrantAllow, Scope: approvals.GrantAgent, Principal: r.Principal, Patterns: append(slices.Clone(exact), pattern)}
		covers := gs.judge.GrantCovers(g)
		one := approvals.Suggestion{Pattern: pattern, Allows: approvals.AllowsOf(pattern), Of: len(asked)}
		for _, e := range asked {
			if covers(e) {
				one.Covered++
			}
		}
		found = append(found, one)
	}
	return found, nil
}

// latestRequests returns the events of the latest requests of the principal of a request, without
// its own.
func (gs *Grants) latestRequests(ctx context.Context, r *approvals.Request) ([]approvals.Event, error) {
	var asked []approvals.Event
	for e, err := range gs.store.RecentEvents(ctx, previewEvents) {
		if err != nil {
			return nil, approvals.Unavailable("read the recorded calls", err)
		}
		if e.Type != approvals.EventApprovalRequired || e.Before == nil || e.Principal != r.Principal || e.RequestID == r.ID {
			continue
		}
		if asked = append(asked, e); len(asked) > suggestionRequests {
			asked = asked[1:]
		}
	}
	return asked, nil
}
