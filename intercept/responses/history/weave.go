package history

import (
	"slices"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// visible are the parts of an answer that the agent saw, in order.
func (rec *Record) visible() (list []*Part) {
	for i := range rec.Rounds {
		for j := range rec.Rounds[i].Items {
			if p := &rec.Rounds[i].Items[j]; p.Seen {
				list = append(list, p)
			}
		}
	}
	return list
}

// is reports whether an item of a history is the part: agents leave out ids, or
// send nothing else.
func (p *Part) is(item gjson.Result) bool {
	typ, id := typeIn(item), item.Get("id").Str
	switch {
	case typ == "item_reference":
		return id == p.ID
	case typ != p.Type:
		return false
	case p.Call != "" || item.Get("call_id").Str != "":
		return p.Call == item.Get("call_id").Str
	case id != "" && id == p.ID:
		return true
	case typ == "message":
		return intercept.SameText(p.Text, strictjson.ContentText(item.Get("content")))
	case p.Sealed != "" && item.Get("encrypted_content").Str != "":
		return p.Sealed == Sealed(item)
	}
	return id == "" || p.ID == ""
}

// weaver puts what was hidden of one answer between what the agent repeats of it.
type weaver struct {
	*splicer
	record  *Record
	items   []gjson.Result
	behind  []gjson.Result // the history from where it is written at
	matched map[*Part]gjson.Result
	out     []string
	round   int // how far of the record has been written
	item    int
}

// run returns what stands in place of each item.
func (w *weaver) run() [][]string {
	of := w.match()
	texts := make([][]string, len(w.items))
	for i, item := range w.items {
		w.out = nil
		switch p := of[i]; {
		case p != nil:
			w.until(p)
			w.out = append(w.out, w.repeated(p, item))
		case !w.merged(item):
			if p := w.rewritten(i); p != nil {
				w.until(p)
			}
			w.out = append(w.out, w.annotated(item))
		}
		texts[i], w.behind = w.out, w.behind[1:]
	}
	w.out = nil
	w.until(nil)
	last := len(texts) - 1
	texts[last] = append(texts[last], w.out...)
	return texts
}

// match finds the part that each item is.
func (w *weaver) match() []*Part {
	of := make([]*Part, len(w.items))
	w.matched = make(map[*Part]gjson.Result)
	visible := w.record.visible()
	for i, item := range w.items {
		for j, p := range visible {
			if made(item) && p.is(item) {
				of[i], w.matched[p] = p, item
				visible = visible[j+1:]
				break
			}
		}
	}
	return of
}

// until writes what was hidden up to a part, or to the end. Outputs stand behind
// all that the model said in their round.
func (w *weaver) until(p *Part) {
	for ; w.round < len(w.record.Rounds); w.round, w.item = w.round+1, 0 {
		r := &w.record.Rounds[w.round]
		for ; w.item < len(r.Items); w.item++ {
			q := &r.Items[w.item]
			if q == p {
				w.item++
				return
			}
			if !q.Seen || w.needed(q) {
				w.put(w.bare(r, q.Raw))
			}
		}
		for _, output := range r.Outputs {
			w.put(w.once(w.record, output, w.behind))
		}
	}
}

func (w *weaver) put(raw string) {
	w.out = append(w.out, raw)
	if w.hidden == nil {
		w.hidden = make(map[string]bool)
	}
	w.hidden[identity(gjson.Parse(raw))] = true
}

// bare is a hidden item without its id where the agent repeats the round's
// reasoning without one, or not at all: by its id the provider would miss it.
func (w *weaver) bare(r *Round, raw string) string {
	for i := range r.Items {
		if q := &r.Items[i]; q.Type == "reasoning" && w.matched[q].Get("id").Str == "" && !w.needed(q) {
			return WithoutID(raw)
		}
	}
	return raw
}

// needed reports reasoning that the agent leaves out, beside a question that only
// its id can name.
func (w *weaver) needed(p *Part) bool {
	_, repeated := w.matched[p]
	return p.Type == "reasoning" && p.Raw != "" && !repeated
}

// repeated is a part as the agent repeats it. A message that only heldcall knows
// goes without its id, an edited call as it ran, and the note of the edit goes
// before the call's output.
func (w *weaver) repeated(p *Part, item gjson.Result) string {
	edited := false
	for _, c := range w.record.Calls {
		if c.Note != "" && p.Call == c.ID && p.Call != "" {
			w.notes[c.ID], edited = c.Note, true
		}
	}
	switch {
	case edited && typeIn(item) == "item_reference": // to the call as the model made it
		return p.Raw
	case p.Unknown && typeIn(item) == "item_reference":
		return WithoutID(p.Raw)
	case p.Unknown:
		return WithoutID(item.Raw)
	}
	return item.Raw
}

// merged writes the messages of several rounds in place of the one that the agent
// has made of them, and reports whether the item is that.
func (w *weaver) merged(item gjson.Result) bool {
	if typeIn(item) != "message" || !made(item) {
		return false
	}
	var messages []*Part
	text := ""
	for _, p := range w.record.visible() {
		if _, ok := w.matched[p]; !ok && p.Type == "message" {
			messages, text = append(messages, p), text+p.Text
		}
	}
	if len(messages) < 2 || !intercept.SameText(text, strictjson.ContentText(item.Get("content"))) {
		return false
	}
	for _, p := range messages {
		w.until(p)
		w.out = append(w.out, WithoutID(p.Raw))
	}
	return true
}

// rewritten is the last message of the answer, if the item is the last one of the agent's
// and the agent has changed all that it repeats.
func (w *weaver) rewritten(i int) (last *Part) {
	isMessage := func(item gjson.Result) bool { return made(item) && typeIn(item) == "message" }
	if len(w.matched) > 0 || !isMessage(w.items[i]) || slices.ContainsFunc(w.items[i+1:], isMessage) {
		return nil
	}
	for _, p := range w.record.visible() {
		if p.Type == "message" {
			last = p
		}
	}
	return last
}

// identity tells items apart by what they say.
func identity(item gjson.Result) string {
	said := []string{typeIn(item), item.Get("call_id").Str, item.Get("approval_request_id").Str, item.Get("namespace").Str, item.Get("name").Str}
	for _, name := range []string{"arguments", "input", "action", "operation", "output", "tools"} {
		said = append(said, item.Get(name).Raw)
	}
	return intercept.Fingerprint(append(said, strictjson.ContentText(item.Get("content")))...)
}
