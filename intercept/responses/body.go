package responses

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/responses/history"
	"github.com/heldcall/heldcall/intercept/responses/wire"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// body is one body of upstream, as far as it was read.
type body struct {
	req      *history.Request
	items    []*item         // in the order they began
	listed   []*item         // in the order of the list at the end
	strange  bool            // an item is of an unknown type
	style    eventStyle      // of its events
	latest   *item           // of the last event that names an item, nil for an item that did not begin
	object   *wire.Object    // the response as its last event shows it
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
		text.WriteString(it.entry.Message())
	}
	return text.String()
}

// responseID is upstream's id of the response.
func (b *body) responseID() string {
	if b.object == nil {
		return ""
	}
	return gjson.Parse(b.object.Head.ID).Str
}

// resumable reports whether the agent may ask for the events of the answer again. Then
// their numbers have to be upstream's.
func (b *body) resumable() bool {
	return b.req.ID != "" || string(b.req.Field("background")) == "true" || (b.object != nil && b.object.Background)
}

// stored reports whether upstream keeps the response. The request takes precedence over
// the response, in which servers set the field by default.
func (b *body) stored() bool {
	return b.object != nil && b.object.Stored && !b.req.Unstored()
}

// learn keeps a response. Until the response ends, nothing that is kept references the
// event, which repeats the request's tools.
func (b *body) learn(o *wire.Object, ended bool) {
	if !ended {
		tools := ""
		if b.req.Operation == history.Retrieve {
			tools = strings.Clone(o.Tools)
		}
		o = &wire.Object{
			Head:   wire.Head{ID: strings.Clone(o.Head.ID), Created: strings.Clone(o.Head.Created), Previous: strings.Clone(o.Head.Previous)},
			Status: strings.Clone(o.Status), Conversation: strings.Clone(o.Conversation), Tools: tools,
			Stored: o.Stored, Unstored: o.Unstored, Background: o.Background,
		}
	}
	b.object, b.closed = o, b.closed || ended
}

// finishStream notes that [DONE] was read.
func (b *body) finishStream() { b.doneMark = true }

// locate notes which item an event names, and an id in it that is not that of the item. It
// returns the number of bytes that it remembers.
func (b *body) locate(it *item, e *wire.Event) int {
	if e.Index >= 0 || e.ItemID != "" {
		b.latest = it
	}
	if e.ItemID == "" || (it != nil && it.entry.ID == e.ItemID) || b.strayIDs[e.ItemID] {
		return 0
	}
	if b.strayIDs == nil {
		b.strayIDs = make(map[string]bool)
	}
	b.strayIDs[strings.Clone(e.ItemID)] = true
	return len(e.ItemID)
}

// open adds an item for an entry that shows no known one.
func (b *body) open(p *intercept.Part, e *wire.Entry, index int) (*item, error) {
	if len(b.items) == wire.MaxItems {
		return nil, intercept.NotUnderstood("it has more than %d output items", wire.MaxItems)
	}
	it := &item{index: index, entry: e, agentIndex: -1}
	it.Of = it
	if f := b.formOf(e); f != nil {
		it.call, it.Call, it.Odd, it.Hidden = &call{form: f}, true, f.Unknown, f.Type == wire.ApprovalRequest
		p.Open(&it.Unit)
		it.checkShape()
		b.checkNamespace(it)
	}
	for _, other := range b.items {
		it.checkShared(other)
	}
	if it.call != nil && b.strayIDs[e.ID] { // LangChain for Python uses the index that came with the id first
		it.call.sharedID, it.Odd = true, true
	}
	b.items, b.strange = append(b.items, it), b.strange || e.Unknown()
	p.Forget()
	return it, nil
}

// find finds the item that an event is about: by its index, else by its id, else the
// last one that is not done. Some servers change the ids from one event to the next, so
// that an unknown id is ignored.
func (b *body) find(e *wire.Event) (*item, error) {
	indexed := b.last(func(it *item) bool { return e.Index >= 0 && it.index == e.Index })
	named := b.last(func(it *item) bool { return it.isNamed(e.ItemID) })
	switch {
	case e.Index < 0 && named != nil:
		return named, nil
	case e.Index < 0:
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
func (b *body) finish(p *intercept.Part, e *wire.Event) (*item, error) {
	it, err := b.findDone(e)
	if err != nil {
		return nil, err
	}
	if it == nil || (it.done && !it.same(e.Entry)) {
		if it, err = b.open(p, e.Entry, e.Index); err == nil {
			it.done = true
		}
		return it, err
	}
	if it.entry.Type != e.Entry.Type || (it.call == nil && b.formOf(e.Entry) != nil) {
		return nil, intercept.NotUnderstood("an output item changes its type")
	}
	if err = it.show(e.Entry); it.entry == e.Entry && it.call != nil {
		b.checkNamespace(it)
	}
	return it, err
}

// findDone finds the item that is done. An event without an index and an item id is about
// the item with the ids of its entry.
func (b *body) findDone(e *wire.Event) (*item, error) {
	by := *e
	if by.ItemID == "" && e.Index < 0 {
		by.ItemID = e.Entry.ID
		if by.ItemID == "" {
			by.ItemID = e.Entry.CallID
		}
	}
	return b.find(&by)
}

// inList finds the item that the i-th entry of the list at the end shows.
func (b *body) inList(i int, shown *wire.Entry, taken map[*item]bool) *item {
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
	if here != nil && here.entry.Type == shown.Type {
		return here
	}
	return nil
}

// addListed adds the item of the next entry of the list at the end.
func (b *body) addListed(it *item) { b.listed = append(b.listed, it) }

// concluded returns the item of the i-th entry of a list at the end, as it was found
// when the list was read. In a list that was not read, no call is one that the provider ran.
func (b *body) concluded(i int, o *wire.Object, taken map[*item]bool) *item {
	if len(b.listed) == len(o.Output) {
		return b.listed[i]
	}
	it := b.inList(i, o.Output[i], taken)
	if it != nil && it.call == nil && b.formOf(o.Output[i]) != nil {
		return nil
	}
	return it
}

// showsCalls reports whether a list of output items has a call that the agent would run.
func (b *body) showsCalls(o *wire.Object) bool {
	return slices.ContainsFunc(o.Output, func(e *wire.Entry) bool { return b.formOf(e) != nil })
}

// differ notes of some calls that clients may read them in different ways.
func (b *body) differ(which func(*item) bool) error {
	for _, it := range b.calls() {
		if which(it) {
			if err := it.differ(); err != nil {
				return err
			}
		}
	}
	return nil
}

// void drops the calls that have not passed, because the answer fails, and reports
// whether there were any.
func (b *body) void() (dropped bool) {
	b.failed = true
	for _, it := range b.items {
		if it.call != nil && !it.Passed() {
			it.Void, dropped = true, true
		}
	}
	return dropped
}

// identify makes up ids for the calls without one, in the n-th body of a turn.
func (b *body) identify(turn string, n int) {
	for i, it := range b.items {
		if it.call != nil && it.callID() == "" && it.call.form.Type != wire.ApprovalRequest && !it.call.form.Unknown {
			it.call.id = strictjson.MadeUpID(turn, n*wire.MaxItems+i)
		}
	}
}

// history is the part of a conversation that upstream needs where it does not keep the
// response: every item in its place. Reasoning that upstream can neither look up nor
// decrypt is left out, and so are the ids by which upstream would miss it.
func (b *body) history() (items []string) {
	lost, unstored := false, b.object.Unstored || b.req.Unstored()
	for _, it := range b.items {
		if it.entry.Type == "reasoning" && unstored && it.entry.Field("encrypted_content").Str == "" {
			lost = true
		}
	}
	for _, it := range b.items {
		switch {
		case it.call != nil && it.Void:
		case lost && it.entry.Type == "reasoning":
		case lost:
			items = append(items, history.WithoutID(it.original()))
		default:
			items = append(items, it.original())
		}
	}
	return items
}
