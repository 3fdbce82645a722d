package responses

import (
	"slices"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/notice"
	"github.com/tidwall/gjson"
)

// resolution is the work on what follows from the rulings on one body.
type resolution struct {
	answer *answer
	req    *request
	body   *body
	prior  *priorTurns
	plan   *intercept.Plan
}

// resolution is the work on what follows from the rulings of a plan.
func (a *answer) resolution(p *intercept.Plan) *resolution {
	return &resolution{answer: a, req: a.req, body: &a.body, prior: &a.prior, plan: p}
}

// Plan implements [intercept.Codec].
func (a *answer) Plan(p *intercept.Plan) (intercept.Resolution, error) {
	p.Unchanged = len(a.body.calls()) == 0 && a.unchanged()
	a.body.identify(a.limits.TurnID, len(a.prior.rounds))
	s := a.resolution(p)
	for _, it := range a.body.calls() {
		r := it.ruling()
		if replaced, replaces := r.ForAgent(); replaces && !it.recalled && !it.call.form.takes(replaced) {
			return intercept.Resolution{}, intercept.NotUnderstood("a call of it was changed that cannot be, or to arguments that it cannot have")
		}
	}
	a.prior.rule(a.body.calls())
	a.prior.addHosted(a.body.items)
	switch {
	case p.Unchanged:
	case s.continues():
		s.withdrawUsed()
		p.Open = true
		a.out.leaveOut(true, false)
		return s.proceed()
	default:
		p.Notice = s.notice()
		a.out.leaveOut(slices.ContainsFunc(a.body.items, func(it *item) bool { return !s.reaches(it) || it.call != nil }), false)
	}
	return s.resolved(s.record())
}

// reaches reports whether the agent gets the item. It never gets a question about a
// hosted tool.
func (s *resolution) reaches(it *item) bool { return s.plan.Reaches(&it.Unit) }

// denies reports whether a call of the turn was denied.
func (s *resolution) denies() bool { return intercept.Denies(s.answer.units()) }

// answers reports whether heldcall has answered all calls of the turn.
func (s *resolution) answers() bool {
	return !slices.ContainsFunc(s.body.calls(), func(it *item) bool { return it.ruling().Action != intercept.Answered })
}

// allDenied reports whether the turn has calls, and the agent gets none of them.
func (s *resolution) allDenied() bool { return s.plan.AllDenied(s.answer.units()) }

// notice is the text that the agent gets in place of calls that were all denied.
func (s *resolution) notice() string {
	switch {
	case s.body.failed || s.req.operation.isAuxiliary() || s.body.object == nil:
		return ""
	case s.plan.Aborted != nil:
		return s.plan.Aborted.ModelMessage
	case !s.allDenied():
		return ""
	case s.exhausted():
		return s.plan.Denial(s.prior.denials)
	}
	return notice.CallsDenied()
}

// resolved is the resolution with the record of the answer for later requests, nil for
// none.
func (s *resolution) resolved(rec *answerRecord) (r intercept.Resolution, err error) {
	if id := gjson.Parse(s.answer.out.head.id).Str; id != "" && !s.req.operation.isAuxiliary() {
		r.Refers = append(r.Refers, id)
	}
	if o := s.body.object; o != nil && o.conversation != "" {
		r.Refers = append(r.Refers, o.conversation)
	}
	if rec == nil {
		if again := s.repeatRecord(); again != nil {
			r.AnswerRecord, err = intercept.EncodeRecord(again)
		}
		return r, err
	}
	raw, err := intercept.EncodeRecord(rec)
	r.Hidden = [][]byte{raw}
	return r, err
}
