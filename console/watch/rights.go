package watch

import (
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/console/client"
	"github.com/heldcall/heldcall/internal/sanitize"
)

type reviewer struct{ client.Self }

// hindrance returns why the reviewer cannot decide a request; "" if they can, as far as
// is known here. The console decides in the end: groups may change while watch runs.
func (v reviewer) hindrance(r *approvals.Request) string {
	switch {
	case v.looksOnly():
		return "you have view-only access"
	case len(r.Reviewers) > 0 && !v.InAnyOf(r.Reviewers):
		return "only " + sanitize.Line(strings.Join(r.Reviewers, " or ")) + " may decide this"
	}
	return ""
}

func (v reviewer) looksOnly() bool { return !v.Role.Includes(reviewers.RoleReviewer) }

func (v reviewer) own() approvals.Decision {
	return approvals.Decision{ReviewerID: v.Name, ReviewerUser: v.User}
}

// isOwn reports whether the request is of an agent that acts for the reviewer, who then
// may not approve it.
func (v reviewer) isOwn(r *approvals.Request) bool {
	own := v.own()
	return !v.SelfApproval && r.IsOwn(&own)
}

// ineffective returns why an approval of the reviewer would not count, in their own place
// and in others'; "" if it may count. They may deny nevertheless.
func (v reviewer) ineffective(r *approvals.Request) string {
	if v.isOwn(r) {
		return "you can't approve your own agent's request"
	}
	fills, again := v.countsFor(r)
	switch {
	case len(fills) > 0:
		return ""
	case again == v.Name:
		return "you approved, waiting for " + sanitize.Line(r.Missing())
	case again != "":
		return sanitize.Line(again) + " approved and counts as you, waiting for " + sanitize.Line(r.Missing())
	}
	return "your groups approved, waiting for " + sanitize.Line(r.Missing())
}

// countsFor is [approvals.Request.CountsFor] for the reviewer and those in whose place
// they may decide.
func (v reviewer) countsFor(r *approvals.Request) (fills []int, again string) {
	own := v.own()
	fills, again = r.CountsFor(&own, v.Groups)
	for _, other := range v.DecidesFor {
		stead := own
		stead.OnBehalfOf = other.Name
		more, same := r.CountsFor(&stead, other.Groups)
		fills = append(fills, more...)
		if again == "" {
			again = same
		}
	}
	return fills, again
}

// barred returns why the console will certainly refuse a decision, whatever has changed
// since watch has asked who the reviewer is; "" if it may take it.
func (v reviewer) barred(r *approvals.Request, approves bool) string {
	if v.looksOnly() {
		return v.hindrance(r)
	}
	if !approves {
		return ""
	}
	if r.Details.Abridged {
		return "the whole call is being loaded"
	}
	if fills, again := v.countsFor(r); v.isOwn(r) || (len(fills) == 0 && again == v.Name) {
		return v.ineffective(r)
	}
	return ""
}
