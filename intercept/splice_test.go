package intercept

import (
	"testing"

	"github.com/tidwall/gjson"
)

func historyOf(raw string) *History {
	return &History{Items: gjson.Parse(raw).Array(), Raw: []byte(raw)}
}

func TestRenderHistory(t *testing.T) {
	quoted := func(_ int, item gjson.Result, _ Notes) string { return item.Raw }
	for _, tt := range []struct {
		raw  string
		put  map[int]HiddenPart
		want string
	}{
		{` [ {"a":1} , 2,"x" ]`, nil, ` [ {"a":1} , 2,"x" ]`},
		{` [ {"a":1} , 2,"x" ]`, map[int]HiddenPart{1: {Replace: []string{"8", "9"}}}, ` [ {"a":1} , 8,9,"x" ]`},
		{`[1 , 2]`, map[int]HiddenPart{0: {Before: []string{"0"}}, 1: {After: []string{"3", "4"}}}, `[0,1 , 2,3,4]`},
		{`[1 , 2 ]`, map[int]HiddenPart{1: {Before: []string{"7"}, Replace: []string{}}}, `[1 , 7 ]`},
		{`[1, 2 ]`, map[int]HiddenPart{2: {Before: []string{"3"}}}, `[1, 2 ,3]`},
		{`[ ]`, map[int]HiddenPart{0: {Before: []string{"1", "2"}}}, `[ 1,2]`},
	} {
		h := historyOf(tt.raw)
		for place, part := range tt.put {
			*h.At(place) = part
		}
		if got := string(h.Render(quoted)); got != tt.want || h.Changed() != (tt.put != nil) {
			t.Errorf("%s with %v: %s, want %s", tt.raw, tt.put, got, tt.want)
		}
	}
}

// A note is for the first result of its call after the anchor: ids repeat.
func TestNotesOfHistory(t *testing.T) {
	const result = `{"id":"a","content":"x"}`
	h := historyOf(`[` + result + `,0,` + result + `,` + result + `,1,` + result + `]`)
	h.At(1).Notes = Notes{"a": "Edited."}
	h.At(4).Notes = Notes{"a": ""}
	got := h.Render(func(_ int, item gjson.Result, notes Notes) string {
		return notes.Annotate(item, item.Get("id").Str, "content")
	})
	if want := `[` + result + `,0,{"id":"a","content":"Edited.\nx"},` + result + `,1,` + result + `]`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A turn that surely is an answer comes before others that overlap it.
func TestMatchTurns(t *testing.T) {
	const random = "call_Vr3xkQ0pLm7bTz91"
	call := []CallFingerprint{NewCallFingerprint(random, "read", "{}")}
	other := []CallFingerprint{NewCallFingerprint("call_0", "write", "{}")}
	turns := []HistoryTurn{{Calls: other, First: 1, Last: 3, Text: "Other."}, {Calls: call, First: 2, Last: 2}, {Calls: other, First: 4, Last: 5, Text: "Other."}}
	opening := UserText{Content: []byte(`"hi"`)}
	records := []*TurnFingerprint{{Turn: "t1", Calls: other, Opening: Opening(opening.String())}, {Turn: "t2", Calls: call}}
	var got []string
	for _, m := range MatchTurns(opening, turns, records) {
		got = append(got, m.Answer.Turn)
		if m.Sure != (m.Answer.Turn == "t2") || m.Turn.First != 2 {
			t.Errorf("%s is at %d, surely %t", m.Answer.Turn, m.Turn.First, m.Sure)
		}
	}
	if len(got) != 1 {
		t.Errorf("found %v", got)
	}
}
