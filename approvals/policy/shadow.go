package policy

import (
	"github.com/heldcall/heldcall/approvals"
)

// Shadow is a policy that is tried out: it judges, and lets everything pass as it
// is. The action of the policy is in the verdict's Shadowed.
type Shadow struct{ *Policy }

// Judge allows a call and reports what the policy would have done with it.
func (s Shadow) Judge(c Call) Verdict { return shadowed(s.Policy.Judge(c)) }

// JudgeHosted allows a hosted tool and reports what the policy would have done.
func (s Shadow) JudgeHosted(principal approvals.Principal, name string) Verdict {
	return shadowed(s.Policy.JudgeHosted(principal, name))
}

func shadowed(v Verdict) Verdict {
	if v.Action != Allow {
		v.Shadowed, v.Action = v.Action, Allow
	}
	v.Arguments, v.RewrittenBy = "", ""
	for i := range v.Limits {
		v.Limits[i].shadowed = true
	}
	return v
}
