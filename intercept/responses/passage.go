package responses

import (
	"strings"

	"github.com/heldcall/heldcall/intercept"
)

// passage is the way of one part through the answer: it is read, its events go
// to their items, and it passes or is held.
type passage struct {
	*answer
	part     []byte
	payloads [][]byte
	events   []*event
	items    []*item // by payload, nil where it belongs to none
	marks    bool    // [DONE] is in it
	last     bool    // the stream has ended within it
}

func (p *passage) run() error {
	names := intercept.EventNames(p.part, len(p.payloads))
	for _, payload := range p.payloads {
		switch {
		case intercept.IsBlank(payload):
			p.items = append(p.items, nil)
		case intercept.IsDone(payload):
			p.items = append(p.items, nil)
			p.done, p.marks = true, true
		default:
			e, err := decode(string(payload), names)
			if err != nil {
				return err
			}
			p.manner.note(e, p.part)
			late := p.closed || p.done
			it, err := p.observe(e)
			if err != nil {
				return err
			}
			if late && (it != nil || e.response != nil) {
				return intercept.NotUnderstood("it goes on after its end")
			}
			p.events, p.items = append(p.events, e), append(p.items, it)
		}
	}
	switch {
	case p.fails():
		return p.fault()
	case p.passes():
		return p.pass()
	}
	return p.keep()
}

// observe notes what an event says, and finds the item that it is about.
func (p *passage) observe(e *event) (it *item, err error) {
	if e.says && p.strange {
		return nil, intercept.NotUnderstood("an event of an unknown type stands beside an output item of an unknown type")
	}
	p.numbered = p.numbered || e.number >= 0
	if e.response != nil {
		if err := p.learnObject(e); err != nil {
			return nil, err
		}
	}
	switch e.kind {
	case kindAdded:
		it, err = p.open(e.entry, e.index)
	case kindDone:
		it, err = p.answer.complete(e)
	case kindInput:
		switch it, err = p.at(e); {
		case err != nil:
		case it != nil && it.call != nil:
			err = it.take(e)
		case it == nil || it.entry.typ != e.input.of: // else the provider runs it
			err = intercept.NotUnderstood("an event has the input of a call that did not begin")
		}
	case kindEnd, kindFailed:
		err = p.end(e)
	default:
		if e.index >= 0 || e.itemID != "" {
			it, err = p.at(e)
		}
	}
	if err == nil && it != nil && it.call != nil {
		if err = p.hear(e.size()); err == nil {
			err = p.check(it, e)
		}
	} else if err == nil && e.kind == kindDone {
		err = p.hear(len(e.raw))
	}
	if err == nil {
		err = p.place(e, it)
	}
	p.manner.last = max(p.manner.last, e.number)
	return it, err
}

// place notes which item an event names, and an id in it that is not that of the item.
func (p *passage) place(e *event, it *item) error {
	if e.index >= 0 || e.itemID != "" {
		p.latest = it
	}
	if e.itemID == "" || (it != nil && it.entry.id == e.itemID) || p.strays[e.itemID] {
		return nil
	}
	if p.strays == nil {
		p.strays = make(map[string]bool)
	}
	p.strays[strings.Clone(e.itemID)] = true
	return p.hear(len(e.itemID))
}

// learnObject keeps what the response says of itself.
func (p *passage) learnObject(e *event) error {
	o := e.response
	switch {
	case e.kind == kindBegin && (len(p.answer.items) > 0 || p.closed):
		return intercept.NotUnderstood("a second response begins within it")
	case e.kind != kindEnd && e.kind != kindFailed && p.showsCalls(o):
		return intercept.NotUnderstood("a response shows calls before they are made")
	}
	p.begun = p.begun || e.kind == kindBegin
	p.learn(o, e.kind == kindEnd || e.kind == kindFailed)
	if e.kind == kindState { // some clients forget what they have got of a call that has begun
		return p.unlike(func(it *item) bool { return !it.over })
	}
	return nil
}

// unlike notes of some calls that clients may read them in different ways.
func (a *answer) unlike(which func(*item) bool) error {
	for _, it := range a.calls() {
		if which(it) {
			if err := it.unlike(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *answer) showsCalls(o *object) bool {
	for _, e := range o.output {
		if a.runs(e) != nil {
			return true
		}
	}
	return false
}

// learn remembers a response. Until it ends, nothing that is remembered pins the
// event that brought it, which repeats the request's tools.
func (a *answer) learn(o *object, ended bool) {
	if !ended {
		tools := ""
		if a.req.verb == retrieve {
			tools = strings.Clone(o.tools)
		}
		o = &object{
			head:   head{strings.Clone(o.head.id), strings.Clone(o.head.created), strings.Clone(o.head.previous)},
			status: strings.Clone(o.status), conversation: strings.Clone(o.conversation), tools: tools,
			stored: o.stored, unstored: o.unstored, background: o.background,
		}
	}
	a.object = o
	if a.continuations == 0 && o.head.id != "" {
		a.head = o.head
	}
}

// end takes the list of output items with which a response ends. It shows calls
// once more, and must show them as they were; those that only it has are made
// there.
func (p *passage) end(e *event) error {
	p.closed = true
	if e.kind == kindFailed && p.object.pending() {
		return nil // nothing of it will be run
	}
	taken := make(map[*item]bool)
	for i, shown := range e.response.output {
		it, err := p.concluded(shown, p.listed(i, shown, taken))
		if err != nil {
			return err
		}
		taken[it] = true
		p.ending = append(p.ending, it)
	}
	for _, it := range p.calls() {
		if !it.call.passed {
			continue
		}
		if it.judge(); len(it.call.doubts) > 0 {
			it.call.interrupt()
		}
	}
	return p.unlike(func(it *item) bool {
		lacking := len(e.response.output) > 0 && !taken[it] // clients that read the list alone do not see it
		return (lacking || !it.over) && !it.call.passed && !it.call.broken
	})
}

// concluded compares the item that an entry of the list at the end shows, nil where it
// is of none, with what came of it before.
func (p *passage) concluded(shown *entry, it *item) (*item, error) {
	switch {
	case it != nil && it.call == nil && p.runs(shown) != nil:
		return nil, intercept.NotUnderstood("an output item is a call in the list at the end alone")
	case it != nil && it.over && shown.raw == it.entry.raw:
		return it, nil // it is as uniform as it was when it was done
	case it != nil && it.over:
		it.compare(shown)
	case it != nil:
		if err := it.show(shown); err != nil {
			return nil, err
		}
		if it.call != nil && !it.call.passed { // clients that wait for the end of an item do not see it
			it.call.odd = true
		}
	default:
		made, err := p.open(shown, -1)
		if err != nil {
			return nil, err
		}
		it, made.over = made, true
		made.doubt("It is only in the list at the end of the answer.")
	}
	if it.call == nil || (shown.uniform() && it.agrees(shown) && it.sameInput(shown)) {
		return it, nil
	}
	return it, it.unlike()
}

// listed finds the item that the i-th entry of the list at the end shows.
func (a *answer) listed(i int, shown *entry, taken map[*item]bool) *item {
	if i < len(a.items) && !taken[a.items[i]] && a.items[i].is(shown) {
		return a.items[i]
	}
	for _, it := range a.items {
		if !taken[it] && it.is(shown) {
			return it
		}
	}
	if i < len(a.items) && !taken[a.items[i]] && a.items[i].entry.typ == shown.typ {
		return a.items[i]
	}
	return nil
}

func (it *item) is(e *entry) bool {
	if it.entry.callID != "" || e.callID != "" {
		return it.entry.typ == e.typ && it.entry.callID == e.callID
	}
	return it.entry.typ == e.typ && it.entry.id == e.id
}

// hear bounds what is remembered.
func (a *answer) hear(n int) error {
	if a.heard += n; a.limits.MaxBytes > 0 && a.heard > a.limits.MaxBytes {
		return intercept.TooLong()
	}
	return nil
}

// pass lets the part go: as it came, or recast to belong to the answer that the
// agent has begun to read.
func (p *passage) pass() error {
	if p.verbatim() {
		p.goAhead()
		p.out.Add(p.part)
		p.note()
		p.learnShape()
		return nil
	}
	recast, err := p.recast(p.part, p.items, &plan{})
	if err != nil {
		return err
	}
	p.out.Add(recast)
	return nil
}

// verbatim reports whether what passes is what upstream sent.
func (a *answer) verbatim() bool {
	return a.continuations == 0 && !a.recounted && !a.moved && a.req.after < 0 && a.req.known.alias == ""
}

// note remembers which numbers have gone out.
func (p *passage) note() {
	events := p.events
	for _, e := range events {
		if e.number >= 0 {
			p.next = e.number + 1
		}
	}
	for _, it := range p.items {
		if it != nil && it.seat < 0 {
			p.takeSeat(it)
		}
	}
}

// keep holds the part back.
func (p *passage) keep() error {
	for _, it := range p.items {
		if it != nil && it.call != nil && !it.call.passed && it != p.opened {
			it.call.check = nil
		}
	}
	if err := p.kept.Hold(p.part, p.items, p.limits.MaxBytes); err != nil {
		return err
	}
	p.learnShape()
	return nil
}

func (p *passage) fails() bool {
	for _, e := range p.events {
		if e.kind == kindError || e.kind == kindFailed {
			return true
		}
	}
	return false
}

// fault passes an error that upstream reports inside a good answer. What was
// held is void.
func (p *passage) fault() error {
	p.failed = true
	for _, it := range p.items {
		if it != nil && it.call != nil {
			return intercept.NotUnderstood("it reports an error and a call in one event")
		}
	}
	for _, it := range p.answer.items {
		if it.call != nil && !it.call.passed {
			it.void, p.moved = true, true
		}
	}
	if p.holding() {
		p.kept, p.recounted = intercept.Kept[[]*item]{}, true
	}
	for _, e := range p.events {
		if e.response != nil && p.showsCalls(e.response) {
			p.moved = true
		}
	}
	return p.pass()
}
