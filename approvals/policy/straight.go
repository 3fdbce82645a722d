package policy

import "github.com/heldcall/heldcall/approvals/policy/resource"

// judged returns the verdict on a call, and the evaluation that it is of.
func judged(p *Policy, c Call) (Verdict, *evaluation) {
	q := newQuestion(p.evaluate(c))
	v := q.rewritten(q.askAboutSecrets(q.judge()))
	v.Limits = q.e.limits(&v)
	if straight := q.straightLine(&v); straight != nil {
		then := newQuestion(straight)
		if by := then.rewritten(then.judge()); by.Action == Allow && !by.ByDefault && by.Arguments == "" && len(straight.limits(&by)) == 0 {
			return by, straight
		}
	}
	return v, q.e
}

// straightLine returns the evaluation of a call whose script runs the same commands without branches,
// loops and variables; nil unless no rule covers the call. Its verdict counts only if it allows without a limit: a loop
// repeats a call that is counted once.
func (q *question) straightLine(v *Verdict) *evaluation {
	if v.Action != Ask || !v.ByDefault {
		return nil
	}
	return q.e.straightLine()
}

// straightLine is [question.straightLine] for a call that no rule covers.
func (e *evaluation) straightLine() *evaluation {
	if e.c.Kind != resource.Shell || len(e.c.Doubts) > 0 || len(e.c.Call.Secrets) > 0 {
		return nil
	}
	known := e.policy.rules.Known
	known.Programs = known.Programs.Straight()
	return &evaluation{policy: e.policy, c: resource.Parse(e.c.Call, &known, parseRules{e.policy}), granted: e.granted}
}
