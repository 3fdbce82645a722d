package responses

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept"

	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// body is one body of upstream, as far as it was read.
type body struct {
	req      *request
	items    []*item         // in the order they began
	listed   []*item         // in the order of the list at the end
	strange  bool            // an item is of an unknown type
	object   *object         // the response as its last event shows it
	closed   bool            // an event ended the response
	doneMark bool            // [DONE] was read
	failed   bool            // upstream reported an error
	strayIDs map[string]bool // ids in events about no item or about an item with another id, those of earlier bodies too
}

// calls lists the items that the agent would run.
func (b *body) calls() (list []*item) {
	for _, it := range b.items {
		if it.call != nil && !it.Void {
			list = append(list, it)
		}
	}
	return list
}

// text is the text of the messages to the user.
func (b *body) text() string {
	var text strings.Builder
	for _, it := range b.items {
		text.WriteString(it.entry.message())
	}
	return text.String()
}

// responseID is upstream's id of the response.
func (b *body) responseID() string {
	if b.object == nil {
		return ""
	}
	return gjson.Parse(b.object.head.id).Str
}

// resumable reports whether the agent may ask for the events of the answer again. Then
// their numbers have to be upstream's.
func (b *body) resumable() bool {
	return b.req.again || (b.object != nil && b.object.background)
}

// stored reports whether upstream keeps the response. The request takes precedence over
// the response, in which servers set the field by default.
func (b *body) stored() bool {
	return b.object != nil && (b.object.stored || b.req.outgoing.Connected) && !b.req.unstored()
}

// learn keeps a response. Until the response ends, nothing that is kept references the
// event, which repeats the request's tools.
func (b *body) learn(o *object, ended bool) {
	if !ended {
		tools := ""
		if b.req.operation == opRetrieve {
			tools = strings.Clone(o.tools)
		}
		o = &object{
			head:   responseHead{id: strings.Clone(o.head.id), created: strings.Clone(o.head.created), previous: strings.Clone(o.head.previous)},
			status: strings.Clone(o.status), conversation: strings.Clone(o.conversation), tools: tools,
			stored: o.stored, unstored: o.unstored, background: o.background,
		}
	}
	b.object, b.closed = o, b.closed || ended
}

// finishStream notes that [DONE] was read.
func (b *body) finishStream() { b.doneMark = true }

// locate notes an id in an event that is not that of the item that it is about. It returns the
// number of bytes that it remembers.
func (b *body) locate(it *item, e *event) int {
	if e.itemID == "" || (it != nil && it.entry.id == e.itemID) || b.strayIDs[e.itemID] {
		return 0
	}
	if b.strayIDs == nil {
		b.strayIDs = make(map[string]bool)
	}
	b.strayIDs[strings.Clone(e.itemID)] = true
	return len(e.itemID)
}

// open adds an item for an entry that shows no known one.
func (b *body) open(p *intercept.Part, e *entry, index int) (*item, error) {
	if len(b.items) == maxItems {
		return nil, intercept.NotUnderstood("it has more than %d output items", maxItems)
	}
	it := &item{index: index, entry: e, agentIndex: -1}
	it.Of = it
	if f := b.formOf(e); f != nil {
		it.call, it.Call, it.Hidden = &call{form: f}, true, f.typ == approvalRequest
		p.Open(&it.Unit)
		it.checkShape()
		b.checkNamespace(it)
	}
	for _, other := range b.items {
		it.checkShared(other)
	}
	if it.call != nil && b.strayIDs[e.id] { // LangChain for Python uses the index that came with the id first
		it.call.sharedID = true
	}
	if n := len(b.items); n > 0 && b.separate(b.items[n-1]) {
		p.Completed(&b.items[n-1].Unit)
	}
	b.items, b.strange = append(b.items, it), b.strange || e.isUnknown()
	p.Forget()
	return it, nil
}

// find finds the item that an event is about: by its index, else by its id, else the
// last one that is not done. Some servers change the ids from one event to the next, so
// that an unknown id is ignored.
func (b *body) find(e *event) (*item, error) {
	indexed := b.last(func(it *item) bool { return e.index >= 0 && it.index == e.index })
	named := b.last(func(it *item) bool { return it.isNamed(e.itemID) })
	switch {
	case e.index < 0 && named != nil:
		return named, nil
	case e.index < 0:
		return b.last(func(it *item) bool { return !it.done }), nil
	case named == nil || named == indexed:
		return indexed, nil
	case indexed != nil:
		return nil, intercept.NotUnderstood("an event names two different output items")
	case named.call != nil:
		return nil, intercept.NotUnderstood("an event has the id of a call, and the number of no output item")
	}
	return nil, nil
}

// last returns the last item of which a predicate is true, nil for none.
func (b *body) last(is func(*item) bool) *item {
	for _, it := range slices.Backward(b.items) {
		if is(it) {
			return it
		}
	}
	return nil
}

// finish takes an entry that shows a complete item. Some servers show items only then.
func (b *body) finish(p *intercept.Part, e *event) (*item, error) {
	it, err := b.findDone(e)
	if err != nil {
		return nil, err
	}
	if it == nil || (it.done && !it.same(e.entry)) {
		if it, err = b.open(p, e.entry, e.index); err == nil {
			it.done = true
		}
		return it, err
	}
	if it.entry.typ != e.entry.typ || (it.call == nil && b.formOf(e.entry) != nil) {
		return nil, intercept.NotUnderstood("an output item changes its type")
	}
	if it.show(e.entry); it.entry == e.entry && it.call != nil {
		b.checkNamespace(it)
	}
	return it, nil
}

// separate reports whether an item is a call that is done and may leave before the end of the answer. Where the agent may ask
// for the events again, all leave at the end; so do calls that the provider runs.
func (b *body) separate(it *item) bool {
	if it.call == nil || !it.done || it.Hidden || it.call.form.unknown || it.callID() == "" || it.entry.status == "incomplete" {
		return false
	}
	return b.req.operation == opCreate && b.object != nil && !b.resumable()
}

// findDone finds the item that is done. An event without an index and an item id is about
// the item with the ids of its entry.
func (b *body) findDone(e *event) (*item, error) {
	by := *e
	if by.itemID == "" && e.index < 0 {
		by.itemID = e.entry.id
		if by.itemID == "" {
			by.itemID = e.entry.callID
		}
	}
	return b.find(&by)
}

// inList finds the item that the i-th entry of the list at the end shows.
func (b *body) inList(i int, shown *entry, taken map[*item]bool) *item {
	var here *item
	if i < len(b.items) && !taken[b.items[i]] {
		here = b.items[i]
	}
	if here != nil && here.is(shown) {
		return here
	}
	for _, it := range b.items {
		if !taken[it] && it.is(shown) {
			return it
		}
	}
	if here != nil && here.entry.typ == shown.typ {
		return here
	}
	return nil
}

// addListed adds the item of the next entry of the list at the end.
func (b *body) addListed(it *item) { b.listed = append(b.listed, it) }

// concluded returns the item of the i-th entry of a list at the end, as it was found
// when the list was read. In a list that was not read, no call is one that the provider ran.
func (b *body) concluded(i int, o *object, taken map[*item]bool) *item {
	if len(b.listed) == len(o.output) {
		return b.listed[i]
	}
	it := b.inList(i, o.output[i], taken)
	if it != nil && it.call == nil && b.formOf(o.output[i]) != nil {
		return nil
	}
	return it
}

// showsCalls reports whether a list of output items has a call that the agent would run.
func (b *body) showsCalls(o *object) bool {
	return slices.ContainsFunc(o.output, func(e *entry) bool { return b.formOf(e) != nil })
}

// void drops the calls, because the answer fails, and reports whether there were any.
func (b *body) void() (dropped bool) {
	b.failed = true
	for _, it := range b.items {
		if it.call != nil && !it.Left() {
			it.Void, dropped = true, true
		}
	}
	return dropped
}

// identify makes up ids for the calls without one, in the n-th body of a turn.
func (b *body) identify(turn string, n int) {
	for i, it := range b.items {
		if it.call != nil && it.callID() == "" && it.call.form.typ != approvalRequest && !it.call.form.unknown {
			it.call.id = strictjson.MadeUpID(turn, n*maxItems+i)
		}
	}
}

// history is the part of a conversation that upstream needs where it does not keep the
// response: every item in its place. Reasoning that upstream can neither look up nor
// decrypt is left out, and so are the ids by which upstream would miss it.
func (b *body) history() (items []string) {
	lost, unstored := false, b.object.unstored || b.req.unstored()
	for _, it := range b.items {
		if it.entry.typ == "reasoning" && unstored && it.entry.field("encrypted_content").Str == "" {
			lost = true
		}
	}
	for _, it := range b.items {
		switch {
		case it.call != nil && it.Void:
		case lost && it.entry.typ == "reasoning":
		case lost:
			items = append(items, withoutID(it.original()))
		default:
			items = append(items, it.original())
		}
	}
	return items
}
