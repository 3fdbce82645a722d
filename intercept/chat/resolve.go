package chat

import "github.com/heldcall/heldcall/intercept"

// Plan implements [intercept.Codec]: it decides of each choice of the body whether it
// goes on, and if not, what the agent reads in it and what is remembered of it. After
// an error of upstream's none goes on.
func (a *answer) Plan(p *intercept.Plan) error {
	if p.Unchanged {
		return nil
	}
	for _, c := range a.choices {
		if a.mayContinue(c, p) {
			if err := a.tell(c, p); err != nil {
				return err
			}
			continue
		}
		c.output.notice = a.notice(c, p)
		if err := a.remember(c, p); err != nil {
			return err
		}
	}
	if p.Aborted != nil {
		a.stop(p)
	}
	a.open = !a.failed && a.unfinished() != nil
	p.Open = a.open
	return nil
}

// mayContinue reports whether heldcall continues a choice by itself: its calls were
// all denied, its end has not gone out, and no bound is reached.
func (a *answer) mayContinue(c *choice, p *intercept.Plan) bool {
	l := c.output
	return !a.failed && !l.finish && p.MayContinue(l.turns, a.limits.MaxContinuations) && p.AllDenied(c.units())
}

// notice is what the agent reads in a choice that lost all its calls and does not go
// on. Nothing can follow an end that has gone out.
func (a *answer) notice(c *choice, p *intercept.Plan) string {
	if c.output.finish || !p.AllDenied(c.units()) {
		return ""
	}
	return p.Denial(c.output.turns)
}

// stop ends every choice that has not ended, because the run was stopped. It is
// over, so nothing need be remembered of it.
func (a *answer) stop(p *intercept.Plan) {
	for _, l := range a.outputs {
		if l.continues = false; !l.finish {
			l.notice = p.Aborted.ModelMessage
		}
	}
	a.records = nil
}

// Verbatim implements [intercept.Codec].
func (a *answer) Verbatim(p *intercept.Part) bool {
	if p != nil {
		return a.failed || (a.continuing == nil && !a.batch.uneven)
	}
	held, uneven := false, false
	for _, c := range a.choices {
		uneven = uneven || a.uneven(c)
		for _, call := range c.calls() {
			held = held || !call.Passed()
		}
	}
	return a.continuing == nil && !(held && uneven)
}

// Conclude implements [intercept.Codec].
func (a *answer) Conclude(p *intercept.Plan) (intercept.Resolution, error) {
	switch {
	case p.Unchanged:
		return intercept.Resolution{}, nil
	case p.Open:
		return a.proceed(a.unfinished(), p)
	}
	return intercept.Resolution{Hidden: a.records}, nil
}
