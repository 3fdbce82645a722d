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
	Escalation        *Escalation `json:"escalation,omitempty"` // once done, its groups are in Reviewers
}

// OneDecides reports whether one approval by a permitted reviewer is enough.
func (r *Request) OneDecides() bool { return r.RequiredApprovals <= 1 && len(r.Demands) == 0 }

// Approvals returns the decisions that count for one of the request's demands.
func (r *Request) Approvals(demand int) []Decision {
	return slices.DeleteFunc(slices.Clone(r.Decisions), func(d Decision) bool {
		return len(r.Demands) > 0 && !slices.Contains(d.Fills, demand)
	})
}

// ApprovalCount returns the numbers of approvals that a pending request has and needs, as
// a text.
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
	return len(r.Approvals(demand)) < max(r.EffectiveDemands()[demand].RequiredApprovals, 1)
}

// Missing returns the number of approvals that a pending request still needs as a text,
// such as "1 more approval". For a request with demands it names the groups. It is "" if
// none is missing.
func (r *Request) Missing() string {
	var parts []string
	for i, d := range r.EffectiveDemands() {
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

// EffectiveDemands returns the demands of the request. A request whose rules all name
// the same groups has one, made of its own fields.
func (r *Request) EffectiveDemands() []Demand {
	if len(r.Demands) > 0 {
		return r.Demands
	}
	return []Demand{{Rule: r.Rule, Reviewers: r.Reviewers, RequiredApprovals: r.RequiredApprovals, Escalation: r.Details.Escalation}}
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
	for i, demand := range r.EffectiveDemands() {
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

// EscalatedAt returns the time of the last escalation of the request or of one of its
// demands; zero if there was none.
func (r *Request) EscalatedAt() (last time.Time) {
	for _, d := range r.EffectiveDemands() {
		if e := d.Escalation; e != nil && e.EscalatedAt != nil && e.EscalatedAt.After(last) {
			last = *e.EscalatedAt
		}
	}
	return last
}
