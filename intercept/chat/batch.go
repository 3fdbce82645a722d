package chat

import (
	"bytes"
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
	odd       bool // it has a fragment that is not uniform
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
	done, err := p.decode(part)
	if err != nil {
		return err
	}
	late := a.body.end(done)
	if err := p.observe(done); err != nil {
		return err
	}
	called := len(part.Units()) > 0
	if late && called {
		return intercept.NotUnderstood("a call is after the end of the stream")
	}
	part.Overtakes = p.overtakes()
	part.Complete, part.Failed, part.Ends = a.body.done, a.body.failed, done || p.closes()
	p.namesCall = p.anyDelta(p.mayNameCall)
	part.Withheld = p.namesCall || (!called && a.out.continuing == nil && slices.ContainsFunc(p.chunks, p.announcesUnseen))
	return nil
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

// observe adds the contents of the part to the body. Done reports that it ends the
// stream.
func (p *eventBatch) observe(done bool) error {
	for _, c := range p.chunks {
		p.body.observe(c)
		if p.body.learnHead(c.head, p.part) {
			p.out.learnHead(c.head.readable())
		}
		uniform := c.hasCalls() && p.uniform(c)
		if c.foreign() && !c.hasCalls() { // beside a call the role does not go out
			if err := p.body.changeRole(); err != nil {
				return err
			}
		}
		for i := range c.choices {
			if err := p.delta(&c.choices[i], uniform); err != nil {
				return err
			}
		}
	}
	for _, c := range p.body.choices {
		if done {
			c.verify(true)
		}
	}
	return nil
}

// delta reads the part of an event about one choice. Uniform reports whether the event
// itself is.
func (p *eventBatch) delta(d *choiceDelta, uniform bool) error {
	c, err := p.body.choice(d.index, p.out)
	if err != nil {
		return err
	}
	uniform = uniform && !c.finished && !p.body.foreign
	if err := c.read(d, p.part); err != nil {
		return err
	}
	first := len(p.part.Units())
	for i := range d.calls {
		if err := p.fragment(c, &d.calls[i], first, uniform); err != nil {
			return err
		}
	}
	c.verify(d.finish != "")
	return nil
}

// fragment gives a fragment to its call. The units of the event begin at first.
func (p *eventBatch) fragment(c *choice, f *fragment, first int, uniform bool) error {
	r := &c.assemblers[f.place]
	if len(r.calls) == maxCalls {
		return intercept.NotUnderstood("a choice has more than %d calls", maxCalls)
	}
	event := intercept.Event{Kind: intercept.EventInput, Text: f.args, Plain: p.mayPass(c, f)}
	call, opened, kept := r.take(f)
	if event.Unit = &call.Unit; opened {
		event.Kind, call.choice, p.opens = intercept.EventOpen, c, true
		p.part.Open(&call.Unit)
		if err := p.body.open(1); err != nil {
			return err
		}
	}
	if slices.Contains(p.part.Units()[first:], event.Unit) {
		event.Plain, uniform = false, false
		call.AddAmbiguity("Two entries of one event are read as one call.")
	}
	before := p.body.advance(call)
	event.Uniform = uniform && r.uniform(f, call, opened, before)
	p.odd = p.odd || !event.Uniform
	if opened && p.body.withinAnother(c) {
		return intercept.NotUnderstood("a call begins within one of another choice that is allowed by name")
	}
	if n := len(r.calls); opened && n > 1 && r.calls[n-2].Passing() && !r.calls[n-2].complete() {
		r.calls[n-2].Interrupt()
	}
	if err := p.part.Buffer(kept); err != nil {
		return err
	}
	return p.part.Event(event)
}

// mayPass reports whether all clients read a fragment alike, so that it may pass
// unbuffered if its tool is allowed by name: it opens the next call, or continues the
// last one.
func (p *eventBatch) mayPass(c *choice, f *fragment) bool {
	standard := f.place == inDelta && f.kind == kindFunction && f.hasIndex && !f.object
	if !standard || p.req.several() || p.body.othersCall(c) {
		return false
	}
	return c.assemblers[inDelta].opensNext(f) || c.assemblers[inDelta].continuesLast(f)
}

// plain reports whether every client that follows the standard finds exactly one event
// in the part. Most clients lose the last part of a stream if it has no blank line.
func (p *eventBatch) plain() bool {
	if p.part.Last || len(p.part.Payloads) != 1 {
		return false
	}
	e := &p.part.Lines
	return len(e.Data) == 1 && len(e.Stray) == 0 && e.Name == nil && e.Indented == 0 && bytes.HasSuffix(p.part.Bytes, []byte("\n"))
}

// uniform reports whether an event with fragments is uniform, see uniform.go.
func (p *eventBatch) uniform(c *chunk) bool {
	return len(c.choices) == 1 && p.plain() && c.head.like(p.body.head) && eventSchema.Fits(gjson.Parse(c.raw))
}

// overtakes reports whether the part may go out before those that are held, because
// nothing that is held precedes it in the same choice for the reader: a held call does
// not delay text. A part with more than text makes its choices keep the order of events.
func (p *eventBatch) overtakes() bool {
	if !p.onlyText() {
		for d := range p.deltas() {
			p.body.known(d.index).keepOrder()
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

// announcesUnseen reports whether a finish reason of a chunk announces calls that the
// body does not have: they may follow.
func (p *eventBatch) announcesUnseen(c *chunk) bool {
	return c.announces() && slices.ContainsFunc(c.choices, func(d choiceDelta) bool { return len(p.body.known(d.index).calls()) == 0 })
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
func (a *answer) Disposed(p *intercept.Part, d intercept.Disposition) {
	switch {
	case p == nil:
	case d == intercept.Sent:
		for delta := range a.batch.deltas() {
			a.body.known(delta.index).output.send(delta)
		}
	case d == intercept.Held:
		for delta := range a.batch.deltas() {
			a.body.known(delta.index).hold(delta, a.batch.namesCall)
		}
	case d == intercept.Voided:
		a.body.void()
	}
}
