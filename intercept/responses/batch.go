package responses

import (
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/responses/history"
	"github.com/heldcall/heldcall/intercept/responses/wire"
)

// eventBatch is the events of one part of a stream on their way to their items.
type eventBatch struct {
	*answer
	part   *intercept.Part
	events []*wire.Event
	marks  bool // [DONE] is in it
}

// Read implements [intercept.Codec].
func (a *answer) Read(part *intercept.Part) error {
	p := &a.batch
	*p = eventBatch{answer: a, part: part, events: p.events[:0]}
	names := intercept.EventNames(part.Bytes, len(part.Payloads))
	for _, payload := range part.Payloads {
		switch {
		case intercept.IsBlank(payload):
			if err := part.Event(intercept.Event{}); err != nil {
				return err
			}
		case intercept.IsDone(payload):
			p.done, p.marks = true, true
			if err := part.Event(intercept.Event{}); err != nil {
				return err
			}
		default:
			if err := p.read(string(payload), names); err != nil {
				return err
			}
		}
	}
	part.Complete, part.Failed, part.Ends = p.closed || p.done, p.fails(), p.closes()
	// Some clients stop at [DONE] and keep what they have of a call.
	part.Withheld = p.marks && !p.closed && len(p.calls()) > 0
	return nil
}

func (p *eventBatch) read(payload string, names []string) error {
	e, err := wire.Decode(payload, names)
	if err != nil {
		return err
	}
	p.manner.note(e, p.part.Bytes)
	late := p.closed || p.done
	it, err := p.observe(e)
	if err != nil {
		return err
	}
	if late && (it != nil || e.Response != nil) {
		return intercept.NotUnderstood("it goes on after its end")
	}
	p.events = append(p.events, e)
	if err := p.report(it, e); err != nil {
		return err
	}
	p.manner.last = max(p.manner.last, e.Number)
	return p.place(it, e)
}

// place notes which item an event names, and an id in it that is not that of the item.
func (p *eventBatch) place(it *item, e *wire.Event) error {
	if e.Index >= 0 || e.ItemID != "" {
		p.latest = it
	}
	if e.ItemID == "" || (it != nil && it.entry.ID == e.ItemID) || p.strays[e.ItemID] {
		return nil
	}
	if p.strays == nil {
		p.strays = make(map[string]bool)
	}
	p.strays[strings.Clone(e.ItemID)] = true
	return p.part.Buffer(len(e.ItemID))
}

// report tells the answer of an event, with the item that it is about.
func (p *eventBatch) report(it *item, e *wire.Event) error {
	switch {
	case it == nil:
		return p.part.Event(intercept.Event{})
	case it.call == nil:
		if e.Kind == wire.KindDone {
			if err := p.part.Buffer(len(e.Raw)); err != nil {
				return err
			}
		}
		return p.part.Event(intercept.Event{Unit: &it.Unit})
	}
	if err := p.part.Buffer(e.Size()); err != nil {
		return err
	}
	event := intercept.Event{Unit: &it.Unit, Uniform: it.call.form.Type == wire.ApprovalRequest || p.uniform(it, e), Plain: p.plain(it, e)}
	switch e.Kind {
	case wire.KindAdded:
		event.Kind = intercept.EventOpen
	case wire.KindDone:
		event.Kind = intercept.EventClose
	case wire.KindInput:
		event.Kind = intercept.EventInput
		if e.Input.Fragment {
			event.Text = e.Text
		}
	}
	return p.part.Event(event)
}

// observe notes what an event contains, and finds the item that it is about.
func (p *eventBatch) observe(e *wire.Event) (it *item, err error) {
	if e.HasContent && p.strange {
		return nil, intercept.NotUnderstood("an event of an unknown type is beside an output item of an unknown type")
	}
	p.numbered = p.numbered || e.Number >= 0
	if e.Response != nil {
		if err := p.learnObject(e); err != nil {
			return nil, err
		}
	}
	switch e.Kind {
	case wire.KindAdded:
		return p.open(p.part, e.Entry, e.Index)
	case wire.KindDone:
		return p.finish(p.part, e)
	case wire.KindInput:
		return p.input(e)
	case wire.KindEnd, wire.KindFailed:
		return nil, p.end(e)
	}
	if e.Index >= 0 || e.ItemID != "" {
		return p.at(e)
	}
	return nil, nil
}

// input takes an event with a part of an input.
func (p *eventBatch) input(e *wire.Event) (*item, error) {
	it, err := p.at(e)
	switch {
	case err != nil:
		return nil, err
	case it != nil && it.call != nil:
		return it, it.take(e)
	case it == nil || it.entry.Type != e.Input.Of: // else the provider runs it
		return nil, intercept.NotUnderstood("an event has the input of a call that did not begin")
	}
	return it, nil
}

// learnObject keeps the properties of the response.
func (p *eventBatch) learnObject(e *wire.Event) error {
	o := e.Response
	switch {
	case e.Kind == wire.KindBegin && (len(p.answer.items) > 0 || p.closed):
		return intercept.NotUnderstood("a second response begins within it")
	case e.Kind != wire.KindEnd && e.Kind != wire.KindFailed && p.showsCalls(o):
		return intercept.NotUnderstood("a response shows calls before they are made")
	}
	p.begun = p.begun || e.Kind == wire.KindBegin
	p.learn(o, e.Kind == wire.KindEnd || e.Kind == wire.KindFailed)
	if e.Kind == wire.KindState { // some clients forget what they have got of a call that has begun
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

func (a *answer) showsCalls(o *wire.Object) bool {
	for _, e := range o.Output {
		if a.runs(e) != nil {
			return true
		}
	}
	return false
}

// learn remembers a response. Until it ends, nothing that is remembered pins the
// event that brought it, which repeats the request's tools.
func (a *answer) learn(o *wire.Object, ended bool) {
	if !ended {
		tools := ""
		if a.req.Verb == history.Retrieve {
			tools = strings.Clone(o.Tools)
		}
		o = &wire.Object{
			Head:   wire.Head{ID: strings.Clone(o.Head.ID), Created: strings.Clone(o.Head.Created), Previous: strings.Clone(o.Head.Previous)},
			Status: strings.Clone(o.Status), Conversation: strings.Clone(o.Conversation), Tools: tools,
			Stored: o.Stored, Unstored: o.Unstored, Background: o.Background,
		}
	}
	a.object = o
	if a.continuations == 0 && o.Head.ID != "" {
		a.head = o.Head
	}
}

// end takes the list of output items with which a response ends. It shows calls
// once more, and must show them as they were; those that only it has are made
// there.
func (p *eventBatch) end(e *wire.Event) error {
	p.closed = true
	if e.Kind == wire.KindFailed && p.object.Pending() {
		return nil // nothing of it will be run
	}
	taken := make(map[*item]bool)
	for i, shown := range e.Response.Output {
		it, err := p.concluded(shown, p.listed(i, shown, taken))
		if err != nil {
			return err
		}
		taken[it] = true
		p.ending = append(p.ending, it)
	}
	for _, it := range p.calls() {
		if !it.Passed() {
			continue
		}
		if it.judge(); len(it.Ambiguities) > 0 {
			it.Interrupt()
		}
	}
	return p.unlike(func(it *item) bool {
		lacking := len(e.Response.Output) > 0 && !taken[it] // clients that read the list alone do not see it
		return (lacking || !it.over) && !it.Begun()
	})
}

// concluded compares the item that an entry of the list at the end shows, nil where it
// is of none, with its earlier events.
func (p *eventBatch) concluded(shown *wire.Entry, it *item) (*item, error) {
	switch {
	case it != nil && it.call == nil && p.runs(shown) != nil:
		return nil, intercept.NotUnderstood("an output item is a call in the list at the end alone")
	case it != nil && it.over && shown.Raw == it.entry.Raw:
		return it, nil // it is as uniform as it was when it was done
	case it != nil && it.over:
		it.compare(shown)
	case it != nil:
		if err := it.show(shown); err != nil {
			return nil, err
		}
		if it.call != nil && !it.Passed() { // clients that wait for the end of an item do not see it
			it.Odd = true
		}
	default:
		made, err := p.open(p.part, shown, -1)
		if err != nil {
			return nil, err
		}
		it, made.over = made, true
		made.doubt("It is only in the list at the end of the answer.")
	}
	if it.call == nil || (shown.Uniform() && it.agrees(shown) && it.sameInput(shown)) {
		return it, nil
	}
	return it, it.unlike()
}

// listed finds the item that the i-th entry of the list at the end shows.
func (a *answer) listed(i int, shown *wire.Entry, taken map[*item]bool) *item {
	if i < len(a.items) && !taken[a.items[i]] && a.items[i].is(shown) {
		return a.items[i]
	}
	for _, it := range a.items {
		if !taken[it] && it.is(shown) {
			return it
		}
	}
	if i < len(a.items) && !taken[a.items[i]] && a.items[i].entry.Type == shown.Type {
		return a.items[i]
	}
	return nil
}

func (it *item) is(e *wire.Entry) bool {
	if it.entry.CallID != "" || e.CallID != "" {
		return it.entry.Type == e.Type && it.entry.CallID == e.CallID
	}
	return it.entry.Type == e.Type && it.entry.ID == e.ID
}

func (p *eventBatch) fails() bool {
	for _, e := range p.events {
		if e.Kind == wire.KindError || e.Kind == wire.KindFailed {
			return true
		}
	}
	return false
}

// closes reports whether the part ends the answer.
func (p *eventBatch) closes() bool {
	for _, e := range p.events {
		if e.Kind == wire.KindEnd {
			return true
		}
	}
	return p.marks
}

// Disposed implements [intercept.Codec].
func (a *answer) Disposed(p *intercept.Part, d intercept.Disposition) {
	switch {
	case p == nil:
		a.next = a.repeated
	case d == intercept.Sent:
		a.sent(p)
	case d == intercept.Voided:
		a.failed = true
		for _, it := range a.items {
			if it.call != nil && !it.Passed() {
				it.Void, a.moved = true, true
			}
		}
		a.recounted = a.recounted || p.Held()
		for _, e := range a.batch.events {
			a.moved = a.moved || (e.Response != nil && a.showsCalls(e.Response))
		}
	}
}

// sent remembers which numbers have gone out.
func (a *answer) sent(p *intercept.Part) {
	for _, e := range a.batch.events {
		if e.Number >= 0 {
			a.next = e.Number + 1
		}
	}
	for _, u := range p.Units() {
		if it := itemOf(u); it != nil && it.seat < 0 {
			a.takeSeat(it)
		}
	}
}
