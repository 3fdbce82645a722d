package approvals

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Demand is a number of approvals by members of groups that rules require of a request.
// A request has demands if its rules name different groups: one for each set of groups.
type Demand struct {
	Rule              string      `json:"rule"`      // file:line of the rule; of several, with commas between
	Reviewers         []string    `json:"reviewers"` // groups
	RequiredApprovals int         `json:"required_approvals"`
	Escalation        *Escalation `json:"escalation,omitempty"` // done: its groups are in Reviewers
}

// OneDecides reports whether one approval by a permitted reviewer is enough.
func (r *Request) OneDecides() bool { return r.RequiredApprovals <= 1 && len(r.Demands) == 0 }

// Approvals returns the decisions that count for one of the request's demands.
func (r *Request) Approvals(demand int) []Decision {
	return slices.DeleteFunc(slices.Clone(r.Decisions), func(d Decision) bool {
		return len(r.Demands) > 0 && !slices.Contains(d.Fills, demand)
	})
}

// ApprovalCount returns a text of how many approvals a pending request has and needs.
func (r *Request) ApprovalCount() string {
	if len(r.Demands) == 0 {
		return fmt.Sprintf("%d of %d approvals", len(r.Decisions), r.RequiredApprovals)
	}
	parts := make([]string, len(r.Demands))
	for i, d := range r.Demands {
		parts[i] = fmt.Sprintf("%d of %d approvals of %s", len(r.Approvals(i)), d.RequiredApprovals, strings.Join(d.Reviewers, " or "))
	}
	return strings.Join(parts, " and ")
}

// Waits reports whether a demand of the request, by its index, needs more approvals.
func (r *Request) Waits(demand int) bool {
	return len(r.Approvals(demand)) < max(r.demands()[demand].RequiredApprovals, 1)
}

// Missing returns the number of approvals that a pending request still needs as a text,
// such as "1 more approval". For a request with demands it names the groups. It is "" if
// none is missing.
func (r *Request) Missing() string {
	var parts []string
	for i, d := range r.demands() {
		n := max(d.RequiredApprovals, 1) - len(r.Approvals(i))
		if n <= 0 {
			continue
		}
		part := fmt.Sprintf("%d more approval", n)
		if n > 1 {
			part += "s"
		}
		if len(r.Demands) > 0 {
			part += " of " + strings.Join(d.Reviewers, " or ")
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " and ")
}

// DemandLines returns one line for each demand: the approvals that it needs and has.
func (r *Request) DemandLines() []string {
	lines := make([]string, len(r.Demands))
	for i, d := range r.Demands {
		given := r.Approvals(i)
		lines[i] = fmt.Sprintf("%d of %d approvals by members of %s (%s)", len(given), d.RequiredApprovals, strings.Join(d.Reviewers, " or "), d.Rule)
		for j, one := range given {
			lines[i] += [...]string{": ", ", "}[min(j, 1)] + one.ReviewerID
			if one.OnBehalfOf != "" {
				lines[i] += " for " + one.OnBehalfOf
			}
		}
		if e := d.Escalation; e != nil && e.EscalatedAt == nil && !r.Status.Final() && r.Waits(i) {
			lines[i] += fmt.Sprintf("; members of %s too from %s", strings.Join(e.To, " or "), e.At.UTC().Format(time.RFC3339))
		}
	}
	return lines
}

// demands returns those of the request. A request whose rules all name the same groups
// has one, in its own fields.
func (r *Request) demands() []Demand {
	if len(r.Demands) > 0 {
		return r.Demands
	}
	return []Demand{{Rule: r.Rule, Reviewers: r.Reviewers, RequiredApprovals: r.RequiredApprovals, Escalation: r.Details.Escalation}}
}

// NormalizeDemands sets Reviewers and RequiredApprovals of a new request to all groups of
// its demands and to their largest number of approvals. It removes escalations that add
// no group.
func (r *Request) NormalizeDemands() {
	if len(r.Demands) == 0 {
		return
	}
	r.Demands = slices.Clone(r.Demands)
	r.Reviewers, r.RequiredApprovals, r.Details.Escalation = nil, 1, nil
	for i := range r.Demands {
		d := &r.Demands[i]
		d.RequiredApprovals = max(d.RequiredApprovals, 1)
		r.RequiredApprovals = max(r.RequiredApprovals, d.RequiredApprovals)
		r.Reviewers = withGroups(r.Reviewers, d.Reviewers)
		if e := d.Escalation; e != nil {
			more := withGroups(d.Reviewers, e.To)[len(d.Reviewers):]
			d.Escalation = &Escalation{At: e.At, To: more}
			if len(more) == 0 {
				d.Escalation = nil
			}
		}
	}
}

// originalDemands returns the demands as they were when the request was new.
func (r *Request) originalDemands() []Demand {
	first := slices.Clone(r.Demands)
	for i := range first {
		d := &first[i]
		if e := d.Escalation; e != nil && e.EscalatedAt != nil {
			d.Reviewers = d.Reviewers[:len(d.Reviewers)-len(e.To)]
			d.Escalation = &Escalation{At: e.At, To: e.To}
		}
	}
	return first
}

// CountsFor returns the indexes of the demands for which an approval would count: those of
// the groups that need one more and have none by this person. again is the reviewer who
// has approved for one of them already and is the same person, "" if there is none.
func (r *Request) CountsFor(d *Decision, groups []string) (fills []int, again string) {
	for i, demand := range r.demands() {
		given := r.Approvals(i)
		same := slices.IndexFunc(given, func(earlier Decision) bool { return d.countsAs(&earlier) })
		switch {
		case len(demand.Reviewers) > 0 && !MemberOf(groups, demand.Reviewers):
		case same >= 0:
			again = given[same].ReviewerID
		case len(given) < max(demand.RequiredApprovals, 1):
			fills = append(fills, i)
		}
	}
	return fills, again
}

// permitApproval sets the demands for which an approval counts. It refuses an approval
// that counts for none.
func (r *Request) permitApproval(d *Decision, groups []string) error {
	fills, again := r.CountsFor(d, groups)
	switch {
	case len(fills) > 0:
		if len(r.Demands) > 0 {
			d.Fills = fills
		}
		return nil
	case again == d.ReviewerID:
		return &InvalidError{"reviewer_id", fmt.Sprintf("%s has approved already; %s", again, r.waitsFor())}
	case again != "":
		return &InvalidError{"reviewer_id", fmt.Sprintf("%s has approved already, and %s counts as the same person here; %s", again, d.ReviewerID, r.waitsFor())}
	}
	return &ForbiddenError{d.ReviewerID, "what their groups were asked for is approved already; " + r.waitsFor()}
}

// waitsFor returns a text of who else has to approve.
func (r *Request) waitsFor() string {
	if len(r.Demands) == 0 {
		return fmt.Sprintf("%d different reviewers are required", r.RequiredApprovals)
	}
	var open []string
	for i, d := range r.Demands {
		if r.Waits(i) {
			open = append(open, "members of "+strings.Join(d.Reviewers, " or "))
		}
	}
	return "it waits for " + strings.Join(open, ", and for ")
}

// HasApprovals reports whether every demand has its approvals.
func (r *Request) HasApprovals() bool {
	for i := range r.demands() {
		if r.Waits(i) {
			return false
		}
	}
	return true
}

// permitAlone refuses a decision that is final by itself, an edit or one for always, by a
// reviewer who is not in the groups of every demand.
func (r *Request) permitAlone(d *Decision, groups []string) error {
	for _, demand := range r.Demands {
		if !MemberOf(groups, demand.Reviewers) {
			return &ForbiddenError{d.ReviewerID, fmt.Sprintf("members of %s decide this request too, so use approve or deny", strings.Join(demand.Reviewers, " or "))}
		}
	}
	return nil
}

// PermitEdit refuses an edit of a call about which other rules ask after it, unless the
// reviewer is in their groups and one approval is enough for them. wants are the demands
// that the edited call would have.
func (r *Request) PermitEdit(d *Decision, wants []Demand) error {
	for _, want := range wants {
		if want.RequiredApprovals > 1 {
			return &InvalidError{"modified_args", fmt.Sprintf("%d approvals are required of such arguments (%s): deny, and let the agent make that call", want.RequiredApprovals, want.Rule)}
		}
		asked := slices.ContainsFunc(r.demands(), func(own Demand) bool { return own.includes(want) })
		if !asked && len(want.Reviewers) > 0 && !MemberOf(d.Rights(), want.Reviewers) {
			return &ForbiddenError{d.ReviewerID, fmt.Sprintf("members of %s decide such arguments (%s): deny, and let the agent make that call", strings.Join(want.Reviewers, " or "), want.Rule)}
		}
	}
	return nil
}

// includes reports whether an approval for the demand is one for another: it names the
// same groups or, if an escalation has added some, is of the same rule.
func (d *Demand) includes(want Demand) bool {
	groups := want.Reviewers
	if e := d.Escalation; e != nil && e.EscalatedAt != nil && d.Rule == want.Rule {
		groups = withGroups(groups, e.To)
	}
	return len(groups) == len(d.Reviewers) && len(withGroups(groups, d.Reviewers)) == len(groups)
}

// withGroups returns the groups of both lists, each once.
func withGroups(groups, more []string) []string {
	all := slices.Clone(groups)
	for _, group := range more {
		if !slices.Contains(all, group) {
			all = append(all, group)
		}
	}
	return all
}

// EscalatedAt returns the time of the last escalation of the request or of one of its
// demands; zero if there was none.
func (r *Request) EscalatedAt() (last time.Time) {
	for _, e := range r.escalations() {
		if e != nil && e.EscalatedAt != nil && e.EscalatedAt.After(last) {
			last = *e.EscalatedAt
		}
	}
	return last
}
