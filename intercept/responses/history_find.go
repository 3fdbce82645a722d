package responses

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// itemRun is a sequence of items of the model's.
type itemRun struct {
	first, last int
	before      string // fingerprint of the item before it
	joined      bool   // only outputs are between it and the run before
	foreign     bool   // it has more calls than any of the answers: the rest is not kept
	long        bool   // it has more text than any of the answers: none is kept
	texts       []string
	size        int // length of texts without white space
	calls       []intercept.CallFingerprint
	items       []string
}

// finder finds answers in a history. The agent writes the history, so that the cost of
// the search is bounded by the size of the answers.
type finder struct {
	answers []*intercept.TurnFingerprint
	known   map[string]answerPart // by id
	names   map[callName]bool
	size    int // length of the longest text of an answer, without white space
	calls   int // of the answer with the most
	runs    int // an answer is in no more of them than it has parts
}

func newFinder(records []*answerRecord) *finder {
	f := &finder{known: make(map[string]answerPart), names: make(map[callName]bool), runs: 1}
	for _, rec := range records {
		visible := rec.visible()
		f.answers = append(f.answers, &rec.TurnFingerprint)
		f.size, f.calls, f.runs = max(f.size, letters(rec.Text)), max(f.calls, len(rec.Calls)), max(f.runs, len(visible))
		for _, p := range visible {
			f.known[p.ID] = *p
		}
		for _, c := range rec.Calls {
			f.names[callName{c.ID, c.Name}] = true
		}
	}
	return f
}

// turns finds the parts of a history that answers may be in: a run, and several runs with
// only outputs between them, where they have the calls of an answer; else a run with some
// of the calls.
func (f *finder) turns(items []gjson.Result) (list []intercept.HistoryTurn) {
	runs := f.split(items)
	for i := range runs {
		var calls []intercept.CallFingerprint
		complete := false
		for j := i; j < min(i+f.runs, len(runs)); j++ {
			r := &runs[j]
			if j > i && (len(calls) == 0 || !r.joined) {
				break
			}
			calls = append(calls, r.calls...)
			begins, whole := f.called(calls)
			if r.foreign || !begins {
				break
			}
			if whole {
				list, complete = append(list, f.join(runs[i:j+1], calls)), true
			}
		}
		if r := &runs[i]; !complete && slices.ContainsFunc(r.calls, f.knows) {
			list = append(list, f.join(runs[i:i+1], r.calls))
		}
	}
	return list
}

// split splits a history into runs.
func (f *finder) split(items []gjson.Result) (runs []itemRun) {
	joined := false
	for i, item := range items {
		if !isModels(item) {
			joined = joined && isOutput(item.Get("type").Str)
			continue
		}
		if n := len(runs); n == 0 || runs[n-1].last != i-1 {
			r := itemRun{first: i, joined: joined}
			if i > 0 {
				r.before = itemFingerprint(items[i-1])
			}
			runs = append(runs, r)
		}
		joined = true
		r := &runs[len(runs)-1]
		if r.last = i; !r.foreign {
			f.add(r, item)
		}
	}
	return runs
}

// add adds an item to a run.
func (f *finder) add(r *itemRun, item gjson.Result) {
	id := item.Get("id").Str
	if id != "" {
		r.items = append(r.items, id)
	}
	p := answerPart{Type: typeOf(item), Text: strictjson.ContentText(item.Get("content")), Call: item.Get("call_id").Str, Name: item.Get("name").Str}
	if p.Type == "item_reference" { // it refers to a text of any length
		p = f.known[id]
	}
	switch {
	case p.Type == "message" && !r.long:
		r.texts, r.size = append(r.texts, p.Text), r.size+letters(p.Text)
		if r.size > f.size {
			r.long, r.texts = true, nil
		}
	case callForms[p.Type] != nil:
		r.calls = append(r.calls, seenCall(typeOf(item), p.Call, p.Name, item.Get(callForms[p.Type].field).String()))
	}
	if len(r.calls) > f.calls {
		r.foreign, r.texts, r.calls, r.items = true, nil, nil, nil
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
	return c.ID != "" && f.names[callName{c.ID, c.Name}]
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

// join is the turn that runs make up.
func (f *finder) join(runs []itemRun, calls []intercept.CallFingerprint) intercept.HistoryTurn {
	t := intercept.HistoryTurn{First: runs[0].first, Last: runs[len(runs)-1].last, Before: runs[0].before, Calls: slices.Clone(calls)}
	var texts []string
	size := 0
	for i := range runs {
		texts, t.Items = append(texts, runs[i].texts...), append(t.Items, runs[i].items...)
		t.Long, size = t.Long || runs[i].long, size+runs[i].size
	}
	if t.Long = t.Long || size > f.size; !t.Long {
		t.Text = strings.Join(texts, "")
	}
	return t
}
