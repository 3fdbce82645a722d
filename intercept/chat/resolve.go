package chat

import (
	"fmt"

	"github.com/heldcall/heldcall/intercept"
)

// Plan implements [intercept.Codec].
func (a *answer) Plan(p *intercept.Plan) (resolution intercept.Resolution, err error) {
	if p.Unchanged = a.out.continuing == nil && len(a.units()) == 0; p.Unchanged {
		return resolution, nil
	}
	if err := a.planChoices(p); err != nil {
		return resolution, err
	}
	return a.resolution(p)
}

// planChoices decides whether each choice of the body continues, and if not, which notice and
// which record it gets. After an upstream error no choice continues, and after an abort none
// needs a record.
func (a *answer) planChoices(p *intercept.Plan) error {
	for _, c := range a.body.choices {
		l := c.output
		lost := p.AllDenied(c.units())
		if lost && !a.body.failed && p.MayContinue(c.units(), l.prior.count, l.prior.denials, a.limits.MaxContinuations) {
			if err := a.proceed(c, p); err != nil {
				return err
			}
			continue
		}
		if lost {
			l.close(p)
		}
		if p.Aborted == nil && !a.body.failed {
			if err := a.records.add(c, p); err != nil {
				return err
			}
		}
	}
	if p.Aborted != nil {
		a.out.stop(p.Aborted.ModelMessage)
	}
	p.Open = a.out.plan(a.body.failed)
	return nil
}

// proceed lets a choice continue after its calls were denied or answered.
func (a *answer) proceed(c *choice, p *intercept.Plan) error {
	messages := c.denied(c.ids(a.limits.TurnID))
	for _, m := range messages {
		if err := p.Store(len(m)); err != nil {
			return err
		}
	}
	if a.body.whole {
		c.output.keepReasoning(p)
	}
	c.output.proceed(messages, c.message().audio.speech(), c.units())
	return nil
}

// resolution is the resolution of a plan. A whole answer keeps its records until it is
// complete: only then does the agent get any of it.
func (a *answer) resolution(p *intercept.Plan) (resolution intercept.Resolution, err error) {
	if p.Aborted != nil {
		return resolution, nil
	}
	if !p.Open || !a.body.whole {
		resolution.Hidden = a.records.list
	}
	if !p.Open {
		return resolution, nil
	}
	if err := p.Store(len(a.body.json)); err != nil {
		return resolution, err
	}
	next := a.out.unfinished()
	request, err := a.records.req.extend(next.prior.hidden, next.prior.free)
	if err != nil {
		return resolution, fmt.Errorf("continue after a denial: %w", err)
	}
	a.next, resolution.Next = next, &request
	return resolution, nil
}
