package responses

import "github.com/heldcall/heldcall/intercept"

// A call of a tool that is allowed by its name passes unbuffered as long as it is
// plain. Its beginning waits for the first event after it, which shows whether the
// input comes in fragments at all: clients that add them up run a call without any
// with an empty input.

// check follows a call, and one that may pass unbuffered event by event.
func (p *passage) check(it *item, e *event) error {
	if it.call.form.typ != approvalRequest && !p.uniform(it, e) {
		if err := it.unlike(); err != nil {
			return err
		}
	}
	if !p.plain(it, e) {
		it.call.interrupt()
	}
	return nil
}

// plain reports whether an event of a call may pass unbuffered: the beginning of the
// next item, or what follows of the last one.
func (p *passage) plain(it *item, e *event) bool {
	c := it.call
	if p.limits.Pass == nil || !p.verbatim() || c.odd || len(c.doubts) > 0 || c.form.typ != "function_call" ||
		p.answer.items[len(p.answer.items)-1] != it {
		return false
	}
	switch {
	case e.kind == kindAdded:
		c.check = intercept.NewArgumentsCheck()
		text, _ := it.entry.input(c.form)
		return text == ""
	case c.check == nil:
		return false
	case e.kind == kindInput && e.input.fragment:
		return c.check.Add(e.text) == nil
	case e.kind == kindInput:
		return c.piece("").fragments.String() == e.text && (e.text == "" || intercept.Strict([]byte(e.text)) == nil)
	case e.kind == kindDone:
		it.judge()
		return len(c.doubts) == 0
	}
	return false
}

// interrupt takes a call out of those that pass: what is left of it is held and
// judged as doubtful.
func (c *call) interrupt() {
	c.check = nil
	if c.passed {
		c.passed, c.broken = false, true
		c.doubts.Doubt(intercept.DoubtInterrupted)
	}
}

// passes decides whether the part may go to the agent now. Everything after the first
// event that is held waits, because events and items are numbered.
func (p *passage) passes() bool {
	called, opened := p.called(), p.opened
	p.opened = nil
	switch {
	case opened != nil && called == opened:
		if p.allowedByName(opened) {
			return true
		}
	case opened != nil && called == nil && !p.closes():
		p.opened = opened
		return false
	case p.holding():
	case called != nil:
		if called.call.check != nil {
			p.opened = called
		}
	case p.closes():
		return p.continuations == 0 && len(p.pending()) == 0 && !p.marksTooEarly()
	default:
		return true
	}
	if opened != nil {
		opened.call.check = nil
	}
	return false
}

// called is the first call in the part that has not passed, nil for none.
func (p *passage) called() *item {
	for _, it := range p.items {
		if it != nil && it.call != nil && !it.call.passed {
			return it
		}
	}
	return nil
}

// closes reports whether the part ends the answer.
func (p *passage) closes() bool {
	for _, e := range p.events {
		if e.kind == kindEnd {
			return true
		}
	}
	return p.marks
}

// marksTooEarly reports whether [DONE] is in the part although the answer has calls
// and has not ended: some clients stop there and keep what they have of a call.
func (p *passage) marksTooEarly() bool {
	return p.marks && !p.closed && len(p.calls()) > 0
}

// allowedByName asks whether the tool of a call is allowed by its name.
func (p *passage) allowedByName(it *item) bool {
	c := it.asCall()
	c.Arguments = "" // the verdict is on the name
	it.call.passed = it.call.check != nil && p.limits.Pass(c)
	return it.call.passed
}

// goAhead lets what waited for the first fragment of a call go.
func (p *passage) goAhead() {
	if !p.holding() {
		return
	}
	for i := range p.kept.Len() {
		_, items := p.kept.At(i)
		for _, it := range items {
			if it != nil && it.seat < 0 {
				p.takeSeat(it)
			}
		}
	}
	p.out.Add(p.kept.Bytes())
	p.kept = intercept.Kept[[]*item]{}
}
