package watch

import (
	"errors"

	tea "charm.land/bubbletea/v2"

	"github.com/heldcall/heldcall/approvals"
)

func (v *review) beginAnswering(r *approvals.Request) {
	switch {
	case !v.mayDecide(r, false):
	case r.Asks() && len(r.Details.Questions) == 0: // abridged
		v.notice = "The question is loading."
	case r.Kind == approvals.KindResult:
		v.notice = "A result is not answered in words: approve, edit or deny it."
	default:
		v.question.ask(answering)
		v.question.form = newForm(r)
	}
}

func (v *review) typeAnswer(r *approvals.Request, key tea.KeyPressMsg) tea.Cmd {
	f := &v.question.form
	name := key.String()
	switch {
	case name == "esc":
		v.question.ask(browsing)
		v.notice = ""
	case name == "ctrl+s" && f.asksSecrets():
		f.save, f.sent = !f.save, false
	case name == "enter" && f.isEnd():
		if v.mayDecide(r, false) {
			v.question.turn(f.at)
			f.sent = true
			return v.send(r, f.decision(r))
		}
	case name == "enter", name == "tab" && f.several():
		v.question.turn(f.at + 1)
		v.notice = ""
	case name == "shift+tab":
		v.question.turn(f.at - 1)
		v.notice = ""
	case name == "up", name == "down", name == "pgup", name == "pgdown":
		v.pager.scroll(key, v.bodyHeight(r))
	case !f.isSummary():
		f.sent = false
		v.question.typed(key)
	}
	return nil
}

// turn shows another entry of the form.
func (q *question) turn(to int) { q.input = q.form.turn(q.input, to) }

// refused shows the entry of the form that the console does not accept, and returns the
// reason. It reports whether there is such an entry.
func (q *question) refused(err error) (reason string, ok bool) {
	var invalid *approvals.InvalidError
	if q.mode != answering || !errors.As(err, &invalid) {
		return "", false
	}
	at := q.form.find(invalid.Field)
	if at < 0 {
		return "", false
	}
	q.turn(at)
	return invalid.Reason, true
}
