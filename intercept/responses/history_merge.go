package responses

import (
	"slices"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// visible are the parts of an answer that the agent saw, in order.
func (rec *answerRecord) visible() (list []*answerPart) {
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
// send only ids.
func (p *answerPart) is(item gjson.Result) bool {
	typ, id := typeOf(item), item.Get("id").Str
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
		return p.Sealed == sealedFingerprint(item)
	}
	return id == "" || p.ID == ""
}

// merger adds the hidden items of one answer between those that the agent repeats.
type merger struct {
	splicer   *splicer
	record    *answerRecord
	items     []gjson.Result
	following []gjson.Result // the history from the current item on
	matched   map[*answerPart]gjson.Result
	out       []string
	round     int // how far of the record has been written
	item      int
}

// run returns the items in place of each item.
func (m *merger) run() [][]string {
	parts := m.match()
	texts := make([][]string, len(m.items))
	for i, item := range m.items {
		m.out = nil
		switch p := parts[i]; {
		case p != nil:
			m.until(p)
			m.out = append(m.out, m.repeated(p, item))
		case !m.joined(item):
			if p := m.rewritten(i); p != nil {
				m.until(p)
			}
			m.out = append(m.out, m.splicer.annotated(item))
		}
		texts[i], m.following = m.out, m.following[1:]
	}
	m.out = nil
	m.until(nil)
	last := len(texts) - 1
	texts[last] = append(texts[last], m.out...)
	return texts
}

// match finds the part that each item is.
func (m *merger) match() []*answerPart {
	parts := make([]*answerPart, len(m.items))
	m.matched = make(map[*answerPart]gjson.Result)
	visible := m.record.visible()
	for i, item := range m.items {
		for j, p := range visible {
			if isModels(item) && p.is(item) {
				parts[i], m.matched[p] = p, item
				visible = visible[j+1:]
				break
			}
		}
	}
	return parts
}

// until writes the hidden items up to a part, or to the end. The outputs of a round are
// after all its items.
func (m *merger) until(p *answerPart) {
	for ; m.round < len(m.record.Rounds); m.round, m.item = m.round+1, 0 {
		r := &m.record.Rounds[m.round]
		for ; m.item < len(r.Items); m.item++ {
			q := &r.Items[m.item]
			if q == p {
				m.item++
				return
			}
			if !q.Seen || m.needed(q) {
				m.put(m.bare(r, q.Raw))
			}
		}
		for _, output := range r.Outputs {
			m.put(m.splicer.once(m.record, output, m.following))
		}
	}
}

func (m *merger) put(raw string) {
	m.out = append(m.out, raw)
	m.splicer.hide(raw)
}

// bare is a hidden item without its id where the agent repeats the round's
// reasoning without one, or not at all: by its id the provider would miss it.
func (m *merger) bare(r *answerRound, raw string) string {
	for i := range r.Items {
		if q := &r.Items[i]; q.Type == "reasoning" && m.matched[q].Get("id").Str == "" && !m.needed(q) {
			return withoutID(raw)
		}
	}
	return raw
}

// needed reports reasoning that the agent leaves out, beside a question that only
// its id can name.
func (m *merger) needed(p *answerPart) bool {
	_, repeated := m.matched[p]
	return p.Type == "reasoning" && p.Raw != "" && !repeated
}

// repeated is a part as the agent repeats it. A message that only heldcall knows
// goes without its id, an edited call as it ran, and the note of the edit goes
// before the call's output.
func (m *merger) repeated(p *answerPart, item gjson.Result) string {
	edited := false
	for _, c := range m.record.Calls {
		if c.Note != "" && p.Call == c.ID && p.Call != "" {
			m.splicer.note(c.ID, c.Note)
			edited = true
		}
	}
	switch {
	case edited && typeOf(item) == "item_reference": // to the call as the model made it
		return p.Raw
	case p.Unknown && typeOf(item) == "item_reference":
		return withoutID(p.Raw)
	case p.Unknown:
		return withoutID(item.Raw)
	}
	return item.Raw
}

// joined writes the messages of several rounds in place of the one into which the agent
// has joined them, and reports whether the item is that.
func (m *merger) joined(item gjson.Result) bool {
	if typeOf(item) != "message" || !isModels(item) {
		return false
	}
	var messages []*answerPart
	text := ""
	for _, p := range m.record.visible() {
		if _, ok := m.matched[p]; !ok && p.Type == "message" {
			messages, text = append(messages, p), text+p.Text
		}
	}
	if len(messages) < 2 || !intercept.SameText(text, strictjson.ContentText(item.Get("content"))) {
		return false
	}
	for _, p := range messages {
		m.until(p)
		m.out = append(m.out, withoutID(p.Raw))
	}
	return true
}

// rewritten is the last message of the answer, if the item is the last one of the agent's
// and the agent has changed all that it repeats.
func (m *merger) rewritten(i int) (last *answerPart) {
	isMessage := func(item gjson.Result) bool { return isModels(item) && typeOf(item) == "message" }
	if len(m.matched) > 0 || !isMessage(m.items[i]) || slices.ContainsFunc(m.items[i+1:], isMessage) {
		return nil
	}
	for _, p := range m.record.visible() {
		if p.Type == "message" {
			last = p
		}
	}
	return last
}
