package messages

import (
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/messages/history"
)

// Plan implements [intercept.Codec].
func (a *answer) Plan(plan *intercept.Plan) error {
	if plan.Unchanged {
		return nil
	}
	denied := plan.AllDenied(a.Calls())
	if plan.Open = denied && plan.MayContinue(a.earlier.count, a.limits.MaxContinuations); !plan.Open {
		plan.Notice = a.notice(plan, denied)
	}
	return nil
}

// notice is the text that the agent reads in a message that lost all its calls.
func (a *answer) notice(plan *intercept.Plan, denied bool) string {
	switch {
	case a.body.progress.failed:
		return ""
	case plan.Aborted != nil:
		return plan.Aborted.ModelMessage
	case denied:
		return plan.Denial(a.earlier.count)
	case a.earlier.count > 0 && a.silent(plan):
		return intercept.CallsDenied()
	}
	return ""
}

// silent reports whether the message would end without text. Providers refuse a message
// in a history that is empty or ends in thinking.
func (a *answer) silent(plan *intercept.Plan) bool {
	if stop := a.body.progress.stop; stop == "pause_turn" || stop == "refusal" {
		return false
	}
	var last *block
	for _, b := range a.body.blocks.list {
		if !plan.Reaches(&b.Unit) {
			continue
		}
		if last = b; b.call != nil {
			return false
		}
	}
	if last != nil {
		return history.IsThinking(last.opened)
	}
	return len(a.earlier.pieces) == 0 || a.earlier.thinking
}

// Conclude implements [intercept.Codec].
func (a *answer) Conclude(plan *intercept.Plan) (intercept.Resolution, error) {
	switch {
	case plan.Unchanged:
		return intercept.Resolution{}, nil
	case plan.Open:
		return a.proceed(plan)
	}
	hidden, err := records(a, plan)
	return intercept.Resolution{Hidden: hidden}, err
}
