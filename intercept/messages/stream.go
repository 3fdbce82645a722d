package messages

import (
	"slices"

	"github.com/heldcall/heldcall/intercept"
)

func (a *answer) holding() bool { return a.kept.Len() > 0 }

// hold keeps a part back.
func (a *answer) hold(part []byte, about []*block) error {
	return a.kept.Hold(part, about, a.limits.MaxBytes)
}

// recasts reports whether events have to be changed to belong to the message that
// the agent has begun to read.
func (a *answer) recasts() bool { return a.continuations > 0 || a.joined }

// endStream takes a last part without a blank line, and looks whether the stream
// ended where it may: with an end of the message if there are calls in it, otherwise
// also where the framing of the connection says so.
func (a *answer) endStream(framed bool) ([]byte, error) {
	if rest := a.upstream.Rest(); len(rest) > 0 {
		if err := a.part(rest, true); err != nil {
			return a.out.Take(), err
		}
		if !a.holding() {
			a.unended = intercept.Unended(rest)
		}
	}
	ended := a.done || a.failed || a.stop != ""
	if !ended && (!framed || slices.ContainsFunc(a.blocks, (*block).isCall)) {
		return a.out.Take(), intercept.Cut()
	}
	return a.out.Take(), nil
}

// part takes one part of the stream: it passes or is held.
func (a *answer) part(part []byte, last bool) error {
	if !last {
		if known, err := a.known(part); known {
			return err
		}
	}
	payloads, err := a.upstream.Payloads(part, a.continuations > 0 || slices.ContainsFunc(a.blocks, (*block).isCall))
	if err != nil {
		return err
	}
	p := passage{answer: a, part: part, payloads: payloads}
	return p.run()
}

// splice takes a second start of the message inside one stream, as gateways send
// that try again elsewhere. Clients disagree about what follows: they throw, start
// again, or add the blocks to those of the first attempt and fill those by number.
// Where nothing is held the agent gets it as it came, but no call after blocks of the
// first attempt, nor after a call. Otherwise what is held of the first attempt is
// void, what the agent has got of it stays in its message, and what follows continues
// that: the second start does not go out.
func (a *answer) splice() error {
	if a.done || a.stop != "" {
		return intercept.NotUnderstood("a second message is after the end of the first")
	}
	a.shapes, a.opened = shapes{}, 0
	if !a.holding() && !a.recasts() {
		if slices.ContainsFunc(a.blocks, (*block).isCall) {
			return intercept.NotUnderstood("the message starts twice, after a call had passed")
		}
		a.attempt++
		a.skipped = a.skipped || len(a.blocks) > 0
		return nil
	}
	var left []*block
	for _, b := range a.blocks {
		if c := b.call; c != nil && (c.broken || c.passed && !b.ended) {
			return intercept.NotUnderstood("it begins anew within a call of a tool that is allowed by name, the beginning of which has passed")
		}
		if b.shown {
			left = append(left, b)
		}
	}
	a.blocks, a.kept = left, intercept.Kept[[]*block]{}
	a.out.Add(a.closings(nil))
	a.attempt++
	a.joined = true
	return nil
}

// closings renders the ends of the blocks that the agent has got and that have
// none.
func (a *answer) closings(drop func(*block) bool) (out []byte) {
	for _, b := range a.blocks {
		if b.ended || (drop != nil && drop(b)) {
			continue
		}
		b.ended = true
		out = appendBlockStop(out, a.place(b, drop))
	}
	return out
}

// place is the number of a block among those that the agent gets.
func (a *answer) place(b *block, drop func(*block) bool) int {
	n := a.base
	for _, other := range a.blocks {
		switch {
		case other == b:
			return n
		case drop == nil || !drop(other):
			n++
		}
	}
	return n
}
