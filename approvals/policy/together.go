package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals"
)

// Together is the verdict on what is released as one, from the verdicts on its parts:
// the strictest action and, where people are asked, the strictest of each setting. It
// reads as the first of the strictest parts does, whose rule it names. Parts that
// different groups of reviewers decide cannot be asked about as one: they are denied.
// There must be a part.
func Together(parts ...Verdict) Verdict {
	all := parts[0]
	for _, part := range parts {
		if strictness(part.Said()) > strictness(all.Said()) {
			all = part
		}
	}
	all.Limits, all.Grants, all.Flags = nil, nil, slices.Clone(all.Flags)
	var resources []string
	for i := range parts {
		part := &parts[i]
		all.Limits = append(all.Limits, part.Limits...)
		all.Risk = strictest(all.Risk, part.Risk)
		for _, flag := range part.Flags {
			all.flag(flag)
		}
		switch said := part.Said(); {
		case said == Ask:
			all.askToo(part)
		case said == all.Said():
			all.Grants = append(all.Grants, part.Grants...)
		}
		if !slices.Contains(resources[max(len(resources)-1, 0):], part.Resource) {
			resources = append(resources, part.Resource)
		}
	}
	if len(resources) > 1 {
		all.Resource = strings.Join(resources, "; ")
		all.Preview = preview(all.Resource)
		all.Title, all.Suggested, all.AllowRemember = "", nil, false
	}
	return all
}

// strictness is how much an action holds a call back.
func strictness(a Action) int { return slices.Index([]Action{Allow, Ask, Deny}, a) }

// askToo makes a verdict as strict as that on another part that people are asked
// about.
func (v *Verdict) askToo(w *Verdict) {
	if v.Said() != Ask {
		return
	}
	if w.Reason != v.Reason || w.Rule != v.Rule {
		v.flag(fmt.Sprintf("%s (%s)", w.Reason, w.Rule))
	}
	v.RequiredApprovals = max(v.RequiredApprovals, w.RequiredApprovals)
	v.AllowRemember = v.AllowRemember && w.AllowRemember
	v.Timeout = min(v.Timeout, w.Timeout)
	if w.OnTimeout != approvals.OnTimeoutApprove {
		v.OnTimeout = w.OnTimeout
	}
	v.reviewToo(w)
}

// reviewToo adds who has to review the other part.
func (v *Verdict) reviewToo(w *Verdict) {
	switch {
	case len(w.Reviewers) == 0:
	case len(v.Reviewers) == 0:
		v.Reviewers, v.Escalate = w.Reviewers, w.Escalate
	case !sameGroups(v.Reviewers, w.Reviewers):
		v.Reason = fmt.Sprintf("Its parts are decided by different reviewers (%s; %s), so they have to be called one by one.",
			strings.Join(v.Reviewers, ", "), strings.Join(w.Reviewers, ", "))
		v.Denial = nil
		if v.Shadowed != "" {
			v.Shadowed = Deny
		} else {
			v.Action = Deny
		}
	case v.Escalate.compare(w.Escalate) != 0:
		v.Escalate = Escalation{} // who else may decide one part may not decide the other
	}
}

func sameGroups(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// flag warns the reviewer, once.
func (v *Verdict) flag(text string) {
	if !slices.Contains(v.Flags, text) {
		v.Flags = append(v.Flags, text)
	}
}
