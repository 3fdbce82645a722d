package chat

import (
	"iter"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept"

	"github.com/tidwall/gjson"
)

// eventBatch is the events of one part of a stream. It gives their fragments to their
// calls.
type eventBatch struct {
	req  *request
	body *upstreamBody
	out  *output

	part      *intercept.Part
	chunks    []*chunk
	opens     bool // a call begins in it
	namesCall bool // it may name a call outside of it
}

// deltas yields the deltas of all chunks.
func (p *eventBatch) deltas() iter.Seq[*choiceDelta] {
	return func(yield func(*choiceDelta) bool) {
		for _, c := range p.chunks {
			for i := range c.choices {
				if !yield(&c.choices[i]) {
					return
				}
			}
		}
	}
}

// anyDelta reports whether the predicate is true of a delta.
func (p *eventBatch) anyDelta(predicate func(*choiceDelta) bool) bool {
	for d := range p.deltas() {
		if predicate(d) {
			return true
		}
	}
	return false
}

// Read implements [intercept.Codec].
func (a *answer) Read(part *intercept.Part) error {
	p := &a.batch
	if part.Whole {
		return a.readWhole(part.Payloads[0])
	}
	if !part.Held() {
		a.body.heldLeft()
	}
	done, err := p.decode(part)
	if err != nil {
		return err
	}
	late := a.body.end(done)
	if err := p.observe(); err != nil {
		return err
	}
	called := len(part.Units()) > 0
	if late && called {
		return intercept.NotUnderstood("a call is after the end of the stream")
	}
	if !called && p.mustSplit() {
		if err := p.split(); err != nil {
			return err
		}
	}
	p.describe(done, called)
	if a.body.failed {
		a.body.void()
	}
	return nil
}

// describe sets what the answer has to know of the part. Done reports whether it has [DONE], called
// whether it is about a call.
func (p *eventBatch) describe(done, called bool) {
	part, continuing := p.part, p.out.continuing
	part.Overtakes, part.Spent = p.overtakes(), called && p.spent()
	part.Complete, part.Failed, part.Ends = p.body.done, p.body.failed, done || p.closes()
	p.namesCall = p.anyDelta(p.mayNameCall)
	part.Withheld = p.namesCall || (!called && !continuing && p.anyDelta(p.endsEarly))
	part.Form = p.form()
	part.Rewritten = continuing && !p.body.failed
}

// decode decodes the payloads of a part. Done reports whether one is [DONE].
func (p *eventBatch) decode(part *intercept.Part) (done bool, err error) {
	*p = eventBatch{req: p.req, body: p.body, out: p.out, part: part, chunks: p.chunks[:0]}
	for _, payload := range part.Payloads {
		switch {
		case intercept.IsBlank(payload):
		case intercept.IsDone(payload):
			done = true
		default:
			c, err := decodeChunk(string(payload))
			if err != nil {
				return done, err
			}
			p.chunks = append(p.chunks, c)
		}
	}
	return done, nil
}

// observe adds the contents of the part to the body.
func (p *eventBatch) observe() error {
	for _, c := range p.chunks {
		p.body.observe(c)
		if p.body.learnHead(c.head, p.part) {
			p.out.learnHead(c.head.readable())
		}
		for i := range c.choices {
			if err := p.delta(&c.choices[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// delta reads the part of an event about one choice.
func (p *eventBatch) delta(d *choiceDelta) error {
	c, err := p.body.choice(d.index, p.out)
	if err != nil {
		return err
	}
	if err := c.read(d, p.part); err != nil {
		return err
	}
	first := len(p.part.Units())
	for i := range d.calls {
		if err := p.fragment(c, &d.calls[i], first); err != nil {
			return err
		}
	}
	if d.finish != "" {
		p.finished(c)
	}
	return nil
}

// began marks the calls before a new one of the choice as complete. Calls of several choices, of the old form, and those of
// which a message has copies are only complete at the end.
func (p *eventBatch) began(c *choice, latest *call) {
	if !p.separate(c) {
		return
	}
	for _, call := range c.assemblers[inDelta].calls {
		if call != latest && !call.isLegacy() {
			p.part.Completed(&call.Unit)
		}
	}
}

// finished marks the calls of a choice with a finish reason as complete, if no more of them can follow: gateways send a reason
// early, or in every event.
func (p *eventBatch) finished(c *choice) {
	if !p.separate(c) {
		return
	}
	for _, call := range c.assemblers[inDelta].calls {
		if call.kind == kindFunction && call.args.Len() > 0 && call.whole() {
			p.part.Completed(&call.Unit)
		}
	}
}

// separate reports whether the calls of a choice are those of the answer.
func (p *eventBatch) separate(c *choice) bool {
	return len(p.body.choices) == 1 && !c.hasMessage && !p.req.several()
}

// fragment gives a fragment to its call. The units of the event begin at first.
func (p *eventBatch) fragment(c *choice, f *fragment, first int) error {
	r := &c.assemblers[f.place]
	if len(r.calls) == maxCalls {
		return intercept.NotUnderstood("a choice has more than %d calls", maxCalls)
	}
	call, opened, kept := r.take(f)
	if opened {
		call.choice, p.opens = c, true
		p.began(c, call)
		c.output.sent.finish = false // the agent has a reason, but the choice continues
		p.part.Open(&call.Unit)
		if err := p.body.open(1); err != nil {
			return err
		}
	}
	if slices.Contains(p.part.Units()[first:], &call.Unit) {
		call.AddAmbiguity("Two entries of one event are read as one call.")
	}
	p.body.latest = call
	if err := call.Extends(kept); err != nil {
		return err
	}
	if err := p.part.Buffer(kept); err != nil {
		return err
	}
	return p.part.Event(&call.Unit, f.args)
}

// overtakes reports whether the part may go out before those that are held, because
// nothing that is held precedes it in the same choice for the reader: a held call does
// not delay text. A part with more than text makes its choices keep the order of events.
func (p *eventBatch) overtakes() bool {
	if !p.onlyText() {
		for d := range p.deltas() {
			if !d.ends() || d.speaks() || len(d.calls) > 0 { // text and reasoning need not wait for a reason
				p.body.known(d.index).keepOrder()
			}
		}
		return false
	}
	held := func(d *choiceDelta) bool { return p.body.known(d.index).textHeld }
	return !p.part.Last && !p.anyDelta(held)
}

// onlyText reports whether the part contains only text for the user, or the role and
// reasoning at the beginning of a choice.
func (p *eventBatch) onlyText() bool {
	if len(p.chunks) == 0 || len(p.chunks) < len(p.part.Payloads) {
		return false
	}
	empty := func(c *chunk) bool { return len(c.choices) == 0 }
	more := func(d *choiceDelta) bool {
		return len(d.calls) > 0 || d.finish != "" || (!d.contents && p.body.known(d.index).ordered)
	}
	return !slices.ContainsFunc(p.chunks, empty) && !p.anyDelta(more)
}

// closes reports whether the part announces the end of a choice or, after all of them,
// the usage.
func (p *eventBatch) closes() bool {
	usage := func(c *chunk) bool { return c.usage != "" && len(c.choices) == 0 }
	finish := func(d *choiceDelta) bool { return d.finish != "" }
	return slices.ContainsFunc(p.chunks, usage) || p.anyDelta(finish)
}

// mayNameCall reports whether a delta may name a call outside of it: in log
// probabilities, or in the id of a reasoning detail. OpenRouter gives a detail the id of
// the call that follows, which for Gemini contains the name of the tool.
func (p *eventBatch) mayNameCall(d *choiceDelta) bool {
	named := d.unspoken()
	for _, t := range d.texts {
		if t.field != detailsField || !t.value.IsArray() {
			continue
		}
		t.value.ForEach(func(_, detail gjson.Result) bool {
			id := detail.Get("id").String()
			named = named || (id != "" && (strings.HasPrefix(id, "tool_") || p.req.names(id)))
			return !named
		})
	}
	return named
}

// Disposed implements [intercept.Codec].
func (a *answer) Disposed(_ *intercept.Part, d intercept.Disposition) {
	switch d {
	case intercept.Sent:
		for delta := range a.batch.deltas() {
			a.body.known(delta.index).output.send(delta)
		}
	case intercept.Held:
		for delta := range a.batch.deltas() {
			a.body.known(delta.index).hold(delta, a.batch.namesCall)
		}
	}
}
