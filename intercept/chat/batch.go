package chat

import (
	"cmp"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/chat/wire"
)

// eventBatch is the events of one part of a stream. Their fragments go to their calls.
type eventBatch struct {
	*answer
	part   *intercept.Part
	chunks []*wire.Chunk
	opens  bool // a call begins in it
	names  bool // it may name a call outside of it
	uneven bool // it has a part of a call and is not uniform
}

// Read implements [intercept.Codec].
func (a *answer) Read(part *intercept.Part) error {
	p := &a.batch
	*p = eventBatch{answer: a, part: part, chunks: p.chunks[:0]}
	done := false
	for _, payload := range part.Payloads {
		switch {
		case intercept.IsBlank(payload):
		case intercept.IsDone(payload):
			done = true
		default:
			c, err := wire.Decode(string(payload))
			if err != nil {
				return err
			}
			p.chunks = append(p.chunks, c)
		}
	}
	late := a.done
	a.done = a.done || done
	if err := p.observe(done); err != nil {
		return err
	}
	called := len(part.Units()) > 0
	if late && called {
		return intercept.NotUnderstood("a call is after the end of the stream")
	}
	part.Overtakes = p.overtakes(p.onlyWords(done))
	part.Complete, part.Failed, part.Ends = a.done, a.failed, done || p.closes()
	p.names = p.namesCall()
	part.Withheld = p.names || (!called && a.continuing == nil && p.announcesUnseen())
	return nil
}

// observe notes what the part contains.
func (p *eventBatch) observe(done bool) error {
	for _, c := range p.chunks {
		p.failed = p.failed || c.Failed
		p.learnHead(c.Head)
		if c.Usage != "" {
			p.usage = c.Usage
		}
		uniform := c.HasCalls() && p.uniform(c)
		if c.Foreign() && !c.HasCalls() { // beside a call the role does not go out
			if err := p.changeRole(); err != nil {
				return err
			}
		}
		for i := range c.Choices {
			if err := p.choice(&c.Choices[i], uniform); err != nil {
				return err
			}
		}
	}
	for _, c := range p.choices {
		if done {
			p.verify(c, true)
		}
	}
	return nil
}

// learnHead keeps the head of the answer's first chunk; an empty id, which Azure
// sends before the real one, counts only until there is another. Calls that begin
// before the real id are not uniform: openai-go drops events without it after that.
func (p *eventBatch) learnHead(h wire.Head) {
	known := p.began.ID != "" && p.began.ID != `""`
	if known || h == (wire.Head{}) || (h.ID == "" && p.began != wire.Head{}) {
		return
	}
	if h.ID != p.began.ID {
		p.part.Forget()
		for _, c := range p.choices {
			for _, call := range c.calls() {
				call.Odd = true
			}
		}
	}
	p.began = h
	if p.continuing == nil {
		p.head = h.Readable()
	}
}

// choice reads the part of an event about one choice. Uniform reports whether the event
// itself is.
func (p *eventBatch) choice(d *wire.ChoiceDelta, uniform bool) error {
	c, err := p.answer.choice(d.Index)
	if err != nil {
		return err
	}
	uniform = uniform && !c.announced && !p.foreign
	c.finish(d)
	c.repeated = c.repeated || d.Repeated
	if err := p.listen(c, d.Texts); err != nil {
		return err
	}
	first := len(p.part.Units())
	for i := range d.Calls {
		if err := p.fragment(c, &d.Calls[i], first, uniform); err != nil {
			return err
		}
	}
	p.verify(c, d.Finish != "")
	return nil
}

// changeRole notes a role that is not the assistant's. LangChain takes it for the role of
// the events after it, of every choice, and reads no call in them.
func (p *eventBatch) changeRole() error {
	p.foreign = true
	for _, c := range p.choices {
		for _, call := range c.calls() {
			if call.Begun() && !call.whole() {
				return intercept.NotUnderstood("the role changes within a call of a tool that is allowed by name, after its beginning had passed")
			}
			call.Odd = true
		}
	}
	return nil
}

// fragment gives a fragment to its call. The units of the event begin at first.
func (p *eventBatch) fragment(c *choice, f *wire.Fragment, first int, uniform bool) error {
	r := &c.assemblers[f.Place]
	if len(r.calls) == maxCalls {
		return intercept.NotUnderstood("a choice has more than %d calls", maxCalls)
	}
	event := intercept.Event{Kind: intercept.EventInput, Text: f.Args, Plain: p.streams(c, f)}
	call, opened := r.take(f)
	if event.Unit = &call.Unit; opened {
		event.Kind, call.choice, p.opens = intercept.EventOpen, c, true
		p.part.Open(&call.Unit)
	}
	for _, before := range p.part.Units()[first:] {
		if before == event.Unit {
			event.Plain, uniform = false, false
			call.AddAmbiguity("Two entries of one event are read as one call.")
		}
	}
	event.Uniform = uniform && r.uniform(f, call, opened, p.latest)
	p.uneven = p.uneven || !event.Uniform
	if opened && p.withinAnother(c) {
		return intercept.NotUnderstood("a call begins within one of another choice that is allowed by name")
	}
	if n := len(r.calls); opened && n > 1 && r.calls[n-2].Passing() && !r.calls[n-2].complete() {
		r.calls[n-2].Interrupt()
	}
	p.latest = call
	if err := p.part.Buffer(len(f.Args)); err != nil {
		return err
	}
	return p.part.Event(event)
}

// listen remembers the model's text. A message beside delta repeats it.
func (p *eventBatch) listen(c *choice, texts []wire.Text) error {
	streamed := c.says[wire.InDelta].any()
	for _, t := range texts {
		streamed = streamed || t.Place == wire.InDelta
	}
	for _, t := range texts {
		if t.Place == wire.InMessage && streamed {
			continue
		}
		if err := p.part.Buffer(c.says[t.Place].add(t.Field, t.Value)); err != nil {
			return err
		}
	}
	return nil
}

// onlyWords reports whether the part contains only text for the user, or what
// precedes everything else in its choice: the role, reasoning. A part with
// more than that binds its choices to the order in which they came.
func (p *eventBatch) onlyWords(done bool) bool {
	words := !done && len(p.chunks) > 0 && len(p.chunks) == len(p.part.Payloads)
	for _, c := range p.chunks {
		words = words && len(c.Choices) > 0
		for i := range c.Choices {
			d := &c.Choices[i]
			known := p.known(d.Index)
			words = words && known != nil && len(d.Calls) == 0 && d.Finish == "" && (d.Contents || !known.bound)
		}
	}
	if words {
		return true
	}
	for _, c := range p.chunks {
		for i := range c.Choices {
			if known := p.known(c.Choices[i].Index); known != nil {
				known.bound = true
			}
		}
	}
	return false
}

// overtakes reports whether the part may go out before those that are held,
// because nothing that is held precedes it in the same choice for the reader:
// text is not delayed behind a held call.
func (p *eventBatch) overtakes(words bool) bool {
	if !words || p.part.Last {
		return false
	}
	for _, c := range p.chunks {
		for i := range c.Choices {
			if known := p.known(c.Choices[i].Index); known == nil || known.textHeld {
				return false
			}
		}
	}
	return true
}

// closes reports whether the part announces the end of a choice or, after all
// of them, the usage.
func (p *eventBatch) closes() bool {
	for _, c := range p.chunks {
		if c.Usage != "" && len(c.Choices) == 0 {
			return true
		}
		for i := range c.Choices {
			if c.Choices[i].Finish != "" {
				return true
			}
		}
	}
	return false
}

// announcesUnseen reports whether a finish reason speaks of calls that were not
// there: they may follow.
func (p *eventBatch) announcesUnseen() bool {
	for _, c := range p.chunks {
		if !c.Announces() {
			continue
		}
		for i := range c.Choices {
			if known := p.known(c.Choices[i].Index); known == nil || len(known.calls()) == 0 {
				return true
			}
		}
	}
	return false
}

// Disposed implements [intercept.Codec].
func (a *answer) Disposed(p *intercept.Part, d intercept.Disposition) {
	switch {
	case p == nil:
	case d == intercept.Sent:
		for _, c := range a.batch.chunks {
			a.noteSent(c)
		}
	case d == intercept.Held:
		a.noteHeld()
	case d == intercept.Voided:
		for _, c := range a.choices {
			c.assemblers = [2]assembler{}
		}
	}
}

// noteSent remembers what of a message has gone out.
func (a *answer) noteSent(c *wire.Chunk) {
	for i := range c.Choices {
		if d := &c.Choices[i]; d.Role || d.Finish != "" || d.Audio != "" {
			l := a.output(d.Index)
			l.role, l.finish, l.audio = l.role || d.Role, l.finish || d.Finish != "", cmp.Or(l.audio, d.Audio)
		}
	}
}

// noteHeld remembers the choices of which text is held.
func (a *answer) noteHeld() {
	for _, c := range a.batch.chunks {
		for i := range c.Choices {
			d := &c.Choices[i]
			known := a.known(d.Index)
			if known != nil && (d.Contents || (d.Role && !known.output.role) || (d.Carries && !a.batch.names)) {
				known.textHeld = true
			}
		}
	}
}
