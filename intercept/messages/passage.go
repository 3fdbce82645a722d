package messages

import (
	"github.com/heldcall/heldcall/intercept"
)

// passage is the way of one part through the answer: it is read, its events go
// to their blocks, and it passes or is held.
type passage struct {
	*answer
	part     []byte
	payloads [][]byte
	events   []*event
	about    []*block // that the events are about, in order; nil for one that has not opened
	opens    []*block // that open in the part
	ends     bool     // it says that the message or the stream ends
}

func (p *passage) run() error {
	if err := p.read(); err != nil {
		return err
	}
	for _, e := range p.events {
		if err := p.take(e); err != nil {
			return err
		}
	}
	switch {
	case p.failed:
		return p.fault()
	case p.passes():
		return p.pass()
	}
	return p.keep()
}

func (p *passage) read() error {
	names := intercept.EventNames(p.part, len(p.payloads))
	for _, payload := range p.payloads {
		switch {
		case intercept.IsBlank(payload):
		case intercept.IsDone(payload):
			p.ends = true
		default:
			e, err := decode(string(payload), names)
			if err != nil {
				return err
			}
			p.events = append(p.events, e)
			p.ends = p.ends || e.kind == kindMessageDelta || e.kind == kindMessageStop
		}
	}
	return nil
}

// take notes what an event says.
func (p *passage) take(e *event) error {
	if e.kind >= kindMessageStart && e.kind <= kindMessageStop {
		p.named, p.unnamed = p.named || e.named, p.unnamed || !e.named
	}
	switch e.kind {
	case kindMessageStart:
		return p.begin(&e.message)
	case kindBlockStart:
		return p.block(e.block, e.index)
	case kindBlockDelta:
		return p.grow(e.delta, e.index)
	case kindBlockStop:
		return p.close(e.index)
	case kindMessageDelta:
		p.learn(&e.message)
	case kindMessageStop:
		p.done = true
	case kindError:
		p.failed = true
	}
	return nil
}

func (p *passage) begin(m *message) error {
	if p.started {
		if len(p.events) > 1 {
			return intercept.NotUnderstood("a message starts twice in one event")
		}
		if err := p.splice(); err != nil {
			return err
		}
	}
	p.started = true
	if p.id == "" && p.model == "" {
		p.answer.id, p.answer.model = m.id, m.model
	}
	p.learn(m)
	for i := range m.blocks {
		if err := p.block(&m.blocks[i], p.opened); err != nil {
			return err
		}
		p.answer.last().ended = true
	}
	return nil
}

func (p *passage) block(o *opening, index int) error {
	b, err := p.open(o, index)
	if err != nil {
		return err
	}
	if b.call != nil && p.streams(b) {
		b.call.check = intercept.NewArgumentsCheck()
	}
	p.about, p.opens = append(p.about, b), append(p.opens, b)
	return nil
}

// streams reports whether a call opens as all clients read it, so that it may
// pass unbuffered if its tool is allowed by name.
func (p *passage) streams(b *block) bool {
	return p.limits.Pass != nil && !p.recasts() && !p.irregular && !p.mixed() &&
		b.call.empty() && b.call.id != "" && b.call.name != "" && len(b.call.Doubts) == 0
}

func (p *passage) grow(d *delta, index int) error {
	b := p.find(index)
	p.about = append(p.about, b)
	switch {
	case b == nil && (!d.plain || p.recasts()):
		return intercept.NotUnderstood("a part of a block that has not opened")
	case b == nil:
		return nil
	case d.input && b.role == roleSaid:
		return intercept.NotUnderstood("a block that is no tool's has an input")
	case d.more && b.unknown:
		return intercept.NotUnderstood("a block of an unknown type grows by more than text")
	case p.done && b.call != nil:
		return intercept.NotUnderstood("a call goes on behind the end of the message")
	}
	p.alternate(b)
	if b.ended {
		b.doubt(doubtGoesOn)
	}
	if !d.input {
		b.doubt(doubtMixed)
	}
	if err := p.hear(b.add(d)); err != nil {
		return err
	}
	if len(b.grown) > maxFields {
		return intercept.NotUnderstood("a block has more than %d fields in pieces", maxFields)
	}
	p.check(b, d)
	return nil
}

// alternate doubts calls when an event is about another block than the one that
// opened last.
func (p *passage) alternate(b *block) {
	if last := p.answer.last(); b != last {
		b.doubt(doubtAlternate)
		last.doubt(doubtAlternate)
	}
}

// check follows the arguments of a call that may pass unbuffered.
func (p *passage) check(b *block, d *delta) {
	if b.call == nil || b.call.check == nil {
		return
	}
	if p.mixed() {
		b.call.interrupt()
		return
	}
	for _, g := range d.fields {
		if b.call.check.Add(g.piece.Str) != nil {
			b.call.interrupt()
			return
		}
	}
}

func (p *passage) close(index int) error {
	b := p.find(index)
	p.about = append(p.about, b)
	switch {
	case b == nil && p.recasts():
		return intercept.NotUnderstood("a block ends that has not opened")
	case b == nil:
		return nil
	case b.ended:
		b.doubt(doubtEndsTwice)
	}
	p.alternate(b)
	b.ended = true
	return nil
}

// passes decides whether the part may go to the agent now. Behind something that
// is held nothing does, because blocks are numbered. What keeps the connection
// alive meanwhile is [answer.Heartbeat].
func (p *passage) passes() bool {
	if p.holding() || p.continuations > 0 && p.ends {
		return false
	}
	return p.allowedByName()
}

// allowedByName asks for each call that opens here whether its tool is allowed by
// name, and marks it.
func (p *passage) allowedByName() bool {
	for _, b := range p.about {
		if b != nil && b.call != nil && b.call.check == nil {
			return false
		}
	}
	for _, b := range p.opens {
		if b.call != nil && !p.limits.Pass(b.asCall()) {
			return false
		}
	}
	for _, b := range p.opens {
		if b.call != nil {
			b.call.passed = true
		}
	}
	return true
}

// pass lets the part go, as it came or recast.
func (p *passage) pass() error {
	if p.recasts() {
		recast, err := p.recast(p.part, p.about, &plan{})
		p.out.Add(recast)
		return err
	}
	p.out.Add(p.part)
	p.begun = p.begun || p.started
	for _, b := range p.opens {
		b.shown = true
	}
	p.learnShape()
	return nil
}

// keep holds the part back.
func (p *passage) keep() error {
	for _, b := range p.about {
		if b != nil && b.call != nil && !b.call.passed {
			b.call.check = nil
		}
	}
	if err := p.hold(p.part, p.about); err != nil {
		return err
	}
	p.learnShape()
	return nil
}

// fault passes an error that upstream reports inside a good answer. What was held
// is void.
func (p *passage) fault() error {
	if len(p.about) > 0 {
		return intercept.NotUnderstood("it reports an error and a part of a block in one event")
	}
	p.kept = intercept.Kept[[]*block]{}
	var left []*block
	for _, b := range p.blocks {
		if b.shown && (b.call == nil || b.call.passed) {
			left = append(left, b)
		}
	}
	p.blocks = left
	p.out.Add(p.part)
	return nil
}
