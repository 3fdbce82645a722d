package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/rule"
)

// Together returns the verdict on parts that are released as one: the strictest action and
// settings, with the demands of every part. Rule and reason are of the first of the strictest
// parts. There must be a part.
func Together(parts ...Verdict) Verdict {
	all := parts[0]
	for _, part := range parts {
		if strictness(part.Said()) > strictness(all.Said()) {
			all = part
		}
	}
	all.Limits, all.Grants, all.Effects, all.Flags, all.Folder = nil, nil, nil, slices.Clone(all.Flags), ""
	var resources, previews []string
	for i := range parts {
		part := &parts[i]
		all.Limits = append(all.Limits, part.Limits...)
		all.Effects = append(all.Effects, part.Effects...)
		all.Risk = rule.Strictest(all.Risk, part.Risk)
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
			resources, previews = append(resources, part.Resource), append(previews, part.Preview)
		}
	}
	if len(resources) > 1 {
		all.Resource = strings.Join(resources, "; ")
		all.Preview = match.Preview(strings.Join(previews, "; "))
		all.Title, all.Suggested, all.AllowRemember = "", nil, false
	}
	return all
}

func strictness(a Action) int {
	return slices.Index([]Action{Allow, Ask, Deny}, a)
}

// askToo makes a verdict as strict as that on another part that needs approval.
func (v *Verdict) askToo(w *Verdict) {
	if v.Said() != Ask {
		return
	}
	if w.Reason != v.Reason || w.Rule != v.Rule {
		v.flag(fmt.Sprintf("%s (%s)", w.Reason, w.Rule))
	}
	v.ByDefault, v.Window = v.ByDefault && w.ByDefault, v.Window && w.Window
	v.DenyOnly = v.DenyOnly || w.DenyOnly
	v.AllowRemember, v.Confirm, v.Passkey = v.AllowRemember && w.AllowRemember, v.Confirm || w.Confirm, v.Passkey || w.Passkey
	if v.OnTimeout == approvals.OnTimeoutApprove && w.OnTimeout == approvals.OnTimeoutApprove {
		v.Timeout = max(v.Timeout, w.Timeout)
	} else {
		v.Timeout = min(v.Timeout, w.Timeout)
	}
	if w.OnTimeout != approvals.OnTimeoutApprove {
		v.OnTimeout = w.OnTimeout
	}
	v.want(append(v.wants(), w.wants()...))
}
