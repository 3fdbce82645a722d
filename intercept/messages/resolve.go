package messages

import "github.com/heldcall/heldcall/intercept"

// Plan implements [intercept.Codec].
func (a *answer) Plan(p *intercept.Plan) error {
	if !p.Unchanged {
		denied := p.AllDenied(a.Calls())
		if p.Open = denied && p.MayContinue(a.continuations, a.limits.MaxContinuations); !p.Open {
			p.Notice = a.notice(p, denied)
		}
	}
	return nil
}

// notice is what the agent reads in a message that lost all its calls.
func (a *answer) notice(p *intercept.Plan, denied bool) string {
	switch {
	case a.failed:
		return ""
	case p.Aborted != nil:
		return p.Aborted.ModelMessage
	case denied:
		return p.Denial(a.continuations)
	case a.continuations > 0 && a.silent(p):
		return intercept.CallsDenied()
	}
	return ""
}

// silent reports whether the message would end without a word: providers do not
// take it back if it is empty or ends in thinking.
func (a *answer) silent(p *intercept.Plan) bool {
	if a.stop == "pause_turn" || a.stop == "refusal" {
		return false
	}
	for _, b := range a.blocks {
		if b.call != nil && p.Reaches(&b.Unit) {
			return false
		}
	}
	for i := len(a.blocks) - 1; i >= 0; i-- {
		if b := a.blocks[i]; p.Reaches(&b.Unit) {
			return thinks(b.opened)
		}
	}
	return a.base == 0 || a.thinking
}

// Verbatim implements [intercept.Codec].
func (a *answer) Verbatim(p *intercept.Part) bool {
	if p == nil {
		return !a.recasts() && !a.misnumber
	}
	return !a.recasts() || a.failed
}

// Conclude implements [intercept.Codec].
func (a *answer) Conclude(p *intercept.Plan) (intercept.Resolution, error) {
	switch {
	case p.Unchanged:
		return intercept.Resolution{}, nil
	case p.Open:
		return a.proceed(p)
	}
	hidden, err := a.records(p)
	return intercept.Resolution{Hidden: hidden}, err
}
