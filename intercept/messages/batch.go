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
	part.Failed, part.Complete, part.Spent = b.progress.failed, b.progress.done, b.spent()
	if b.progress.failed && len(part.Units()) > 0 {
		return intercept.NotUnderstood("it reports an error and a part of a block in one event")
	}
	part.Form = b.form()
	part.Rewritten = (b.rewrites() || b.released) && !b.progress.failed
	if b.progress.failed {
		b.blocks.keep(func(block *block) bool { return block.shown && (block.call == nil || block.Left()) })
	}
	return nil
}

// spent reports whether nothing of the part goes out: it has only more of a call.
func (b *body) spent() bool {
	if len(b.events) != 1 || len(b.part.Payloads) != 1 || b.part.Last || len(b.part.Units()) != 1 {
		return false
	}
	block, kind := blockOf(b.part.Units()[0]), b.events[0].kind
	return block != nil && block.call != nil && (kind == kindBlockDelta || kind == kindBlockStop)
}

func (b *body) decode() error {
	for _, payload := range b.part.Payloads {
		switch {
		case intercept.IsBlank(payload):
		case intercept.IsDone(payload):
			b.part.Ends, b.doneAt = true, len(b.events)
		default:
			e, err := decode(string(payload), b.part.Names)
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
		return b.startBlock(e.block, e.index)
	case kindBlockDelta:
		return b.extendBlock(e)
	case kindBlockStop:
		return b.endBlock(e)
	case kindMessageDelta:
		return b.progress.learn(&e.message)
	case kindMessageStop:
		b.progress.done = true
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
		if err := b.startBlock(&m.blocks[i], b.blocks.opened); err != nil {
			return err
		}
		b.blocks.last().ended = true
	}
	return b.progress.learn(m) // after the blocks: the stop reason of a message with a call is about the call
}

// restart takes a second start of the message in one stream, which gateways send when
// they try again elsewhere. Clients differ: they throw, begin again, or add the blocks
// to those of the first attempt and find them by number. If nothing is held, the agent
// gets the stream as it is, but no call after a block of the first attempt.
// Otherwise the held events of the first attempt are void, the agent's message keeps
// the blocks that have passed, and the second attempt continues it without its start.
func (b *body) restart() error {
	if b.progress.done || b.progress.stop != "" {
		return intercept.NotUnderstood("a second message is after the end of the first")
	}
	if b.part.Left() {
		return intercept.NotUnderstood("the message begins again after a call of it was released")
	}
	b.part.Forget()
	if !b.part.Held() && !b.rewrites() {
		b.style.skipped = b.style.skipped || len(b.blocks.list) > 0
		b.blocks.nextAttempt()
		return nil
	}
	b.blocks.keep(func(block *block) bool { return block.shown })
	b.part.Void()
	b.part.Send(b.blocks.closings(&intercept.Plan{}))
	b.blocks.nextAttempt()
	b.joined = true
	return nil
}

func (b *body) startBlock(o *opening, index int) error {
	block, err := b.open(b.part, o, index)
	if err != nil {
		return err
	}
	b.opens = append(b.opens, block)
	if n := len(b.blocks.list); n > 1 {
		b.finished(b.blocks.list[n-2])
	}
	return b.part.Event(&block.Unit, "")
}

// finished marks a call as complete that has ended, if all blocks before it have too and clients read their numbers alike.
func (b *body) finished(block *block) {
	if block.call == nil || b.rewrites() || b.blocks.misnumbered || b.style.skipped || b.blocks.attempt > 0 {
		return
	}
	for _, other := range b.blocks.list {
		if !other.ended {
			return
		}
		if other == block {
			b.part.Completed(&block.Unit)
			return
		}
	}
}

func (b *body) extendBlock(e *event) error {
	d, block := e.delta, b.blocks.find(e.index)
	if block == nil {
		if !d.plain || b.rewrites() {
			return intercept.NotUnderstood("a part of a block that has not opened")
		}
		return b.part.Event(nil, "")
	}
	if err := b.mayExtend(block, d); err != nil {
		return err
	}
	b.follow(block)
	input := ""
	if d.input && len(d.fields) > 0 {
		input = strictjson.Fragment(d.fields[0].piece)
	}
	if err := b.part.Event(&block.Unit, input); err != nil {
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

// follow notes that an event extends or ends a block that is not the last.
func (b *body) follow(block *block) {
	if last := b.blocks.last(); block != last {
		block.addAmbiguity(ambiguousOrder)
		last.addAmbiguity(ambiguousOrder)
	}
}

func (b *body) endBlock(e *event) error {
	block := b.blocks.find(e.index)
	if block == nil {
		if b.rewrites() {
			return intercept.NotUnderstood("a block ends that has not opened")
		}
		return b.part.Event(nil, "")
	}
	if b.follow(block); block.ended {
		block.addAmbiguity(ambiguousEnds)
	}
	block.ended = true
	if block.call != nil && strings.Contains(block.call.arguments(), `"`) { // of a message that was cut, an empty input may have no beginning
		b.finished(block)
	}
	return b.part.Event(&block.Unit, "")
}
