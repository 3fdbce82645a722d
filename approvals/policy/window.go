package policy

import (
	"fmt"
	"slices"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/rule"
	"github.com/heldcall/heldcall/approvals/policy/shell"
)

// throughWindow returns the verdict on a call that people would be asked about because no rule
// allows it: it passes if a trust window covers it and is open for its run. Calls that rules ask about never get here.
func (q *question) throughWindow(v Verdict) Verdict {
	if v.Window = q.windowCovers(&v); !v.Window {
		return v
	}
	w := q.e.window()
	if w == nil {
		return v
	}
	return q.verdict(rule.Basis{Action: Allow, Rule: "grant " + w.grant.ID, Risk: v.Risk, Reason: reasonOfWindow(&w.grant), Grants: []string{w.grant.ID}})
}

// windowCovers reports whether a trust window covers the call: it is known to do nothing but read and write in the
// workspace.
func (q *question) windowCovers(v *Verdict) bool {
	c := q.c.Call
	switch {
	case v.Risk == approvals.RiskCritical, !contained(q.c, v.Effects), !q.c.Places.Within():
	case c.Unoffered != "", c.Tainted, c.Fixed, len(c.Secrets) > 0: // unknown, of others, elsewhere, or with the value of a secret
	case q.denied.match != match.No, q.c.Tool != nil && q.c.Tool.Fallback == Ask:
	case q.c.AnyScript(func(s *shell.Script) bool { return s.Compound != "" }): // a loop repeats what the call shows once
	case q.e.policy.rules.Rewrite.AnyFor(c.Tool, q.c.Kind): // what would run is another call
	default:
		return true
	}
	return false
}

// window returns the trust window that is open for the run of the call, or nil.
func (e *evaluation) window() *CompiledGrant {
	for _, set := range e.granted {
		open := func(w *CompiledGrant) bool { return w.isOpenFor(&e.c.Call) }
		if i := slices.IndexFunc(set.windows, open); i >= 0 {
			return set.windows[i]
		}
	}
	return nil
}

// isOpenFor reports whether a grant for one run is in force for a call.
func (c *CompiledGrant) isOpenFor(call *Call) bool {
	return c.grant.RunID == call.Run && call.Run != "" && !call.Now.IsZero() && c.grant.ExpiresAt != nil && !c.grant.Expired(call.Now)
}

func reasonOfWindow(g *approvals.Grant) string {
	return fmt.Sprintf("A trust window of %s, open until %s, allows reads and writes in the workspace.", match.Visible(g.GrantedBy), g.ExpiresAt.UTC().Format(time.RFC3339))
}
