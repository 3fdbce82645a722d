package watch

import (
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/internal/visible"
)

// hindrance says why the reviewer cannot decide a request; "" if they can, as far as
// is known here. The console decides in the end, so no key is taken away.
func (m Model) hindrance(r *approvals.Request) string {
	switch {
	case !m.me.Role.Includes(reviewers.RoleReviewer):
		return "you may look, and not decide"
	case len(r.Reviewers) > 0 && !m.me.InAnyOf(r.Reviewers):
		return "only " + visible.Line(strings.Join(r.Reviewers, " or ")) + " may decide this"
	}
	return ""
}

// spent says why an approval of the reviewer would count for nothing, in their own place
// and in others'; "" if it may count. They may deny nevertheless.
func (m Model) spent(r *approvals.Request) string {
	own := approvals.Decision{ReviewerID: m.me.Name, ReviewerUser: m.me.User}
	fills, again := r.CountsFor(&own, m.me.Groups)
	for _, other := range m.me.DecidesFor {
		stead := own
		stead.OnBehalfOf = other.Name
		more, same := r.CountsFor(&stead, other.Groups)
		fills = append(fills, more...)
		if again == "" {
			again = same
		}
	}
	switch {
	case len(fills) > 0:
		return ""
	case again == m.me.Name:
		return "you have decided, and it waits for others"
	case again != "":
		return visible.Line(again) + " has decided and counts as you, and it waits for others"
	}
	return "your groups have approved, and it waits for others"
}
