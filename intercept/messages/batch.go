package messages

import (
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
)

// maxFields bounds the fields of a block that are sent in pieces.
const maxFields = 16

// read reads the events of one part of a stream.
func (b *body) read(part *intercept.Part) error {
	b.part, b.events, b.opens, b.doneAt = part, b.events[:0], b.opens[:0], -1
	if err := b.decode(); err != nil {
		return err
	}
	for i, e := range b.events {
		b.progress.over = b.progress.over || i == b.doneAt
		if err := b.take(e); err != nil {
			return err
		}
	}
	b.progress.over = b.progress.over || b.doneAt == len(b.events)
	part.Failed, part.Complete = b.progress.failed, b.progress.done
	if b.progress.failed && len(part.Units()) > 0 {
		return intercept.NotUnderstood("it reports an error and a part of a block in one event")
	}
	return nil
}

func (b *body) decode() error {
	names := intercept.EventNames(b.part.Lines, len(b.part.Payloads))
	for _, payload := range b.part.Payloads {
		switch {
		case intercept.IsBlank(payload):
		case intercept.IsDone(payload):
			b.part.Ends, b.doneAt = true, len(b.events)
		default:
			e, err := decode(string(payload), names)
			if err != nil {
				return err
			}
			b.events = append(b.events, e)
			b.part.Ends = b.part.Ends || e.kind == kindMessageDelta || e.kind == kindMessageStop
		}
	}
	return nil
}

// take takes one event.
func (b *body) take(e *event) error {
	b.style.add(e)
	switch e.kind {
	case kindMessageStart:
		return b.startMessage(e)
	case kindBlockStart:
		return b.startBlock(e, e.block, e.index)
	case kindBlockDelta:
		return b.extendBlock(e)
	case kindBlockStop:
		return b.endBlock(e)
	case kindMessageDelta:
		if err := b.progress.learn(&e.message); err != nil {
			return err
		}
		return b.endMessage()
	case kindMessageStop:
		b.progress.done = true
		return b.endMessage()
	case kindError:
		b.progress.failed = true
	}
	return nil
}

func (b *body) startMessage(e *event) error {
	if b.progress.started {
		if len(b.events) > 1 {
			return intercept.NotUnderstood("a message starts twice in one event")
		}
		if err := b.restart(); err != nil {
			return err
		}
	} else if b.blocks.opened > 0 {
		b.style.skipped = true // SDKs drop what precedes the message
	}
	b.progress.started = true
	m := &e.message
	b.progress.id = strings.Clone(m.id)
	for i := range m.blocks {
		if err := b.startBlock(e, &m.blocks[i], b.blocks.opened); err != nil {
			return err
		}
		b.blocks.last().ended = true
	}
	return b.progress.learn(m) // after the blocks: the stop reason of a message with a call is about the call
}

// restart takes a second start of the message in one stream, which gateways send when
// they try again elsewhere. Clients differ: they throw, begin again, or add the blocks
// to those of the first attempt and find them by number. If nothing is held, the agent
// gets the stream as it is, but no call after a block or a call of the first attempt.
// Otherwise the held events of the first attempt are void, the agent's message keeps
// the blocks that have passed, and the second attempt continues it without its start.
func (b *body) restart() error {
	if b.progress.done || b.progress.stop != "" {
		return intercept.NotUnderstood("a second message is after the end of the first")
	}
	b.part.Forget()
	if !b.part.Held() && !b.rewrites() {
		if len(b.blocks.calls()) > 0 {
			return intercept.NotUnderstood("the message starts twice, after a call had passed")
		}
		b.style.skipped = b.style.skipped || len(b.blocks.list) > 0
		b.blocks.nextAttempt()
		return nil
	}
	for _, block := range b.blocks.list {
		if block.call != nil && (block.Broken() || (block.Passed() && !block.ended)) {
			return intercept.NotUnderstood("it begins again within a call of a tool that is allowed by name, the beginning of which has passed")
		}
	}
	b.blocks.keep(func(block *block) bool { return block.shown })
	b.part.Void()
	b.part.Send(b.blocks.closings(&intercept.Plan{}))
	b.blocks.nextAttempt()
	b.joined = true
	return nil
}

func (b *body) startBlock(e *event, o *opening, index int) error {
	block, err := b.open(b.part, o, index)
	if err != nil {
		return err
	}
	b.opens = append(b.opens, block)
	opened := intercept.Event{Unit: &block.Unit, Kind: intercept.EventOpen}
	if c := block.call; c != nil {
		opened.Uniform = b.opensUniform(e, o)
		opened.Plain = !b.rewrites() && !b.style.mixed() && c.empty() && c.id != "" && c.name != ""
	}
	return b.part.Event(opened)
}

func (b *body) extendBlock(e *event) error {
	d, block := e.delta, b.blocks.find(e.index)
	if block == nil {
		if !d.plain || b.rewrites() {
			return intercept.NotUnderstood("a part of a block that has not opened")
		}
		return b.part.Event(intercept.Event{})
	}
	if err := b.mayExtend(block, d); err != nil {
		return err
	}
	uniform, err := b.follow(block, e, inputSchema)
	if err != nil {
		return err
	}
	input := intercept.Event{Unit: &block.Unit, Kind: intercept.EventInput, Uniform: uniform, Plain: !b.style.mixed()}
	if d.input && len(d.fields) > 0 {
		input.Text = strictjson.Fragment(d.fields[0].piece)
	}
	if err := b.part.Event(input); err != nil {
		return err
	}
	if block.ended {
		block.addAmbiguity(ambiguousLate)
	}
	if !d.input {
		block.addAmbiguity(ambiguousDelta)
	}
	if err := b.part.Buffer(block.add(d)); err != nil {
		return err
	}
	if len(block.grown) > maxFields {
		return intercept.NotUnderstood("a block has more than %d fields in pieces", maxFields)
	}
	return nil
}

// mayExtend refuses a delta that does not belong to its block.
func (b *body) mayExtend(block *block, d *delta) error {
	switch {
	case d.input && block.role == roleText:
		return intercept.NotUnderstood("a block that is no tool's has an input")
	case d.more && block.unknown:
		return intercept.NotUnderstood("a block of an unknown type grows by more than text")
	case block.call != nil && (b.progress.done || b.progress.over):
		return intercept.NotUnderstood("a call continues after the end of the message")
	}
	return nil
}

// follow takes an event that extends or ends a block, and reports whether all clients
// read it alike. It returns an error if it makes a call ambiguous whose
// beginning the agent has got: such a call can no longer be rendered.
func (b *body) follow(block *block, e *event, schema *strictjson.Schema) (uniform bool, err error) {
	last := b.blocks.last()
	uniform = block.call != nil && !block.ended && block == last && !b.progress.stopped() && b.fits(e, schema)
	if block == last {
		return uniform, nil
	}
	if last.call != nil && last.Begun() && !last.ended {
		return uniform, last.Differ()
	}
	if block.call != nil && block.Begun() {
		return uniform, block.Differ()
	}
	block.addAmbiguity(ambiguousOrder)
	last.addAmbiguity(ambiguousOrder)
	return uniform, nil
}

func (b *body) endBlock(e *event) error {
	block := b.blocks.find(e.index)
	if block == nil {
		if b.rewrites() {
			return intercept.NotUnderstood("a block ends that has not opened")
		}
		return b.part.Event(intercept.Event{})
	}
	uniform, err := b.follow(block, e, closingSchema)
	if err != nil {
		return err
	}
	again := block.ended
	block.ended = true
	if err := b.part.Event(intercept.Event{Unit: &block.Unit, Kind: intercept.EventClose, Uniform: uniform, Plain: true}); err != nil {
		return err
	}
	if again {
		block.addAmbiguity(ambiguousEnds)
	}
	return nil
}

// endMessage takes the end of the message, or its stop reason. A call whose beginning
// has passed must have ended by then; if the stop reason makes it ambiguous, the rest
// of the answer is held.
func (b *body) endMessage() error {
	if b.progress.stop == "" && !b.progress.done {
		return nil
	}
	for _, block := range b.blocks.list {
		switch {
		case block.call == nil || !block.Begun():
		case !block.ended:
			return block.Differ()
		case b.progress.cut() && block == b.blocks.last():
			block.MarkAmbiguous(intercept.AmbiguousCut)
		}
	}
	return nil
}
