package responses

import (
	"fmt"
	"strconv"

	"github.com/heldcall/heldcall/intercept"

	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// Rewrite implements [intercept.Codec].
func (a *answer) Rewrite(part *intercept.Part, p *intercept.Plan) ([]intercept.Event, error) {
	if part.Whole {
		return a.rewriteWhole(p)
	}
	units := part.Units()
	return part.Map(func(i int, event intercept.Event) ([]intercept.Event, error) {
		if intercept.IsDone([]byte(event.Data)) {
			notice := a.Notice(p)
			if p.Open {
				return notice, nil
			}
			return append(notice, event), nil
		}
		e, err := decodeEvent(strictjson.Unabridged([]byte(event.Data)), part.Names, true)
		if err != nil {
			return nil, err
		}
		w := edit{answer: a, plan: p, event: e, item: itemOf(units[i]), Patch: strictjson.Patch{JSON: event.Data}}
		if w.run(); w.Err != nil {
			return nil, fmt.Errorf("rewrite an event: %w", w.Err)
		}
		if event.Data = w.JSON; w.drop {
			return w.before, nil
		}
		return append(w.before, event), nil
	})
}

// edit is the work on one event, or on a whole answer.
type edit struct {
	strictjson.Patch
	answer *answer
	plan   *intercept.Plan
	event  *event            // nil for a whole answer
	item   *item             // that the event is about, nil for none
	drop   bool              // the agent does not get the event
	before []intercept.Event // that go out before it
}

func (w *edit) run() {
	e, out := w.event, &w.answer.out
	if renders(w.plan, w.item) {
		w.before, w.drop = w.canonicalEvents(w.item), true
		return
	}
	if e.kind == kindEnd {
		w.complete()
	}
	if w.drop = w.leftOut(); w.drop {
		out.leaveOut(false, e.number >= 0)
		return
	}
	if w.item != nil {
		out.index(w.item)
		if e.index >= 0 && e.index != w.item.agentIndex {
			w.Set("output_index", strconv.Itoa(w.item.agentIndex))
		}
	}
	if e.response != nil {
		w.response("response.", e.response, e.ends())
	}
	if e.number >= 0 {
		w.number()
	}
}

// leftOut reports whether the agent does not get the event: it is about an item that
// does not reach the agent, or begins or ends a body in the middle of the answer.
func (w *edit) leftOut() bool {
	switch w.event.kind {
	case kindBegin, kindState:
		if w.answer.out.continued {
			return true
		}
	case kindEnd:
		if w.plan.Open {
			return true
		}
	}
	return w.item != nil && !w.plan.Reaches(&w.item.Unit)
}

// complete renders what the agent lacks before the end: calls that only the list at the
// end has, and the closing notice.
func (w *edit) complete() {
	for _, it := range w.answer.body.items {
		if renders(w.plan, it) {
			w.before = append(w.before, w.canonicalEvents(it)...)
		}
	}
	w.before = append(w.before, w.answer.Notice(w.plan)...)
}

// number gives the event its number for the agent, and drops an event that the agent has.
func (w *edit) number() {
	out := &w.answer.out
	out.align(w.event)
	number, isSent := out.count()
	if number != strconv.FormatInt(w.event.number, 10) {
		w.Set("sequence_number", number)
	}
	w.drop = isSent
}

// response makes a response object the one that the agent has begun to read.
func (w *edit) response(path string, o *object, ends bool) {
	out := &w.answer.out
	renamed := out.continued || (w.answer.req.operation == opCancel && out.reindexed)
	for i, f := range [...]struct{ name, agent, own string }{
		{"previous_response_id", out.previous(), o.head.previous}, {"id", out.head.id, o.head.id}, {"created_at", out.head.created, o.head.created},
	} {
		if (renamed || i == 0) && f.agent != "" && f.own != "" && f.agent != f.own {
			w.Set(path+f.name, f.agent)
		}
	}
	if tools := offered(w.answer.limits.Offered).ownTools(o); tools != "" {
		w.Set(path+"tools", tools)
	}
	if !ends {
		return
	}
	w.output(path, o)
	if usage := w.answer.prior.usage; len(usage) > 0 && string(usage) != "null" {
		w.Set(path+"usage", string(strictjson.AddUsage(usage, []byte(o.usage))))
	}
}

// output rewrites the list of output items. Some servers list none at the end of
// a stream, although there were some.
func (w *edit) output(path string, o *object) {
	a := w.answer
	if len(o.output) == 0 && len(a.body.items) > 0 && !a.whole {
		return
	}
	items := append([]string(nil), a.prior.output...)
	changed := len(items) > 0
	taken := make(map[*item]bool)
	for i, shown := range o.output {
		it := a.body.concluded(i, o, taken)
		taken[it] = true
		raw := w.listed(shown, it)
		if changed = changed || raw != shown.raw; raw != "" {
			items = append(items, raw)
		}
	}
	for _, it := range a.body.items {
		if !taken[it] && renders(w.plan, it) {
			items, changed = append(items, it.canonicalJSON(w.plan)), true
		}
	}
	if w.plan.Notice != "" {
		items, changed = append(items, closingText{a.limits.TurnID, w.plan.Notice}.message()), true
	}
	if changed {
		w.Set(path+"output", strictjson.ReplaceItems(gjson.Get(w.JSON, path+"output").Raw, items))
	}
}

// listed is an entry of the list at the end as the agent gets it, "" if it does not. It
// shows an item, nil for an unknown one.
func (w *edit) listed(shown *entry, it *item) string {
	switch {
	case it == nil && w.answer.body.formOf(shown) != nil, it != nil && !w.plan.Reaches(&it.Unit):
		return ""
	case renders(w.plan, it):
		return it.canonicalJSON(w.plan)
	}
	return shown.raw
}
