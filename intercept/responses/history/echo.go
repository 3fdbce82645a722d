package history

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/responses/wire"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// echo is a stretch of the input in which the agent repeats one answer.
type echo struct {
	intercept.HistoryTurn
	first, last int
}

// row is what the model made in a row.
type row struct {
	first, last int
	before      string // fingerprint of the item before it
	joined      bool   // only outputs stand between it and the row before
	foreign     bool   // it has more calls than any of the answers: the rest is not kept
	long        bool   // it has more text than any of the answers: none is kept
	said        []string
	size        int // length of said without white space
	calls       []intercept.CallFingerprint
	items       []string
}

// finder looks for answers in a history. The agent writes that as it likes, so what
// the search costs is bounded by what the answers are.
type finder struct {
	answers []*intercept.TurnFingerprint
	known   map[string]Part // by id
	made    map[callName]bool
	said    int // length of what the longest of the answers says, without white space
	calls   int // of the answer with the most
	rows    int // an answer is in no more of them than it has parts
}

func newFinder(records []*Record) *finder {
	f := &finder{known: make(map[string]Part), made: make(map[callName]bool), rows: 1}
	for _, rec := range records {
		visible := rec.visible()
		f.answers = append(f.answers, &rec.TurnFingerprint)
		f.said, f.calls, f.rows = max(f.said, letters(rec.Text)), max(f.calls, len(rec.Calls)), max(f.rows, len(visible))
		for _, p := range visible {
			f.known[p.ID] = *p
		}
		for _, c := range rec.Calls {
			f.made[callName{c.ID, c.Name}] = true
		}
	}
	return f
}

// echoes finds the stretches of items that answers may stand in: what the
// assistant made in a row, and several of those with only outputs between them, where
// they have the calls of an answer; else one with some of the calls.
func (f *finder) echoes(items []gjson.Result) (list []echo) {
	rows := f.rowsIn(items)
	for i := range rows {
		var calls []intercept.CallFingerprint
		found := false
		for j := i; j < min(i+f.rows, len(rows)); j++ {
			r := &rows[j]
			if j > i && (len(calls) == 0 || !r.joined) {
				break
			}
			calls = append(calls, r.calls...)
			begins, whole := f.called(calls)
			if r.foreign || !begins {
				break
			}
			if whole {
				list, found = append(list, f.spanning(rows[i:j+1], calls)), true
			}
		}
		if r := &rows[i]; !found && slices.ContainsFunc(r.calls, f.knows) {
			list = append(list, f.spanning(rows[i:i+1], r.calls))
		}
	}
	return list
}

// rowsIn splits a history into rows.
func (f *finder) rowsIn(items []gjson.Result) (rows []row) {
	joined := false
	for i, item := range items {
		if !made(item) {
			joined = joined && IsOutput(item.Get("type").Str)
			continue
		}
		if n := len(rows); n == 0 || rows[n-1].last != i-1 {
			r := row{first: i, joined: joined}
			if i > 0 {
				r.before = fingerprint(items[i-1])
			}
			rows = append(rows, r)
		}
		joined = true
		r := &rows[len(rows)-1]
		if r.last = i; !r.foreign {
			f.add(r, item)
		}
	}
	return rows
}

// add puts an item into a row.
func (f *finder) add(r *row, item gjson.Result) {
	id := item.Get("id").Str
	if id != "" {
		r.items = append(r.items, id)
	}
	p := Part{Type: typeIn(item), Text: strictjson.ContentText(item.Get("content")), Call: item.Get("call_id").Str, Name: item.Get("name").Str}
	if p.Type == "item_reference" { // a few bytes stand for any text
		p = f.known[id]
	}
	switch {
	case p.Type == "message" && !r.long:
		r.said, r.size = append(r.said, p.Text), r.size+letters(p.Text)
		if r.size > f.said {
			r.long, r.said = true, nil
		}
	case wire.Forms[p.Type] != nil:
		r.calls = append(r.calls, SeenCall(typeIn(item), p.Call, p.Name, item.Get(wire.Forms[p.Type].Field).String()))
	}
	if len(r.calls) > f.calls {
		r.foreign, r.said, r.calls, r.items = true, nil, nil, nil
	}
}

// letters is the length of a text without white space.
func letters(text string) (n int) {
	for _, r := range text {
		if !unicode.IsSpace(r) {
			n += utf8.RuneLen(r)
		}
	}
	return n
}

// knows reports whether an answer has a call.
func (f *finder) knows(c intercept.CallFingerprint) bool {
	return c.ID != "" && f.made[callName{c.ID, c.Name}]
}

type callName struct{ id, name string }

// called reports whether an answer begins with calls, and whether one has no more.
func (f *finder) called(calls []intercept.CallFingerprint) (begins, whole bool) {
	for _, s := range f.answers {
		if n := len(calls); n <= len(s.Calls) && slices.EqualFunc(calls, s.Calls[:n], mayBe) {
			begins, whole = true, whole || n == len(s.Calls)
		}
	}
	return begins, whole
}

// mayBe reports whether a call of a history has the name and the id of one that was
// seen. [intercept.Match] looks closer.
func mayBe(c, seen intercept.CallFingerprint) bool {
	return c.Name == seen.Name && (seen.ID == "" || c.ID == seen.ID)
}

// spanning is the echo in rows.
func (f *finder) spanning(rows []row, calls []intercept.CallFingerprint) echo {
	e := echo{first: rows[0].first, last: rows[len(rows)-1].last}
	var said []string
	size := 0
	for i := range rows {
		said, e.Items = append(said, rows[i].said...), append(e.Items, rows[i].items...)
		e.Long, size = e.Long || rows[i].long, size+rows[i].size
	}
	if e.Long = e.Long || size > f.said; !e.Long {
		e.Text = strings.Join(said, "")
	}
	e.Before, e.Calls = rows[0].before, slices.Clone(calls)
	return e
}

// made reports whether an item of a history is the model's.
func made(item gjson.Result) bool {
	if role := item.Get("role").Str; role != "" {
		return role == "assistant"
	}
	typ := item.Get("type").Str
	return (typ != "" && !IsOutput(typ) && typ != "additional_tools" && typ != "compaction") || (typ == "" && item.Get("id").Exists())
}

// IsOutput reports the types of items that answer calls.
func IsOutput(typ string) bool {
	return (strings.HasSuffix(typ, "_output") && typ != "program_output") || typ == "mcp_approval_response"
}

// typeIn is the type of an item of a history, in which some may leave it out.
func typeIn(item gjson.Result) string {
	switch typ := item.Get("type").Str; {
	case typ != "":
		return typ
	case item.Get("role").Exists():
		return "message"
	}
	return "item_reference"
}
