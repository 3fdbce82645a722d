package approvals

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Demand is what rules that name the same groups want of a request which other
// rules ask other groups about: so many approvals by their members.
type Demand struct {
	Rule              string      `json:"rule"`      // file:line of the rule; of several, with commas between
	Reviewers         []string    `json:"reviewers"` // groups
	RequiredApprovals int         `json:"required_approvals"`
	Escalation        *Escalation `json:"escalation,omitempty"` // done: its groups stand in Reviewers
}

// OneDecides reports whether an approval by whoever may decide the request is enough.
func (r *Request) OneDecides() bool { return r.RequiredApprovals <= 1 && len(r.Demands) == 0 }

// Approvals are the decisions so far that count for one of the request's demands.
func (r *Request) Approvals(demand int) []Decision {
	return slices.DeleteFunc(slices.Clone(r.Decisions), func(d Decision) bool {
		return len(r.Demands) > 0 && !slices.Contains(d.Fills, demand)
	})
}

// Tally says how many approvals a request that waits has, and how many it wants.
func (r *Request) Tally() string {
	if len(r.Demands) == 0 {
		return fmt.Sprintf("%d of %d approvals", len(r.Decisions), r.RequiredApprovals)
	}
	parts := make([]string, len(r.Demands))
	for i, d := range r.Demands {
		parts[i] = fmt.Sprintf("%d of %d approvals of %s", len(r.Approvals(i)), d.RequiredApprovals, strings.Join(d.Reviewers, " or "))
	}
	return strings.Join(parts, " and ")
}

// Waits reports whether a demand of the request, by its place, has not all of its
// approvals yet.
func (r *Request) Waits(demand int) bool {
	return len(r.Approvals(demand)) < max(r.demands()[demand].RequiredApprovals, 1)
}

// Missing is the number of approvals that a pending request needs, such as "1 more
// approval"; with demands also of whom. It is "" where none is missing.
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

// Wanted says of each demand, in one line, what it wants and what it has.
func (r *Request) Wanted() []string {
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

// demands are those of the request; one whose rules all name the same groups says
// it in fields of its own.
func (r *Request) demands() []Demand {
	if len(r.Demands) > 0 {
		return r.Demands
	}
	return []Demand{{Rule: r.Rule, Reviewers: r.Reviewers, RequiredApprovals: r.RequiredApprovals, Escalation: r.Details.Escalation}}
}

// SettleDemands makes a new request say of all its demands together who may decide it
// and how many at least have to, and leaves escalations out that add nobody.
func (r *Request) SettleDemands() {
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

// asked are the demands as they were when the request was new.
func (r *Request) asked() []Demand {
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

// CountsFor says for which demands an approval would count, by their places: those of the
// groups that want one more, and have none of this person. again is the reviewer who has
// approved for one of them already and is the same person, "" if there is none.
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

// fill notes for which demands an approval counts. It refuses one that counts for none.
func (r *Request) fill(d *Decision, groups []string) error {
	fills, again := r.CountsFor(d, groups)
	switch {
	case len(fills) > 0:
		if len(r.Demands) > 0 {
			d.Fills = fills
		}
		return nil
	case again == d.ReviewerID:
		return &InvalidError{"reviewer_id", fmt.Sprintf("%s has approved already; %s", again, r.missing())}
	case again != "":
		return &InvalidError{"reviewer_id", fmt.Sprintf("%s has approved already, and %s counts as the same person here; %s", again, d.ReviewerID, r.missing())}
	}
	return &ForbiddenError{d.ReviewerID, "what their groups were asked for is approved already; " + r.missing()}
}

// missing says who else has to approve.
func (r *Request) missing() string {
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

// Filled reports whether every demand has its approvals.
func (r *Request) Filled() bool {
	for i := range r.demands() {
		if r.Waits(i) {
			return false
		}
	}
	return true
}

// wholly refuses a decision that leaves no room for another's, an edit or one for
// always, by who is not in the groups of every demand.
func (r *Request) wholly(d *Decision, groups []string) error {
	for _, demand := range r.Demands {
		if !MemberOf(groups, demand.Reviewers) {
			return &ForbiddenError{d.ReviewerID, fmt.Sprintf("members of %s decide this request too, so use approve or deny", strings.Join(demand.Reviewers, " or "))}
		}
	}
	return nil
}

// Widened refuses an edit that makes a call of it which other rules ask about, unless
// who edits is in their groups and enough for them alone. wants are the demands that
// the edited call would have.
func (r *Request) Widened(d *Decision, wants []Demand) error {
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

// includes reports whether who fills the demand has what another wants: it names the
// same groups or, where others have joined them since, is of the same rule.
func (d *Demand) includes(want Demand) bool {
	groups := want.Reviewers
	if e := d.Escalation; e != nil && e.EscalatedAt != nil && d.Rule == want.Rule {
		groups = withGroups(groups, e.To)
	}
	return len(groups) == len(d.Reviewers) && len(withGroups(groups, d.Reviewers)) == len(groups)
}

// withGroups is a list of groups with those of another that it has not.
func withGroups(groups, more []string) []string {
	all := slices.Clone(groups)
	for _, group := range more {
		if !slices.Contains(all, group) {
			all = append(all, group)
		}
	}
	return all
}

// EscalatedAt is when more groups were last asked about the request, or about a demand
// of it; zero where none were.
func (r *Request) EscalatedAt() (last time.Time) {
	for _, e := range r.escalations() {
		if e != nil && e.EscalatedAt != nil && e.EscalatedAt.After(last) {
			last = *e.EscalatedAt
		}
	}
	return last
}
