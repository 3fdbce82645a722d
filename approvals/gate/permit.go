package gate

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals"
)

// editedField is the field of a decision that has the edited arguments.
const editedField = "modified_args"

// permit refuses a decision by a reviewer who is not in the right groups, an approval by
// the principal's user where noSelfApproval is set, and a second approval by the same
// person. It sets the demands of the request for which an approval counts. The error is
// a [*approvals.ForbiddenError] or an [*approvals.InvalidError].
func permit(r *approvals.Request, d *approvals.Decision, groups []string, noSelfApproval bool) error {
	if len(r.Reviewers) > 0 && !approvals.MemberOf(groups, r.Reviewers) {
		return approvals.Forbidden(d.ReviewerID, "members of %s decide this request", orOf(r.Reviewers))
	}
	if noSelfApproval && d.Action.Approves() && r.IsOwn(d) {
		return approvals.Forbidden(d.ReviewerID, "the call is from an agent of %s, so another reviewer must approve it", r.Principal.User)
	}
	switch d.Action {
	case approvals.ActionApprove:
		return permitApproval(r, d, groups)
	case approvals.ActionModifyArgs, approvals.ActionAllowAlways, approvals.ActionDenyAlways:
		return permitAlone(r, d, groups)
	}
	return nil
}

// permitApproval sets the demands for which an approval counts. It refuses an approval
// that counts for none.
func permitApproval(r *approvals.Request, d *approvals.Decision, groups []string) error {
	fills, again := r.CountsFor(d, groups)
	switch {
	case len(fills) > 0:
		if len(r.Demands) > 0 {
			d.Fills = fills
		}
		return nil
	case again == d.ReviewerID:
		return approvals.Invalid("reviewer_id", "%s has approved already; other reviewers must give %s", again, r.Missing())
	case again != "":
		return approvals.Invalid("reviewer_id", "%s has approved already, and %s counts as the same person; other reviewers must give %s", again, d.ReviewerID, r.Missing())
	}
	return approvals.Forbidden(d.ReviewerID, "their groups have approved already; other groups must give %s", r.Missing())
}

// permitAlone refuses a decision that ends the request by itself, an edit or one that is
// remembered, by a reviewer who is not in the groups of every demand.
func permitAlone(r *approvals.Request, d *approvals.Decision, groups []string) error {
	for _, demand := range r.Demands {
		if !approvals.MemberOf(groups, demand.Reviewers) {
			return approvals.Forbidden(d.ReviewerID, "members of %s decide this request too, so use approve or deny", orOf(demand.Reviewers))
		}
	}
	return nil
}

// permitEdit refuses an edit after which other rules ask about the call, unless the
// reviewer is in the groups of these rules and they require one approval. wants are the
// demands of the edited call.
func permitEdit(r *approvals.Request, d *approvals.Decision, wants []approvals.Demand) error {
	for _, want := range wants {
		if want.RequiredApprovals > 1 {
			return approvals.Invalid(editedField, "%d approvals are required of such arguments (%s): deny, and let the agent make that call", want.RequiredApprovals, want.Rule)
		}
		asked := slices.ContainsFunc(r.EffectiveDemands(), func(own approvals.Demand) bool { return includes(&own, &want) })
		if !asked && len(want.Reviewers) > 0 && !approvals.MemberOf(d.Rights(), want.Reviewers) {
			return approvals.Forbidden(d.ReviewerID, "members of %s decide such arguments (%s): deny, and let the agent make that call", orOf(want.Reviewers), want.Rule)
		}
	}
	return nil
}

func orOf(groups []string) string { return strings.Join(groups, " or ") }
