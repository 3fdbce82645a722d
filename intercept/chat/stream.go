package chat

import "github.com/heldcall/heldcall/intercept"

// ref ties a fragment to its call.
type ref struct {
	call   *call
	opened bool
}

func (a *answer) holding() bool { return a.kept.Len() > 0 }

// hold keeps a part back.
func (a *answer) hold(part []byte, refs []ref) error {
	return a.kept.Hold(part, refs, a.limits.MaxBytes)
}

// endStream takes a last part without a blank line, and looks whether the
// stream ended where it may.
func (a *answer) endStream(framed bool) ([]byte, error) {
	if rest := a.upstream.Rest(); len(rest) > 0 {
		if err := a.part(rest, true); err != nil {
			return a.out.Take(), err
		}
		if !a.holding() {
			a.unended = intercept.Unended(rest)
		}
	}
	if !a.ended(framed) {
		return a.out.Take(), intercept.Cut()
	}
	return a.out.Take(), nil
}

// ended reports whether the stream has its API's own end. Without calls that of the
// body is enough, where its framing said so.
func (a *answer) ended(framed bool) bool {
	if a.done || a.failed || a.finished() {
		return true
	}
	for _, c := range a.choices {
		framed = framed && (c.announced || len(c.calls()) == 0)
	}
	return framed
}

// finished reports whether every choice has announced its end.
func (a *answer) finished() bool {
	for _, c := range a.choices {
		if !c.announced {
			return false
		}
	}
	return len(a.choices) > 0
}

// called reports whether the answer has a call.
func (a *answer) called() bool {
	for _, c := range a.choices {
		for place := range c.rosters {
			if len(c.rosters[place].calls) > 0 {
				return true
			}
		}
	}
	return a.going != nil
}

// part takes one part of the stream: it passes or is held.
func (a *answer) part(part []byte, last bool) error {
	if a.going == nil && !last {
		if known, err := a.known(part); known {
			return err
		}
	}
	payloads, err := a.upstream.Payloads(part, a.called())
	if err != nil {
		return err
	}
	p := passage{answer: a, part: part, payloads: payloads, last: last}
	return p.run()
}
