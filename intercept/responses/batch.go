package responses

import (
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
)

// eventBatch is the events of one part of a stream, which it adds to the items of the
// body.
type eventBatch struct {
	body   *body
	out    *agentStream
	part   *intercept.Part
	echo   bool // what repeats the request is needed
	events []*event
}

// Read implements [intercept.Codec].
func (a *answer) Read(part *intercept.Part) error {
	if part.Whole {
		return a.readWhole(part)
	}
	p := &a.batch
	*p = eventBatch{body: &a.body, out: &a.out, part: part, echo: a.req.id != "" || a.limits.Offered != nil, events: p.events[:0]}
	for i, payload := range part.Payloads {
		var err error
		switch {
		case intercept.IsDone(payload):
			p.body.finishStream()
			part.Ends = true
			err = part.Event(nil, "")
		case intercept.IsBlank(payload):
			err = part.Event(nil, "")
		default:
			err = p.read(part.Abridged[i])
		}
		if err != nil {
			return err
		}
	}
	part.Complete, part.Spent = p.body.closed || p.body.doneMark, p.spent()
	// Some clients stop at [DONE] and keep what they have of a call.
	part.Withheld = part.Ends && !p.body.closed && len(p.body.calls()) > 0
	if part.Failed {
		a.void(part)
	}
	part.Form = a.form(part)
	part.Rewritten = !a.out.verbatim() || offered(a.limits.Offered).repeated(p.events)
	return nil
}

// spent reports whether nothing of the part goes out: it has only more of a call, or its end.
func (p *eventBatch) spent() bool {
	if len(p.events) != 1 || len(p.part.Payloads) != 1 || p.part.Last || len(p.part.Units()) != 1 {
		return false
	}
	it, kind := itemOf(p.part.Units()[0]), p.events[0].kind
	return it != nil && it.call != nil && (kind == kindInput || (kind == kindDone && it.call.began != nil))
}

func (p *eventBatch) read(payload strictjson.Abridged) error {
	e, err := decodeEvent(payload, p.part.Names, p.echo)
	if err != nil {
		return err
	}
	late := p.body.closed || p.body.doneMark
	it, err := p.apply(e)
	if err != nil {
		return err
	}
	if late && (it != nil || e.response != nil) {
		return intercept.NotUnderstood("it has events after its end")
	}
	p.events = append(p.events, e)
	p.part.Failed = p.part.Failed || e.kind == kindError || e.kind == kindFailed
	p.part.Ends = p.part.Ends || e.kind == kindEnd
	if err := p.report(it, e); err != nil {
		return err
	}
	return p.part.Buffer(p.body.locate(it, e))
}

// report reports an event, with the item that it is about, to the answer.
func (p *eventBatch) report(it *item, e *event) error {
	switch {
	case it == nil:
		return p.part.Event(nil, "")
	case it.call == nil:
		if e.kind == kindAdded || e.kind == kindDone { // its entry is kept
			if err := p.part.Buffer(e.length); err != nil {
				return err
			}
		}
		return p.part.Event(&it.Unit, "")
	}
	if err := p.part.Buffer(e.size()); err != nil {
		return err
	}
	if e.kind == kindInput && e.input.fragment {
		return p.part.Event(&it.Unit, e.text)
	}
	return p.part.Event(&it.Unit, "")
}

// apply adds an event to the body, and finds the item that it is about.
func (p *eventBatch) apply(e *event) (it *item, err error) {
	if e.hasContent && p.body.strange {
		return nil, intercept.NotUnderstood("an event of an unknown type is beside an output item of an unknown type")
	}
	p.out.learn(e)
	if e.response != nil {
		if err := p.learn(e); err != nil {
			return nil, err
		}
	}
	switch e.kind {
	case kindAdded:
		return p.body.open(p.part, e.entry, e.index)
	case kindDone:
		it, err := p.body.finish(p.part, e)
		if err == nil && p.body.separate(it) && !it.call.form.free && strings.Contains(it.input(), `"`) {
			p.part.Completed(&it.Unit)
		}
		return it, err
	case kindInput:
		return p.input(e)
	case kindEnd, kindFailed:
		return nil, p.end(e)
	}
	if e.index >= 0 || e.itemID != "" {
		return p.body.find(e)
	}
	return nil, nil
}

// input adds an event with a part of an input to its call.
func (p *eventBatch) input(e *event) (*item, error) {
	it, err := p.body.find(e)
	switch {
	case err != nil:
		return nil, err
	case it != nil && it.call != nil:
		return it, it.take(e)
	case it == nil || it.entry.typ != e.input.of: // else the provider runs it
		return nil, intercept.NotUnderstood("an event has the input of a call that did not begin")
	}
	return it, nil
}

// learn keeps the properties of the response in an event.
func (p *eventBatch) learn(e *event) error {
	b, ended := p.body, e.ends()
	switch {
	case e.kind == kindBegin && (len(b.items) > 0 || b.closed):
		return intercept.NotUnderstood("a second response begins within it")
	case !ended && b.showsCalls(e.response):
		return intercept.NotUnderstood("a response shows calls before they are made")
	}
	b.learn(e.response, ended)
	p.out.begin(b.object.head)
	return nil
}

// end takes the list of output items with which a response ends. It shows all calls
// again, and has to show them unchanged. Calls that only the list has begin there.
func (p *eventBatch) end(e *event) error {
	b := p.body
	if e.kind == kindFailed && b.object.pending() {
		return nil // no client runs its calls
	}
	taken := make(map[*item]bool)
	for i, shown := range e.response.output {
		it, err := p.conclude(shown, b.inList(i, shown, taken))
		if err != nil {
			return err
		}
		taken[it] = true
		b.addListed(it)
	}
	return nil
}

// conclude compares an entry of the list at the end with the item that it shows, nil for
// a new one, and returns the item.
func (p *eventBatch) conclude(shown *entry, it *item) (*item, error) {
	switch {
	case it == nil:
		made, err := p.body.open(p.part, shown, -1)
		if err != nil {
			return nil, err
		}
		it, made.done = made, true
		made.markOdd("It is only in the list at the end of the answer.")
	case it.call == nil && p.body.formOf(shown) != nil:
		return nil, intercept.NotUnderstood("an output item is a call in the list at the end alone")
	case it.done && shown.raw == it.entry.raw:
		return it, nil // the bytes were checked when the item was done
	case it.done:
		it.compare(shown)
	default:
		it.show(shown)
	}
	return it, nil
}
