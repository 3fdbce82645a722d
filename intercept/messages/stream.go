package messages

import (
	"slices"
	"strconv"

	"github.com/heldcall/heldcall/intercept"
)

func (a *answer) holding() bool { return a.kept.Len() > 0 }

// hold keeps a part back.
func (a *answer) hold(part []byte, about []*block) error {
	return a.kept.Hold(part, about, a.limits.MaxBytes)
}

// recasts reports whether events have to be changed to belong to the message that
// the agent has begun to read.
func (a *answer) recasts() bool { return a.continuations > 0 || a.attempt > a.since }

// endStream takes a last part without a blank line, and looks whether the stream
// ended where it may.
func (a *answer) endStream(framed bool) ([]byte, error) {
	if rest := a.upstream.Rest(); len(rest) > 0 {
		if err := a.part(rest, true); err != nil {
			return a.out.Take(), err
		}
		if !a.holding() {
			a.unended = intercept.Unended(rest)
		}
	}
	if !framed && !a.done && !a.failed && a.stop == "" {
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
// that try again elsewhere. Clients disagree about what follows: they throw, begin
// anew, or add the blocks to those of the first attempt and fill those by number.
// Where nothing is held the agent gets it as it came, and calls behind it are in
// doubt. Otherwise what is held of the first attempt is void, what the agent has
// got of it stays in its message, and what follows continues that: the second
// start does not go out.
func (a *answer) splice() error {
	if a.done || a.stop != "" {
		return intercept.NotUnderstood("a second message stands behind the end of the first")
	}
	a.shapes, a.opened = shapes{}, 0
	if !a.holding() && !a.recasts() {
		a.attempt++
		a.since = a.attempt
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
	return nil
}

// closings renders the ends of the blocks that the agent has got and that have
// none.
func (a *answer) closings(drop func(*block) bool) (out []byte) {
	for _, b := range a.blocks {
		if b.ended || b.attempt < a.since || drop != nil && drop(b) {
			continue
		}
		b.ended = true
		out = appendEvent(out, "content_block_stop", `{"type":"content_block_stop","index":`+strconv.Itoa(a.place(b, drop))+`}`)
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
		case other.attempt >= a.since && (drop == nil || !drop(other)):
			n++
		}
	}
	return n
}
