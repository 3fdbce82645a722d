package intercept

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/heldcall/heldcall/intercept/notice"
)

// Plan is the outcome of the rulings for the calls of a body and the answer. With the zero
// value no call reaches the agent.
type Plan struct {
	// Aborted is the ruling that stops the run, nil for none.
	Aborted *Ruling
	// UserMessage is the text for the agent instead of a continuation, "" if there may be
	// one.
	UserMessage string

	// The codec sets:
	Unchanged bool   // the body has no call, and goes out as upstream sent it
	Notice    string // the text for the agent in place of its calls
	Open      bool   // the answer continues: its end is left out

	budget *budget
}

// Reaches reports whether the agent gets a unit.
func (p *Plan) Reaches(u *Unit) bool {
	switch {
	case u.Void || u.Hidden:
		return false
	case !u.Call || u.left:
		return true
	}
	return p.Aborted == nil && u.ruled && (u.ruling.Action == Release || u.ruling.Action == Edit)
}

// Edit returns the arguments that replace those of a call for the agent, if others do.
func (p *Plan) Edit(u *Unit) (arguments string, edited bool) {
	if u == nil || !u.Call || !p.Reaches(u) {
		return "", false
	}
	arguments, edited = u.ruling.ForAgent()
	return arguments, edited
}

// ForAgent returns the arguments that replace those of a call for the agent, if others do.
func (r *Ruling) ForAgent() (arguments string, replaced bool) {
	return cmp.Or(r.Released, r.Arguments), r.Action == Edit || r.Released != ""
}

// Edited returns the arguments that replace those of a call in the conversation, as the
// model reads it, if it is edited.
func (p *Plan) Edited(u *Unit) (arguments string, edited bool) {
	_, edited = p.Edit(u)
	return u.ruling.Arguments, edited && u.ruling.Action == Edit
}

// AllDenied reports whether there are calls and the agent gets none of them.
func (p *Plan) AllDenied(calls []*Unit) bool {
	for _, u := range calls {
		if p.Reaches(u) {
			return false
		}
	}
	return len(calls) > 0
}

// MaxContinuations bounds how often heldcall continues an answer for any reason: answers
// and approvals are not denials.
const MaxContinuations = 1000

// MayContinue reports whether heldcall may continue an answer after these calls. Times is how
// often it has continued the answer, denials how often after a denial, and most the limit of
// these.
func (p *Plan) MayContinue(calls []*Unit, times, denials, most int) bool {
	return p.Aborted == nil && p.UserMessage == "" && times < MaxContinuations && (denials < most || !Denies(calls))
}

// Denies reports whether one of the calls was denied.
func Denies(calls []*Unit) bool {
	return slices.ContainsFunc(calls, func(u *Unit) bool { return u.ruled && u.ruling.Action == Deny })
}

// Frees reports whether the continuation after the calls forces none: one of them was denied,
// or answered so that the model would have to ask again.
func Frees(calls []*Unit) bool {
	return Denies(calls) || slices.ContainsFunc(calls, func(u *Unit) bool { return u.ruled && u.ruling.Free })
}

// Denial is the text for the agent if all calls were denied, after so many denials.
func (p *Plan) Denial(before int) string {
	return cmp.Or(p.UserMessage, notice.TooManyDenials(before+1))
}

// Store counts n bytes that are kept of earlier bodies, and refuses too many.
func (p *Plan) Store(n int) error { return p.budget.store(n) }

// budget bounds the bytes that are kept of an answer; 0 for no limit.
type budget struct {
	max, buffered, stored int
	maxCalls, calls       int // bytes of the input of calls
	errors                int // events of the body that were compared with the request
}

func (b *budget) buffer(n int) error {
	if b.buffered += n; b.max > 0 && b.buffered > b.max {
		return TooLong()
	}
	return nil
}

// call counts n bytes of the input of a call, and refuses more than people can be shown, as soon as they are there.
func (b *budget) call(n int) error {
	if b.calls += n; b.maxCalls > 0 && b.calls > b.maxCalls {
		return NotUnderstood("its calls have more than %d bytes; no more of it is released", b.maxCalls)
	}
	return nil
}

func (b *budget) store(n int) error {
	if b.stored += n; b.max > 0 && b.stored > b.max {
		return TooLong()
	}
	return nil
}

// Resolve takes the rulings, in the order of Calls.
func (a *Answer) Resolve(rulings []Ruling) (Resolution, error) {
	a.plan = Plan{UserMessage: UserMessage(rulings), budget: &a.budget}
	plan := &a.plan
	if err := plan.assign(a.pending(), rulings); err != nil {
		return Resolution{}, err
	}
	resolution, err := a.codec.Plan(plan)
	if err != nil {
		return Resolution{}, err
	}
	if resolution.Bytes, err = a.render(plan); err != nil {
		return Resolution{}, err
	}
	a.continued = a.continued || plan.Open
	return resolution, nil
}

// assign gives each of the calls its ruling.
func (p *Plan) assign(calls []*Unit, rulings []Ruling) error {
	if len(rulings) != len(calls) {
		return fmt.Errorf("%d rulings for %d calls", len(rulings), len(calls))
	}
	for i, u := range calls {
		if u.Rule(rulings[i]); rulings[i].Action == Abort && p.Aborted == nil {
			p.Aborted = &rulings[i]
		}
	}
	return nil
}

// render returns what the agent gets now.
func (a *Answer) render(plan *Plan) ([]byte, error) {
	switch {
	case plan.Unchanged:
		if a.body.Form() == FormWhole {
			return a.body.Rest(), nil
		}
		return a.kept.Bytes(), nil
	case a.body.Kind() != FormWhole:
		out, err := a.kept.Render(a.rewrite)
		if err != nil {
			return nil, err
		}
		return a.framed(out, a.codec.Notice(plan)), nil
	case plan.Open:
		return nil, nil
	}
	p := Part{Bytes: a.body.Rest(), Whole: true, answer: a}
	p.Payloads = [][]byte{a.body.json.value(p.Bytes)}
	events, err := a.codec.Rewrite(&p, plan)
	if err != nil {
		return nil, err
	}
	return a.rendered(&p, events), nil
}

// rewrite returns a held part as the agent gets it.
func (a *Answer) rewrite(part []byte, of heldPart) ([]byte, error) {
	p := Part{Bytes: part, answer: a, units: of.units}
	if err := a.body.frame().Parse(&p); err != nil {
		return nil, err
	}
	events, err := a.codec.Rewrite(&p, &a.plan)
	if err != nil {
		return nil, err
	}
	return a.rendered(&p, events), nil
}
