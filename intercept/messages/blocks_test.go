package messages

import (
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
)

// listOf opens blocks: calls from ids, text from "".
func listOf(t *testing.T, ids ...string) *blockList {
	t.Helper()
	l := &blockList{turnID: "t", firstID: 100}
	for i, id := range ids {
		o := &opening{raw: `{"type":"text","text":"a"}`}
		if id != "" {
			o = &opening{raw: `{"type":"tool_use"}`, role: roleCall, id: strings.Trim(id, "-"), name: "x"}
		}
		if _, err := l.add(o, i); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

func TestCallID(t *testing.T) {
	l := listOf(t, "a", "", "b", "a", "-", "b")
	for i, want := range []string{"a", "", "b", strictjson.MadeUpID("t", 103), strictjson.MadeUpID("t", 104), strictjson.MadeUpID("t", 105)} {
		if got := l.callID(l.list[i]); got != want {
			t.Errorf("block %d: id %q, want %q", i, got, want)
		}
	}
	for i, ambiguous := range []bool{true, false, true, true, false, true} {
		if got := len(l.list[i].Ambiguities) > 0; got != ambiguous {
			t.Errorf("block %d: ambiguous %t", i, got)
		}
	}
}

func TestPlace(t *testing.T) {
	l := listOf(t, "", "a", "", "b")
	l.base = 2
	l.list[1].Rule(intercept.Ruling{Action: intercept.Deny})
	l.list[3].Rule(intercept.Ruling{Action: intercept.Release})
	for i, want := range []int{2, 3, 3, 4} {
		if got := l.place(l.list[i], &intercept.Plan{}); got != want {
			t.Errorf("block %d is number %d, want %d", i, got, want)
		}
	}
	if got := l.place(nil, &intercept.Plan{}); got != 5 {
		t.Errorf("the next block is number %d", got)
	}
	l.list[0].ended = true
	want := appendBlockStop(appendBlockStop(nil, 3), 4)
	if got := l.closings(&intercept.Plan{}); !slices.Equal(got, want) {
		t.Errorf("ends %q, want %q", got, want)
	}
	if got := l.closings(&intercept.Plan{}); got != nil {
		t.Errorf("ended twice: %q", got)
	}
}

func TestBlockNumbers(t *testing.T) {
	said := &opening{raw: `{"type":"text","text":"a"}`}
	l := listOf(t, "a")
	if b, err := l.add(said, 0); err != nil || len(l.list[0].Ambiguities) != 1 || l.find(0) != b || !l.misnumbered {
		t.Errorf("the same number again: %v, %+v", err, l)
	}
	l = listOf(t, "a")
	l.nextAttempt()
	if _, err := l.add(said, 0); err != nil || len(l.list[0].Ambiguities) > 0 || l.misnumbered {
		t.Errorf("the same number in another attempt: %v, %+v", err, l)
	}
	if l.keep(func(b *block) bool { return b.call != nil }); len(l.list) != 1 || l.find(0) != nil {
		t.Errorf("kept %d blocks", len(l.list))
	}
	l = &blockList{}
	var err error
	for i := 0; err == nil && i <= maxBlocks; i++ {
		_, err = l.add(said, i)
	}
	if err == nil || len(l.list) != maxBlocks {
		t.Errorf("%d blocks: %v", len(l.list), err)
	}
}

func TestStyle(t *testing.T) {
	text, call := &opening{role: roleText}, &opening{role: roleCall}
	named := &event{kind: kindMessageStart, named: true, typed: true}
	bare := &event{kind: kindMessageStart, unnamed: true, typed: true}
	for _, tt := range []struct {
		name           string
		events         []*event
		mixed, skipped bool
	}{
		{"all named", []*event{named, {kind: kindBlockStart, named: true, typed: true, block: text}}, false, false},
		{"none named", []*event{bare, {kind: kindBlockStart, unnamed: true, typed: true, block: text}}, false, false},
		{"a text without a name", []*event{named, {kind: kindBlockStart, unnamed: true, typed: true, block: text}}, true, true},
		{"a call without a name", []*event{named, {kind: kindBlockStart, unnamed: true, typed: true, block: call}}, true, false},
		{"a text without a type", []*event{named, {kind: kindBlockStart, named: true, block: text}}, false, true},
		{"pings do not count", []*event{named, {kind: kindPing, unnamed: true}}, false, false},
	} {
		var s style
		for _, e := range tt.events {
			s.add(e)
		}
		if s.mixed() != tt.mixed || s.skipped != tt.skipped {
			t.Errorf("%s: mixed %t, skipped %t", tt.name, s.mixed(), s.skipped)
		}
	}
}

func TestEventKind(t *testing.T) {
	for _, tt := range []struct {
		payload string
		names   []string
		kind    kind
		named   bool
		refused bool
	}{
		{`{"type":"message_stop"}`, nil, kindMessageStop, false, false},
		{`{"type":"message_stop"}`, []string{"message_stop"}, kindMessageStop, true, false},
		{`{"type":"message_stop"}`, []string{"message"}, kindMessageStop, false, false},
		{`{}`, []string{"message_stop"}, kindMessageStop, true, false},
		{`{}`, []string{"message"}, kindOther, false, false},
		{`{"type":"message_stop"}`, []string{"ping"}, kindOther, false, true},
		{`{"type":"message_stop"}`, []string{"other"}, kindOther, false, true},
		{`{"type":"ping"}`, []string{"other"}, kindPing, false, false},
		{`{"type":"other"}`, []string{"new"}, kindOther, false, false},
		{`{"type":"other"}`, []string{"ping"}, kindOther, false, true},
		{`{"error":{}}`, nil, kindError, false, false},
		{`{"type":1}`, nil, kindOther, false, true},
	} {
		e, err := decode(tt.payload, tt.names)
		if (err != nil) != tt.refused || (err == nil && (e.kind != tt.kind || e.named != tt.named)) {
			t.Errorf("%s named %q: %+v, %v", tt.payload, tt.names, e, err)
		}
	}
}

func TestDelta(t *testing.T) {
	for _, tt := range []struct {
		delta              string
		input, plain, more bool
		fields, values     int
		citation           bool
		refused            bool
	}{
		{delta: `{"type":"text_delta","text":"a"}`, plain: true, fields: 1},
		{delta: `{"type":"text_delta","text":null}`, plain: true},
		{delta: `{"type":"text_delta","text":["a"]}`, refused: true},
		{delta: `{"type":"text_delta","text":"a","other":"b"}`, plain: true, more: true, fields: 1},
		{delta: `{"type":"text_delta","text":"a","count":1}`, plain: true, fields: 1},
		{delta: `{"type":"text_delta","Text":"a"}`, refused: true},
		{delta: `{"type":"input_json_delta","partial_json":"{"}`, input: true, fields: 1},
		{delta: `{"type":"citations_delta","citation":{"cited_text":"a"}}`, plain: true, citation: true},
		{delta: `{"type":"new_delta","text":"a","list":[1]}`, more: true, fields: 1, values: 1},
		{delta: `{"type":"new_tool_use_delta","text":"a"}`, refused: true},
		{delta: `{"type":"new_delta","name":"a","input":{}}`, refused: true},
		{delta: `{"text":"a"}`, refused: true},
		{delta: `"a"`, refused: true},
	} {
		e, err := decode(`{"type":"content_block_delta","index":0,"delta":`+tt.delta+`}`, nil)
		if (err != nil) != tt.refused {
			t.Errorf("%s: %v", tt.delta, err)
		}
		if tt.refused || err != nil {
			continue
		}
		d := e.delta
		if d.input != tt.input || d.plain != tt.plain || d.more != tt.more || len(d.fields) != tt.fields || len(d.values) != tt.values || (d.citation != "") != tt.citation {
			t.Errorf("%s: %+v", tt.delta, d)
		}
	}
}
