package intercept

import (
	"errors"
	"slices"
)

// A call of a stream leaves before the end of the answer if the turn releases it when it is complete: [Answer.Ready] lists the
// next calls for which that is possible, and [Answer.Release] lets them leave, in the form in which they would leave at the
// end. What waits for other calls stays, and so does the end of the answer. After [Answer.Wait] all calls stay.

// Completed takes the mark that nothing of a call follows. If more of it comes after the call has left, the answer ends with
// an error.
func (p *Part) Completed(u *Unit) {
	if !u.complete {
		u.complete, p.answer.ripe = true, true
	}
}

// Left reports whether calls of the body have left before its end.
func (p *Part) Left() bool { return len(p.answer.left) > 0 }

// Left reports whether the call has left before the end of the answer.
func (u *Unit) Left() bool { return u.left }

// Ripe reports whether a call has become complete since the last [Answer.Ready], before the end of the answer.
func (a *Answer) Ripe() bool { return a.ripe && !a.waits && !a.complete && !a.continued }

// Ready lists the next calls that may leave: complete, without doubts, and with nothing before them that waits. Most often it
// is one call; those of one event leave together.
func (a *Answer) Ready() (list []Call) {
	a.ripe = false
	_, units := a.ready()
	for _, u := range units {
		call := a.codec.Call(u)
		if len(call.Ambiguous) > 0 { // it may still become whole: it is judged again at the end
			a.Wait()
			return nil
		}
		list = append(list, call)
	}
	return list
}

// Wait makes all further calls of the body wait for its end.
func (a *Answer) Wait() { a.waits = true }

// Release lets the calls of [Answer.Ready] leave unchanged, and returns the bytes for the agent. More calls may be ready then.
func (a *Answer) Release() ([]byte, error) {
	parts, units := a.ready()
	if len(units) == 0 {
		return nil, errors.New("no call may leave before the end of the answer")
	}
	for _, u := range units {
		u.Rule(Ruling{Action: Release})
	}
	a.plan = Plan{budget: &a.budget}
	out, err := a.kept.Cut(parts, a.rewrite)
	if err != nil {
		return nil, err
	}
	for _, u := range units {
		u.left = true
	}
	a.left, a.ripe = append(a.left, units...), true
	a.Forget() // more of the calls is read by the decoder
	return out, nil
}

// ReleaseFirst lets the first n calls of a body leave that were released before: the same stream is read again. Call it before
// [Answer.End].
func (a *Answer) ReleaseFirst(n int) (out []byte, err error) {
	for len(a.left) < n {
		more, err := a.Release()
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	if len(a.left) > n {
		return nil, errors.New("other calls have left before the end of the answer")
	}
	return out, nil
}

// Left lists the calls of the body that have left before its end.
func (a *Answer) Left() (list []Call) {
	for _, u := range a.left {
		call := a.codec.Call(u)
		call.Ambiguous = nil // when it left
		list = append(list, call)
	}
	return list
}

// ready returns the calls that may leave, and how many held parts leave with them: those of the calls, and those after them
// that are of no other call.
func (a *Answer) ready() (parts int, units []*Unit) {
	last := a.lastParts()
	end := -1 // the last part of the calls
	for i := range a.kept.Len() {
		part := a.kept.Of(i)
		if part.waits {
			break
		}
		for _, u := range part.units {
			switch {
			case !u.isCall() || u.left || slices.Contains(units, u):
			case len(units) > 0 && i > end:
				return i, units
			case !u.complete || u.Hidden || !u.pending():
				return 0, nil
			default:
				units, end = append(units, u), max(end, last[u])
			}
		}
		parts = i + 1
	}
	if parts <= end || len(units) == 0 {
		return 0, nil
	}
	return parts, units
}

// lastParts returns the last held part of each unit.
func (a *Answer) lastParts() map[*Unit]int {
	last := make(map[*Unit]int)
	for i := range a.kept.Len() {
		for _, u := range a.kept.Of(i).units {
			last[u] = i
		}
	}
	return last
}

// checkLeft refuses what makes a call doubtful that has left.
func (a *Answer) checkLeft() error {
	for _, u := range a.left {
		if len(u.Ambiguities) > 0 {
			return changedAfterRelease()
		}
	}
	return nil
}

// changedAfterRelease is the error for what makes another call of one that has left.
func changedAfterRelease() *Error {
	return &Error{Code: CodeAnswerNotUnderstood, Reason: "the upstream's answer is not understood: it changes a call, or has more of it, after the call was complete and was released; the rest of the answer is not released"}
}

// Extends takes more of a call, n bytes, that is complete: an error if the call has left.
func (u *Unit) Extends(n int) error {
	if u.left && n > 0 {
		return changedAfterRelease()
	}
	return nil
}
