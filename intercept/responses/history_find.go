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

// itemRun is a sequence of items of the model's: a turn without its text.
type itemRun struct {
	intercept.HistoryTurn
	texts   []string
	size    int  // length of texts without white space
	joined  bool // only outputs are between it and the run before
	foreign bool // it has more calls than any of the answers: the rest is not kept
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
			calls = append(calls, r.Calls...)
			begins, whole := f.called(calls)
			if r.foreign || !begins {
				break
			}
			if whole {
				list, complete = append(list, f.join(runs[i:j+1], calls)), true
			}
		}
		if r := &runs[i]; !complete && slices.ContainsFunc(r.Calls, f.knows) {
			list = append(list, f.join(runs[i:i+1], r.Calls))
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
		if n := len(runs); n == 0 || runs[n-1].Last != i-1 {
			runs = append(runs, itemRun{joined: joined})
			runs[n].First = i
			if i > 0 {
				runs[n].Before = itemFingerprint(items[i-1])
			}
		}
		joined = true
		r := &runs[len(runs)-1]
		if r.Last = i; !r.foreign {
			f.add(r, item)
		}
	}
	return runs
}

// add adds an item to a run.
func (f *finder) add(r *itemRun, item gjson.Result) {
	id := item.Get("id").Str
	if id != "" {
		r.Items = append(r.Items, id)
	}
	p := answerPart{Type: typeOf(item), Text: strictjson.ContentText(item.Get("content")), Call: item.Get("call_id").Str, Name: item.Get("name").Str}
	if p.Type == "item_reference" { // it refers to a text of any length
		p = f.known[id]
	}
	switch {
	case p.Type == "message" && !r.Long:
		r.texts, r.size = append(r.texts, p.Text), r.size+letters(p.Text)
		if r.size > f.size {
			r.Long, r.texts = true, nil
		}
	case callForms[p.Type] != nil:
		r.Calls = append(r.Calls, seenCall(typeOf(item), p.Call, p.Name, item.Get(callForms[p.Type].field).String()))
	}
	if len(r.Calls) > f.calls {
		r.foreign, r.texts, r.Calls, r.Items = true, nil, nil, nil
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
	turn := runs[0].HistoryTurn
	turn.Calls, turn.Items, turn.Last = slices.Clone(calls), nil, runs[len(runs)-1].Last
	var texts []string
	size := 0
	for i := range runs {
		texts, turn.Items = append(texts, runs[i].texts...), append(turn.Items, runs[i].Items...)
		turn.Long, size = turn.Long || runs[i].Long, size+runs[i].size
	}
	if turn.Long = turn.Long || size > f.size; !turn.Long {
		turn.Text = strings.Join(texts, "")
	}
	return turn
}
