package policy

import (
	"slices"

	"github.com/heldcall/heldcall/approvals/policy/resource"
	"github.com/heldcall/heldcall/approvals/policy/shell"
)

// judged returns the verdict on a call, and the evaluation from which it follows.
func (p *Policy) judged(c Call) (Verdict, *evaluation) {
	v, e := p.judgedByName(c)
	return e.underOtherNames(v), e
}

// judgedByName is judged by the name of the tool as it is written.
func (p *Policy) judgedByName(c Call) (Verdict, *evaluation) {
	q := newQuestion(p.evaluate(c))
	v := q.rewritten(q.askAboutSecrets(q.judge()))
	v.Limits = q.e.limits(&v)
	v.Unoffered = c.Unoffered
	if straight := q.straightLine(&v); straight != nil {
		then := newQuestion(straight)
		if by := then.rewritten(then.judge()); by.Action == Allow && !by.ByDefault && by.Arguments == "" && len(straight.limits(&by)) == 0 {
			return by, straight
		}
	}
	return v, q.e
}

// straightLine returns the evaluation of a call with the straight line of its script, see
// [shell.Programs.Straight]; nil unless only the default asks about the call. The verdict of that evaluation is used only
// if it allows the call and no limit counts it: a loop repeats commands, but the call counts once.
func (q *question) straightLine(v *Verdict) *evaluation {
	if v.Action != Ask || !v.ByDefault {
		return nil
	}
	return q.e.straightened()
}

// straightened is [question.straightLine] for an evaluation of a call that no rule covers.
func (e *evaluation) straightened() *evaluation {
	if len(e.c.Doubts) > 0 || len(e.c.Call.Secrets) > 0 || !e.c.AnyScript(mayChange) {
		return nil
	}
	known := e.policy.rules.Known
	known.Programs = known.Programs.Straight()
	return &evaluation{policy: e.policy, c: resource.Parse(e.c.Call, &known, parseRules{e.policy}), granted: e.granted}
}

// mayChange reports whether the straight line of a script may have other commands than the script.
func mayChange(s *shell.Script) bool {
	return s.Problem != "" || s.NotSimple != "" || slices.ContainsFunc(s.Commands, func(c *shell.Command) bool {
		return len(c.Words) > 0 && shell.StraightLeavesOut(c.Words[0])
	})
}
