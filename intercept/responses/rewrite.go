package responses

import (
	"fmt"
	"strconv"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/responses/history"
	"github.com/heldcall/heldcall/intercept/responses/wire"
	"github.com/heldcall/heldcall/intercept/strictjson"
)

// RewriteItems implements [intercept.Codec].
func (a *answer) Rewrite(part []byte, units []*intercept.Unit, p *intercept.Plan) ([]byte, error) {
	payloads, err := intercept.Payloads(part)
	if err != nil {
		return nil, err
	}
	names := intercept.EventNames(part, len(payloads))
	return intercept.RewritePart(part, payloads, func(i int, payload []byte) (intercept.Rewrite, error) {
		if intercept.IsDone(payload) {
			return intercept.Rewrite{JSON: string(payload), Drop: p.Open, Before: a.closingNotice(p)}, nil
		}
		e, err := wire.Decode(string(payload), names)
		if err != nil {
			return intercept.Rewrite{}, err
		}
		w := edit{answer: a, plan: p, event: e, item: itemOf(units[i]), Patch: strictjson.Patch{JSON: e.Raw}}
		if w.run(); w.Err != nil {
			return intercept.Rewrite{}, fmt.Errorf("rewrite an event: %w", w.Err)
		}
		return intercept.Rewrite{JSON: w.JSON, Drop: w.hollow, Before: w.before}, nil
	})
}

// edit is the work on one event.
type edit struct {
	*answer
	strictjson.Patch
	plan   *intercept.Plan
	event  *wire.Event
	item   *item
	hollow bool   // nothing is left that the agent would read
	before []byte // events that go out before it
}

func (w *edit) run() {
	e := w.event
	if renders(w.plan, w.item) {
		w.before, w.hollow = w.rendered(w.item), true
		return
	}
	if e.Kind == wire.KindEnd {
		w.conclude()
	}
	dropped := w.item != nil && !w.plan.Reaches(&w.item.Unit)
	early, late := w.continuations > 0 && (e.Kind == wire.KindBegin || e.Kind == wire.KindState), w.plan.Open && e.Kind == wire.KindEnd
	if w.hollow = dropped || early || late; w.hollow {
		w.recounted = w.recounted || e.Number >= 0
		return
	}
	if w.item != nil {
		w.takeSeat(w.item)
		if e.Index >= 0 && e.Index != w.item.seat {
			w.Set("output_index", strconv.Itoa(w.item.seat))
		}
	}
	if e.Response != nil {
		w.response("response.", e.Response, e.Kind == wire.KindEnd || e.Kind == wire.KindFailed)
	}
	if e.Number >= 0 {
		w.number()
	}
}

// conclude renders what the agent lacks before the end: calls that upstream shows there
// alone, and the note.
func (w *edit) conclude() {
	for _, it := range w.items {
		if renders(w.plan, it) {
			w.before = append(w.before, w.rendered(it)...)
		}
	}
	w.before = append(w.before, w.closingNotice(w.plan)...)
}

// align takes upstream's number for the next event, unless the agent's differ.
func (w *edit) align() {
	if !w.recounted && w.continuations == 0 && w.event.Number >= 0 {
		w.next = w.event.Number
	}
}

// number gives the event its number for the agent. What the agent has already is
// left out.
func (w *edit) number() {
	w.align()
	number := w.next
	if text := w.count(); text != strconv.FormatInt(w.event.Number, 10) {
		w.Set("sequence_number", text)
	}
	w.hollow = number <= w.req.After
}

// count is the number of the next event.
func (a *answer) count() string {
	a.next++
	return strconv.FormatInt(a.next-1, 10)
}

// takeSeat gives an item its number for the agent: upstream's, unless an item was
// left out before it or another answer came before.
func (a *answer) takeSeat(it *item) {
	if it.seat >= 0 {
		return
	}
	if it.seat = a.seats; !a.moved && a.continuations == 0 && it.index >= 0 {
		it.seat = it.index
	}
	a.seats = max(a.seats, it.seat+1)
}

// response makes a response object the one that the agent has begun to read.
func (w *edit) response(path string, o *wire.Object, ends bool) {
	if w.continuations > 0 || (w.req.Verb == history.Cancel && w.moved) {
		for _, f := range []struct{ name, first, own string }{
			{"id", w.head.ID, o.Head.ID}, {"created_at", w.head.Created, o.Head.Created}, {"previous_response_id", w.previous(), o.Head.Previous},
		} {
			if f.first != "" && f.own != "" && f.first != f.own {
				w.Set(path+f.name, f.first)
			}
		}
	} else if p := w.previous(); o.Head.Previous != "" && p != "" && p != o.Head.Previous {
		w.Set(path+"previous_response_id", p)
	}
	if !ends {
		return
	}
	w.output(path, o)
	if len(w.priorUsage) > 0 && string(w.priorUsage) != "null" {
		w.Set(path+"usage", string(strictjson.AddUsage(w.priorUsage, []byte(o.Usage))))
	}
}

// previous is the response that the agent went on from, by the id it knows.
func (a *answer) previous() string {
	if a.req.Known.Alias != "" {
		return strictjson.Quote(a.req.Known.Alias)
	}
	return a.head.Previous
}

// endingItem is the item that the i-th entry of a list shows: what it was taken for
// when it was read. A call of a list that was not read is none that the provider ran.
func (a *answer) endingItem(i int, o *wire.Object, taken map[*item]bool) *item {
	if len(a.ending) == len(o.Output) {
		return a.ending[i]
	}
	it := a.listed(i, o.Output[i], taken)
	if it != nil && it.call == nil && a.runs(o.Output[i]) != nil {
		return nil
	}
	return it
}

// output rewrites the list of output items. Some servers list none at the end of
// a stream, although there were some.
func (w *edit) output(path string, o *wire.Object) {
	if len(o.Output) == 0 && len(w.items) > 0 && !w.whole {
		return
	}
	items := append([]string(nil), w.answerState.output...)
	changed := len(items) > 0
	taken := make(map[*item]bool)
	for i, shown := range o.Output {
		raw := shown.Raw
		if it := w.endingItem(i, o, taken); it != nil {
			taken[it] = true
			if renders(w.plan, it) {
				raw = it.rendered(w.plan)
			}
			if !w.plan.Reaches(&it.Unit) {
				raw = ""
			}
		} else if w.runs(shown) != nil {
			raw = ""
		}
		if changed = changed || raw != shown.Raw; raw != "" {
			items = append(items, raw)
		}
	}
	for _, it := range w.items {
		if !taken[it] && renders(w.plan, it) {
			items, changed = append(items, it.rendered(w.plan)), true
		}
	}
	if w.plan.Notice != "" {
		items, changed = append(items, w.noticeMessage(w.plan.Notice)), true
	}
	if changed {
		w.Set(path+"output", string(list(items)))
	}
}
