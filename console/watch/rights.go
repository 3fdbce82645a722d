package watch

import (
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/internal/visible"
)

// hindrance says why the reviewer cannot decide a request; "" if they can, as far as
// is known here. The console decides in the end: groups may change while watch runs.
func (m Model) hindrance(r *approvals.Request) string {
	switch {
	case m.looksOnly():
		return "you have view-only access"
	case len(r.Reviewers) > 0 && !m.me.InAnyOf(r.Reviewers):
		return "only " + visible.Line(strings.Join(r.Reviewers, " or ")) + " may decide this"
	}
	return ""
}

func (m Model) looksOnly() bool { return !m.me.Role.Includes(reviewers.RoleReviewer) }

// own is a decision of the reviewer.
func (m Model) own() approvals.Decision {
	return approvals.Decision{ReviewerID: m.me.Name, ReviewerUser: m.me.User}
}

// isOwn reports whether the request is of an agent that acts for the reviewer, who then
// may not approve it.
func (m Model) isOwn(r *approvals.Request) bool {
	own := m.own()
	return !m.me.SelfApproval && r.IsOwn(&own)
}

// spent says why an approval of the reviewer would count for nothing, in their own place
// and in others'; "" if it may count. They may deny nevertheless.
func (m Model) spent(r *approvals.Request) string {
	if m.isOwn(r) {
		return "you can't approve your own agent's request"
	}
	fills, again := m.countsFor(r)
	switch {
	case len(fills) > 0:
		return ""
	case again == m.me.Name:
		return "you approved, waiting for " + visible.Line(r.Missing())
	case again != "":
		return visible.Line(again) + " approved and counts as you, waiting for " + visible.Line(r.Missing())
	}
	return "your groups approved, waiting for " + visible.Line(r.Missing())
}

// countsFor is [approvals.Request.CountsFor] for the reviewer and those in whose place
// they may decide.
func (m Model) countsFor(r *approvals.Request) (fills []int, again string) {
	own := m.own()
	fills, again = r.CountsFor(&own, m.me.Groups)
	for _, other := range m.me.DecidesFor {
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
func (m Model) barred(r *approvals.Request, approves bool) string {
	if m.looksOnly() {
		return m.hindrance(r)
	}
	if !approves {
		return ""
	}
	if r.Details.Abridged {
		return "the whole call is being loaded"
	}
	if fills, again := m.countsFor(r); m.isOwn(r) || len(fills) == 0 && again == m.me.Name {
		return m.spent(r)
	}
	return ""
}
