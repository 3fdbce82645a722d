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

// merger puts the hidden items of one answer between those that the agent repeats.
type merger struct {
	*splicer
	record  *answerRecord
	items   []gjson.Result // that the agent repeats
	first   int            // the place of the first one
	current int            // the place of the current one
	matched map[*answerPart]gjson.Result
	round   int // how far of the record has been put back
	item    int
}

func (m *merger) run() {
	parts := m.match()
	for i, item := range m.items {
		m.current = m.first + i
		anchor := m.At(m.current)
		switch p := parts[i]; {
		case p != nil:
			anchor.Before = append(anchor.Before, m.until(p)...)
			replace, notes := m.repeated(p, item)
			anchor.Replace = replace
			anchor.Note(notes)
		case m.joined(item):
			anchor.Replace = m.split()
		default:
			if p := m.rewritten(i); p != nil {
				anchor.Before = append(anchor.Before, m.until(p)...)
			}
		}
	}
	last := m.At(m.current)
	m.current++
	last.After = m.until(nil)
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

// until lists the hidden items up to a part, or to the end. The outputs of a round are
// after all its items.
func (m *merger) until(p *answerPart) (items []string) {
	for ; m.round < len(m.record.Rounds); m.round, m.item = m.round+1, 0 {
		r := &m.record.Rounds[m.round]
		for ; m.item < len(r.Items); m.item++ {
			q := &r.Items[m.item]
			if q == p {
				m.item++
				return items
			}
			if !q.Seen || m.needed(q) {
				items = append(items, m.hide(m.bare(r, q.Raw)))
			}
		}
		for _, output := range r.Outputs {
			items = append(items, m.hide(m.once(m.record, output, m.Items[m.current:])))
		}
	}
	return items
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
func (m *merger) repeated(p *answerPart, item gjson.Result) (items []string, notes intercept.Notes) {
	for _, c := range m.record.Calls {
		if c.Note != "" && p.Call == c.ID && p.Call != "" {
			notes = intercept.Notes{c.ID: c.Note}
		}
	}
	reference := typeOf(item) == "item_reference"
	switch {
	case notes != nil && reference: // to the call as the model made it
		return []string{p.Raw}, notes
	case p.Unknown && reference:
		return []string{withoutID(p.Raw)}, notes
	case p.Unknown:
		return []string{withoutID(item.Raw)}, notes
	}
	return nil, notes
}

// messages lists the messages of the answer that the agent does not repeat.
func (m *merger) messages() (list []*answerPart) {
	for _, p := range m.record.visible() {
		if _, repeated := m.matched[p]; !repeated && p.Type == "message" {
			list = append(list, p)
		}
	}
	return list
}

// joined reports whether the agent has joined the messages of several rounds in an item.
func (m *merger) joined(item gjson.Result) bool {
	messages, text := m.messages(), ""
	for _, p := range messages {
		text += p.Text
	}
	return typeOf(item) == "message" && isModels(item) && len(messages) > 1 && intercept.SameText(text, strictjson.ContentText(item.Get("content")))
}

// split lists the messages that the agent has joined.
func (m *merger) split() (items []string) {
	for _, p := range m.messages() {
		items = append(append(items, m.until(p)...), withoutID(p.Raw))
	}
	return items
}

// rewritten is the last message of the answer, if the item is the last one of the agent's
// and the agent has changed all that it repeats.
func (m *merger) rewritten(i int) (last *answerPart) {
	isMessage := func(item gjson.Result) bool { return isModels(item) && typeOf(item) == "message" }
	if len(m.matched) > 0 || !isMessage(m.items[i]) || slices.ContainsFunc(m.items[i+1:], isMessage) {
		return nil
	}
	if messages := m.messages(); len(messages) > 0 {
		return messages[len(messages)-1]
	}
	return nil
}
