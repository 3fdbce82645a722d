package responses

import (
	"cmp"
	"fmt"

	"github.com/heldcall/heldcall/intercept"
	"github.com/tidwall/gjson"
)

// maxContinuations bounds how often an answer goes on for any reason: approvals
// that people give are no denials.
const maxContinuations = 1000

// Settle implements [intercept.Answer].
func (a *answer) Settle(rulings []intercept.Ruling) (intercept.Settlement, error) {
	pending := a.pending()
	a.identify()
	s := settling{answer: a, fates: make(map[*item]intercept.Ruling, len(pending)), ends: intercept.Ends(rulings)}
	for _, it := range a.calls() {
		if r := it.call.known; r != nil {
			s.fates[it] = *r
			if r.Fate == intercept.Abort {
				s.aborted = r
			}
		}
	}
	var err error
	if s.aborted, err = intercept.Assign(s.fates, pending, rulings); err != nil {
		return intercept.Settlement{}, err
	}
	for i, it := range pending {
		if rulings[i].Fate == intercept.Edit && !it.call.form.takes(rulings[i].Arguments) {
			return intercept.Settlement{}, intercept.NotUnderstood("a call of it was changed that cannot be, or to arguments that it cannot have")
		}
	}
	return s.run()
}

// settling is the work of one Settle.
type settling struct {
	*answer
	fates   map[*item]intercept.Ruling
	aborted *intercept.Ruling
	ends    string // what the agent reads instead of a continuation, "" where there may be one
	plan    plan
}

func (s *settling) run() (intercept.Settlement, error) {
	s.remember()
	s.noteMade()
	if s.aborted == nil && s.unchanged() && s.verbatim() {
		return s.settled(s.asItCame(), s.record())
	}
	if err := s.brokenCall(); err != nil {
		return intercept.Settlement{}, err
	}
	if s.continuable() {
		return s.proceed()
	}
	return s.finish()
}

// unchanged reports whether every call goes on as the model made it.
func (s *settling) unchanged() bool {
	for _, it := range s.items {
		if it.void || it.call != nil && it.call.canonical() {
			return false
		}
	}
	for it, r := range s.fates {
		if r.Fate != intercept.Release || it.call.form.typ == approvalRequest {
			return false
		}
	}
	return true
}

// planned is what is left of a part by the plan.
func (s *settling) planned(part []byte, items []*item) ([]byte, error) {
	return s.recast(part, items, &s.plan)
}

func (s *settling) asItCame() []byte { return s.upstream.AsItCame(s.kept.Bytes()) }

// brokenCall refuses to go on when a call whose beginning has reached the agent
// would have to change.
func (s *settling) brokenCall() error {
	for it, r := range s.fates {
		if it.call.broken && (s.aborted != nil || r.Fate != intercept.Release) {
			return intercept.NotUnderstood("a call of a tool that is allowed by name was not released, after its beginning had passed")
		}
	}
	return nil
}

// reaches reports whether the agent gets the item.
func (s *settling) reaches(it *item) bool {
	switch c := it.call; {
	case it.void:
		return false
	case c == nil || c.passed:
		return true
	case s.aborted != nil || c.form.typ == approvalRequest:
		return false
	}
	fate := s.fates[it].Fate
	return fate == intercept.Release || fate == intercept.Edit
}

// denies reports whether a call of the turn was denied.
func (s *settling) denies() bool {
	for _, r := range s.fates {
		if r.Fate == intercept.Deny {
			return true
		}
	}
	return false
}

// withheld reports whether the turn has calls, and the agent gets none of them.
func (s *settling) withheld() bool {
	calls := s.calls()
	for _, it := range calls {
		if s.reaches(it) {
			return false
		}
	}
	return len(calls) > 0
}

// finish ends the answer: the agent gets what was kept, edited or not, and a word
// about what was not where nothing else would be left.
func (s *settling) finish() (intercept.Settlement, error) {
	s.plan = s.finalPlan()
	for _, it := range s.items {
		s.moved = s.moved || !s.reaches(it) || it.call != nil && it.call.canonical()
	}
	var out []byte
	var err error
	if s.upstream.Kind() == intercept.FormWhole {
		out, err = s.finishWhole()
	} else {
		out, err = s.finishStream()
	}
	if err != nil {
		return intercept.Settlement{}, err
	}
	return s.settled(out, s.record())
}

func (s *settling) finalPlan() plan {
	p := plan{drop: func(it *item) bool { return !s.reaches(it) }, edits: make(map[*item]string), note: s.lastWord()}
	for it, r := range s.fates {
		if r.Fate == intercept.Edit && s.aborted == nil {
			p.edits[it] = r.Arguments
		}
	}
	return p
}

// lastWord is what the agent reads of an answer that lost all its calls.
func (s *settling) lastWord() string {
	switch {
	case s.failed || s.req.verb.beside() || s.object == nil:
		return ""
	case s.aborted != nil:
		return s.aborted.Told
	case !s.withheld():
		return ""
	case s.exhausted():
		return cmp.Or(s.ends, intercept.TooManyDenials(s.denials+1))
	}
	return "The tool calls of this answer were denied and not run. Please tell me how to go on."
}

// settled is what follows, with what is remembered of the answer for later
// requests.
func (s *settling) settled(out []byte, rec *record) (intercept.Settlement, error) {
	settled := intercept.Settlement{Bytes: out}
	if id := gjson.Parse(s.head.id).Str; id != "" && !s.req.verb.beside() {
		settled.Refers = append(settled.Refers, id)
	}
	if s.object != nil && s.object.conversation != "" {
		settled.Refers = append(settled.Refers, s.object.conversation)
	}
	if rec == nil {
		return settled, s.askedAgain(&settled)
	}
	raw, err := rec.encode()
	if err != nil {
		return intercept.Settlement{}, fmt.Errorf("describe a hidden turn: %w", err)
	}
	settled.Hidden = [][]byte{raw}
	return settled, nil
}

// askedAgain adds what is remembered for whoever asks for the same answer.
func (s *settling) askedAgain(settled *intercept.Settlement) (err error) {
	if rec := s.again(); rec != nil {
		settled.Again, err = rec.encode()
	}
	return err
}
