package responses

import (
	"slices"

	"github.com/heldcall/heldcall/intercept"
)

func (a *answer) holding() bool { return a.kept.Len() > 0 }

// endStream takes a last part without a blank line, and looks whether the stream
// ended where it may: what is held needs an end.
func (a *answer) endStream(framed bool) ([]byte, error) {
	if rest := a.upstream.Rest(); len(rest) > 0 {
		if err := a.part(rest, true); err != nil {
			return a.out.Take(), err
		}
		if !a.holding() {
			a.unended = intercept.Unended(rest)
		}
	}
	switch {
	case a.closed || a.failed:
		return a.out.Take(), nil
	case a.holding() || len(a.calls()) > 0, !a.done && (!framed || a.continuations > 0):
		return a.out.Take(), intercept.Cut()
	}
	return a.out.Take(), nil
}

func (it *item) isCall() bool { return it.call != nil }

// part takes one part of the stream: it passes or is held.
func (a *answer) part(part []byte, last bool) error {
	if !last {
		if known, err := a.known(part); known {
			return err
		}
	}
	payloads, err := a.upstream.Payloads(part, a.continuations > 0 || slices.ContainsFunc(a.items, (*item).isCall))
	if err != nil {
		return err
	}
	p := passage{answer: a, part: part, payloads: payloads, last: last}
	return p.run()
}
