package messages

import (
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
)

// eventBatch is the events of one part of a stream on their way to their blocks.
type eventBatch struct {
	*answer
	part   *intercept.Part
	events []*event
	opens  []*block // that open in the part
	doneAt int      // how many of the events are before [DONE], -1 where there is none
}

// Read implements [intercept.Codec].
func (a *answer) Read(part *intercept.Part) error {
	p := &a.batch
	*p = eventBatch{answer: a, part: part, events: p.events[:0], opens: p.opens[:0], doneAt: -1}
	if err := p.decode(); err != nil {
		return err
	}
	for i, e := range p.events {
		p.over = p.over || i == p.doneAt
		if err := p.take(e); err != nil {
			return err
		}
	}
	p.over = p.over || p.doneAt == len(p.events)
	part.Failed, part.Complete = p.failed, p.answer.done
	if p.failed && len(part.Units()) > 0 {
		return intercept.NotUnderstood("it reports an error and a part of a block in one event")
	}
	return nil
}

func (p *eventBatch) decode() error {
	names := intercept.EventNames(p.part.Bytes, len(p.part.Payloads))
	for _, payload := range p.part.Payloads {
		switch {
		case intercept.IsBlank(payload):
		case intercept.IsDone(payload):
			p.part.Ends, p.doneAt = true, len(p.events)
		default:
			e, err := decode(string(payload), names)
			if err != nil {
				return err
			}
			p.events = append(p.events, e)
			p.part.Ends = p.part.Ends || e.kind == kindMessageDelta || e.kind == kindMessageStop
		}
	}
	return nil
}

// take notes what an event contains.
func (p *eventBatch) take(e *event) error {
	p.style(e)
	switch e.kind {
	case kindMessageStart:
		return p.begin(e)
	case kindBlockStart:
		return p.block(e, e.block, e.index)
	case kindBlockDelta:
		return p.grow(e)
	case kindBlockStop:
		return p.close(e)
	case kindMessageDelta:
		p.learn(&e.message)
		return p.end()
	case kindMessageStop:
		p.answer.done = true
		return p.end()
	case kindError:
		p.failed = true
	}
	return nil
}

// style notes how the events of the message are written: some clients skip those
// without a name or a type. A block whose opening they skip is not in their
// message, and they number the blocks after it differently.
func (p *eventBatch) style(e *event) {
	if e.kind < kindMessageStart || e.kind > kindMessageStop {
		return
	}
	if e.kind == kindBlockStart && e.block.role != roleCall {
		untyped, mixesNames, mixesLabels := !e.typed, !e.named && p.named, e.unnamed && p.labelled
		p.skipped = p.skipped || untyped || mixesNames || mixesLabels
	}
	p.named, p.unnamed = p.named || e.named, p.unnamed || !e.named
	p.labelled = p.labelled || !e.unnamed
}

func (p *eventBatch) begin(e *event) error {
	m := &e.message
	if p.started {
		if len(p.events) > 1 {
			return intercept.NotUnderstood("a message starts twice in one event")
		}
		if err := p.restart(); err != nil {
			return err
		}
	}
	p.skipped = p.skipped || (!p.started && p.opened > 0) // SDKs drop what precedes the message
	p.started = true
	if p.id == "" && p.model == "" {
		p.answer.id, p.answer.model = m.id, m.model
	}
	for i := range m.blocks {
		if err := p.block(e, &m.blocks[i], p.opened); err != nil {
			return err
		}
		p.answer.last().ended = true
	}
	p.learn(m) // after the blocks: the stop reason of a message with a call is about the call
	return nil
}

// restart takes a second start of the message inside one stream, as gateways send
// that try again elsewhere. Clients disagree about what follows: they throw, start
// again, or add the blocks to those of the first attempt and fill those by number.
// Where nothing is held the agent gets it as it came, but no call after blocks of the
// first attempt, nor after a call. Otherwise what is held of the first attempt is
// void, what the agent has got of it stays in its message, and what follows continues
// that: the second start does not go out.
func (p *eventBatch) restart() error {
	a := p.answer
	if a.done || a.stop != "" {
		return intercept.NotUnderstood("a second message is after the end of the first")
	}
	p.part.Forget()
	a.opened = 0
	if !p.part.Held() && !a.recasts() {
		if a.hasCalls() {
			return intercept.NotUnderstood("the message starts twice, after a call had passed")
		}
		a.attempt++
		a.skipped = a.skipped || len(a.blocks) > 0
		return nil
	}
	var left []*block
	for _, b := range a.blocks {
		if b.call != nil && (b.Broken() || (b.Passed() && !b.ended)) {
			return intercept.NotUnderstood("it begins again within a call of a tool that is allowed by name, the beginning of which has passed")
		}
		if b.shown {
			left = append(left, b)
		}
	}
	a.blocks = left
	p.part.Void()
	p.part.Send(a.closings(&intercept.Plan{}))
	a.attempt++
	a.joined = true
	return nil
}

func (p *eventBatch) block(e *event, o *opening, index int) error {
	b, err := p.open(p.part, o, index)
	if err != nil {
		return err
	}
	p.opens = append(p.opens, b)
	opened := intercept.Event{Unit: &b.Unit, Kind: intercept.EventOpen}
	if b.call != nil {
		opened.Uniform = p.opensUniform(e, o)
		opened.Plain = !p.recasts() && !p.mixed() && b.call.empty() && b.call.id != "" && b.call.name != ""
	}
	return p.part.Event(opened)
}

func (p *eventBatch) grow(e *event) error {
	d, b := e.delta, p.find(e.index)
	switch {
	case b == nil && (!d.plain || p.recasts()):
		return intercept.NotUnderstood("a part of a block that has not opened")
	case b == nil:
		return p.part.Event(intercept.Event{})
	case d.input && b.role == roleSaid:
		return intercept.NotUnderstood("a block that is no tool's has an input")
	case d.more && b.unknown:
		return intercept.NotUnderstood("a block of an unknown type grows by more than text")
	case (p.answer.done || p.over) && b.call != nil:
		return intercept.NotUnderstood("a call goes on after the end of the message")
	}
	uniform, err := p.follow(b, e, inputSchema)
	if err != nil {
		return err
	}
	input := intercept.Event{Unit: &b.Unit, Kind: intercept.EventInput, Uniform: uniform, Plain: !p.mixed()}
	if d.input && len(d.fields) > 0 {
		input.Text = strictjson.Fragment(d.fields[0].piece)
	}
	if err := p.part.Event(input); err != nil {
		return err
	}
	if b.ended {
		b.doubt(doubtGoesOn)
	}
	if !d.input {
		b.doubt(doubtMixed)
	}
	if err := p.part.Buffer(b.add(d)); err != nil {
		return err
	}
	if len(b.grown) > maxFields {
		return intercept.NotUnderstood("a block has more than %d fields in pieces", maxFields)
	}
	return nil
}

// follow notes that an event goes on with a block, or ends it, and reports whether all
// clients read the event alike. The answer ends here if a call would be in doubt of
// which the agent has got the beginning: such a call can no longer be rendered.
func (p *eventBatch) follow(b *block, e *event, schema *strictjson.Schema) (uniform bool, err error) {
	last := p.answer.last()
	late := b.ended || b != last || p.stop != "" || p.answer.done || p.over
	uniform = b.call != nil && !late && p.fits(e, schema)
	if b == last {
		return uniform, nil
	}
	if last.call != nil && last.Begun() && !last.ended {
		return uniform, last.Differ()
	}
	if b.call != nil && b.Begun() {
		return uniform, b.Differ()
	}
	b.doubt(doubtAlternate)
	last.doubt(doubtAlternate)
	return uniform, nil
}

// end takes the end of the message, or why it stops. A call whose beginning has
// passed must have ended by then. If the end casts doubt on such a call, the rest of
// the answer is held.
func (p *eventBatch) end() error {
	if p.stop == "" && !p.answer.done {
		return nil
	}
	for _, b := range p.blocks {
		switch {
		case b.call == nil || !b.Begun():
		case !b.ended:
			return b.Differ()
		case p.cut() && b == p.answer.last():
			b.MarkAmbiguous(intercept.AmbiguousCut)
		}
	}
	return nil
}

func (p *eventBatch) close(e *event) error {
	b := p.find(e.index)
	switch {
	case b == nil && p.recasts():
		return intercept.NotUnderstood("a block ends that has not opened")
	case b == nil:
		return p.part.Event(intercept.Event{})
	}
	uniform, err := p.follow(b, e, closingSchema)
	if err != nil {
		return err
	}
	again := b.ended
	b.ended = true
	if err := p.part.Event(intercept.Event{Unit: &b.Unit, Kind: intercept.EventClose, Uniform: uniform, Plain: true}); err != nil {
		return err
	}
	if again {
		b.doubt(doubtEndsTwice)
	}
	return nil
}

// recasts reports whether events have to be changed to belong to the message that
// the agent has begun to read.
func (a *answer) recasts() bool { return a.continuations > 0 || a.joined }

// Disposed implements [intercept.Codec].
func (a *answer) Disposed(_ *intercept.Part, d intercept.Disposition) {
	switch {
	case d == intercept.Sent:
		a.begun = a.begun || a.started
		for _, b := range a.batch.opens {
			b.shown = true
		}
	case d == intercept.Voided:
		var left []*block
		for _, b := range a.blocks {
			if b.shown && (b.call == nil || b.Passed()) {
				left = append(left, b)
			}
		}
		a.blocks = left
	}
}
