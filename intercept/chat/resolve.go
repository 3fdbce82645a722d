package chat

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/notice"
)

// Plan implements [intercept.Codec]. Only an answer with one choice continues; others, and those whose
// calls have the old form, end with a text in place of the calls. After an upstream error no choice
// continues, and after an abort none needs a record.
func (a *answer) Plan(p *intercept.Plan) (resolution intercept.Resolution, err error) {
	if p.Unchanged = !a.out.continuing && len(a.units()) == 0; p.Unchanged {
		return resolution, nil
	}
	if p.Open = a.continues(p); p.Open {
		a.out.open = true
		return a.proceed(a.body.choices[0], p)
	}
	a.out.open = false
	for _, c := range a.body.choices {
		if p.AllDenied(c.units()) {
			c.output.notice = a.closing(c, p)
		}
	}
	switch {
	case p.Aborted != nil:
		a.out.stop(p.Aborted.ModelMessage)
	case !a.body.failed:
		resolution.Hidden, err = a.records(p)
	}
	return resolution, err
}

// continues reports whether another body continues the answer, whose calls were all denied or answered.
func (a *answer) continues(p *intercept.Plan) bool {
	if a.body.failed || !a.continuable() || !p.AllDenied(a.units()) {
		return false
	}
	prior := &a.body.choices[0].output.prior
	return p.MayContinue(a.units(), prior.count, prior.denials, a.limits.MaxContinuations)
}

// continuable reports whether heldcall can continue the answer: it has one choice, and no call of the old form.
func (a *answer) continuable() bool {
	return len(a.body.choices) == 1 && !a.req.several() && !slices.ContainsFunc(a.body.choices[0].calls(), (*call).isLegacy)
}

// closing is the text for the agent in place of the calls of a choice, all of which were denied or answered.
func (a *answer) closing(c *choice, p *intercept.Plan) string {
	switch {
	case a.continuable():
		return p.Denial(c.output.prior.denials)
	case intercept.Denies(c.units()):
		return cmp.Or(p.UserMessage, notice.CallsDenied())
	}
	return notice.NothingWritten()
}

// proceed continues the answer after the calls of its choice were denied or answered.
func (a *answer) proceed(c *choice, p *intercept.Plan) (resolution intercept.Resolution, err error) {
	messages := c.denied(c.ids(a.limits.TurnID))
	stored := len(a.body.json)
	for _, m := range messages {
		stored += len(m)
	}
	if err := p.Store(stored); err != nil {
		return resolution, err
	}
	if a.body.whole {
		c.output.keepReasoning(p)
	}
	c.output.proceed(messages, c.message().audio.speech(), c.units())
	request, err := a.req.extend(c.output.prior.hidden, c.output.prior.free)
	if err != nil {
		return resolution, fmt.Errorf("continue after a denial: %w", err)
	}
	resolution.Next = &request
	return resolution, nil
}
