package responses

import (
	"fmt"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/responses/history"
	"github.com/tidwall/gjson"
)

// maxContinuations bounds how often an answer goes on for any reason: approvals
// that people give are no denials.
const maxContinuations = 1000

// resolution is the work on what follows from the rulings on one body.
type resolution struct {
	*answer
	plan *intercept.Plan
}

// Plan implements [intercept.Codec].
func (a *answer) Plan(p *intercept.Plan) error {
	a.identify()
	s := resolution{a, p}
	for _, it := range s.calls() {
		if r := it.ruling(); r.Action == intercept.Edit && !it.recalled && !it.call.form.Takes(r.Arguments) {
			return intercept.NotUnderstood("a call of it was changed that cannot be, or to arguments that it cannot have")
		}
	}
	s.remember()
	s.noteMade()
	switch {
	case p.Unchanged:
	case s.continuable():
		s.useOnce()
		p.Open, s.moved = true, true
	default:
		p.Notice = s.notice()
		for _, it := range s.items {
			s.moved = s.moved || !s.reaches(it) || (it.call != nil && it.canonical())
		}
	}
	return nil
}

// Verbatim implements [intercept.Codec].
func (a *answer) Verbatim(p *intercept.Part) bool {
	if p == nil {
		for _, it := range a.items {
			if it.Void {
				return false
			}
		}
	}
	return a.verbatim()
}

// verbatim reports whether events go out as upstream sent them.
func (a *answer) verbatim() bool {
	return a.continuations == 0 && !a.recounted && !a.moved && a.req.After < 0 && a.req.Known.Alias == ""
}

// reaches reports whether the agent gets the item. A question about a hosted tool is
// for heldcall only.
func (s *resolution) reaches(it *item) bool { return s.plan.Reaches(&it.Unit) }

// denies reports whether a call of the turn was denied.
func (s *resolution) denies() bool {
	for _, it := range s.calls() {
		if r, ruled := it.Ruling(); ruled && r.Action == intercept.Deny {
			return true
		}
	}
	return false
}

// allDenied reports whether the turn has calls, and the agent gets none of them.
func (s *resolution) allDenied() bool { return s.plan.AllDenied(s.Calls()) }

// notice is what the agent reads of an answer that lost all its calls.
func (s *resolution) notice() string {
	switch {
	case s.failed || s.req.Verb.Beside() || s.object == nil:
		return ""
	case s.plan.Aborted != nil:
		return s.plan.Aborted.ModelMessage
	case !s.allDenied():
		return ""
	case s.exhausted():
		return s.plan.Denial(s.denials)
	}
	return intercept.CallsDenied()
}

// Conclude implements [intercept.Codec].
func (a *answer) Conclude(p *intercept.Plan) (intercept.Resolution, error) {
	s := resolution{a, p}
	if p.Open {
		return s.proceed()
	}
	return s.settled(s.record())
}

// settled is what follows, with what is remembered of the answer for later
// requests.
func (s *resolution) settled(rec *history.Record) (intercept.Resolution, error) {
	var settled intercept.Resolution
	if id := gjson.Parse(s.head.ID).Str; id != "" && !s.req.Verb.Beside() {
		settled.Refers = append(settled.Refers, id)
	}
	if s.object != nil && s.object.Conversation != "" {
		settled.Refers = append(settled.Refers, s.object.Conversation)
	}
	if rec == nil {
		return settled, s.askedAgain(&settled)
	}
	raw, err := rec.Encode()
	if err != nil {
		return intercept.Resolution{}, fmt.Errorf("describe a hidden turn: %w", err)
	}
	settled.Hidden = [][]byte{raw}
	return settled, nil
}

// askedAgain adds what is remembered for later requests for the same answer.
func (s *resolution) askedAgain(settled *intercept.Resolution) (err error) {
	if rec := s.again(); rec != nil {
		settled.AnswerRecord, err = rec.Encode()
	}
	return err
}
