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
	doneAt   int      // how many of the events are before [DONE], -1 where there is none
	ends     bool     // it says that the message or the stream ends
}

func (p *passage) run() error {
	if err := p.read(); err != nil {
		return err
	}
	for i, e := range p.events {
		p.over = p.over || i == p.doneAt
		if err := p.take(e); err != nil {
			return err
		}
	}
	p.over = p.over || p.doneAt == len(p.events)
	switch {
	case p.failed:
		return p.fault()
	case p.passes():
		return p.pass()
	}
	return p.keep()
}

func (p *passage) read() error {
	p.doneAt = -1
	names := intercept.EventNames(p.part, len(p.payloads))
	for _, payload := range p.payloads {
		switch {
		case intercept.IsBlank(payload):
		case intercept.IsDone(payload):
			p.ends, p.doneAt = true, len(p.events)
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
func (p *passage) style(e *event) {
	if e.kind < kindMessageStart || e.kind > kindMessageStop {
		return
	}
	if e.kind == kindBlockStart && e.block.role != roleCall {
		p.skipped = p.skipped || !e.typed || !e.named && p.named || e.unnamed && p.labelled
	}
	p.named, p.unnamed = p.named || e.named, p.unnamed || !e.named
	p.labelled = p.labelled || !e.unnamed
}

func (p *passage) begin(e *event) error {
	m := &e.message
	if p.started {
		if len(p.events) > 1 {
			return intercept.NotUnderstood("a message starts twice in one event")
		}
		if err := p.splice(); err != nil {
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
	p.learn(m) // after the blocks: with a call in it the message says that it stopped for the call
	return nil
}

func (p *passage) block(e *event, o *opening, index int) error {
	b, err := p.open(o, index)
	if err != nil {
		return err
	}
	if b.call != nil {
		b.call.uniform = b.call.uniform && p.opensUniform(e, o)
		if p.streams(b) {
			b.call.check = intercept.NewArgumentsCheck()
		}
	}
	p.about, p.opens = append(p.about, b), append(p.opens, b)
	return nil
}

// streams reports whether a call opens as all clients read it, so that it may
// pass unbuffered if its tool is allowed by name.
func (p *passage) streams(b *block) bool {
	return p.limits.Pass != nil && !p.recasts() && !p.mixed() && b.call.uniform &&
		b.call.empty() && b.call.id != "" && b.call.name != "" && len(b.call.Doubts) == 0
}

func (p *passage) grow(e *event) error {
	d, b := e.delta, p.find(e.index)
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
	case (p.answer.done || p.over) && b.call != nil:
		return intercept.NotUnderstood("a call goes on after the end of the message")
	}
	if err := p.follow(b, e, inputSchema); err != nil {
		return err
	}
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

// follow notes that an event goes on with a block, or ends it. The answer ends here
// if clients read a call in different ways because of the event and the agent has
// got its beginning: such a call can no longer be rendered.
func (p *passage) follow(b *block, e *event, schema *intercept.Schema) error {
	last := p.answer.last()
	late := b.ended || b != last || p.stop != "" || p.answer.done || p.over
	if b.call != nil && (late || !p.fits(e, schema)) {
		if b.call.begun() {
			return errOdd()
		}
		b.call.uniform = false
	}
	if b == last {
		return nil
	}
	if last.call != nil && last.call.begun() && !last.ended {
		return errOdd()
	}
	b.doubt(doubtAlternate)
	last.doubt(doubtAlternate)
	return nil
}

// errOdd is the error for a call that turns odd after its beginning has passed.
func errOdd() error {
	return intercept.NotUnderstood("a call of a tool that is allowed by name goes on in a form that clients read in different ways, after its beginning has passed")
}

// end takes the end of the message, or why it stops. A call whose beginning has
// passed must have ended by then. If the end casts doubt on such a call, the rest of
// the answer is held.
func (p *passage) end() error {
	if p.stop == "" && !p.answer.done {
		return nil
	}
	for _, b := range p.blocks {
		switch c := b.call; {
		case c == nil || !c.begun():
		case !b.ended:
			return errOdd()
		case p.cut() && b == p.answer.last():
			c.suspect(intercept.DoubtCut)
		}
	}
	return nil
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
		if b.call.check.Add(intercept.Fragment(g.piece)) != nil {
			b.call.interrupt()
			return
		}
	}
}

func (p *passage) close(e *event) error {
	b := p.find(e.index)
	p.about = append(p.about, b)
	switch {
	case b == nil && p.recasts():
		return intercept.NotUnderstood("a block ends that has not opened")
	case b == nil:
		return nil
	}
	if err := p.follow(b, e, closingSchema); err != nil {
		return err
	}
	if b.ended {
		b.doubt(doubtEndsTwice)
	}
	b.ended = true
	if c := b.call; c != nil && c.passed {
		if c.judge(); len(c.Doubts) > 0 {
			c.interrupt()
		}
	}
	return nil
}

// passes decides whether the part may go to the agent now. Behind something that
// is held nothing does, because blocks are numbered. What keeps the connection
// alive meanwhile is [answer.Heartbeat].
func (p *passage) passes() bool {
	if p.holding() || p.ends && (p.continuations > 0 || len(p.pending()) > 0) {
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
