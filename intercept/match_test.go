package intercept

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"
)

// Finding 20: calls decide where an answer is, then the position, then the text.
func TestMatchWhatAgentsRewrite(t *testing.T) {
	const random, other = "call_Vr3xkQ0pLm7bTz91", "call_Vr3xkQ0pLm7bTz92"
	calls := func(ids ...string) (list []CallFingerprint) {
		for _, id := range ids {
			list = append(list, NewCallFingerprint(id, "read", "{}"))
		}
		return list
	}
	sure := func(text bool) map[int]Found { return map[int]Found{0: {Text: text, Calls: true, Sure: true}} }
	unique := func(f Found) map[int]Found { f.Unique = true; return map[int]Found{0: f} }
	for _, tt := range []struct {
		name   string
		seen   []*TurnFingerprint
		echoes []HistoryTurn
		want   map[int]Found
	}{
		{"an id of its own, another text and position", []*TurnFingerprint{{Before: "b", Opening: "o", Text: "Hi.", Calls: calls(random)}}, []HistoryTurn{{Before: "x", Text: "[REDACTED]", Calls: calls(random)}}, unique(Found{Calls: true, Sure: true})},
		{"a repeated id in place, another text", []*TurnFingerprint{{Before: "b", Opening: "o", Text: "Hi.", Calls: calls("call_0")}}, []HistoryTurn{{Before: "b", Text: "[REDACTED]", Calls: calls("call_0")}}, sure(false)},
		{"a repeated id elsewhere, another text", []*TurnFingerprint{{Before: "b", Opening: "o", Text: "Hi.", Calls: calls("call_0")}}, []HistoryTurn{{Before: "x", Text: "[REDACTED]", Calls: calls("call_0")}}, map[int]Found{0: {Calls: true}}},
		{"a repeated id in two places", []*TurnFingerprint{{Before: "b", Opening: "o", Calls: calls("call_0")}}, []HistoryTurn{{Before: "x", Calls: calls("call_0")}, {Before: "y", Calls: calls("call_0")}}, map[int]Found{0: {Text: true, Calls: true}}},
		{"a repeated id in two places, one of them the answer's", []*TurnFingerprint{{Before: "y", Opening: "o", Calls: calls("call_0")}}, []HistoryTurn{{Before: "x", Calls: calls("call_0")}, {Before: "y", Text: "z", Calls: calls("call_0")}}, map[int]Found{1: {Calls: true, Sure: true}}},
		{"one of two calls", []*TurnFingerprint{{Before: "b", Opening: "o", Calls: calls(random, other)}}, []HistoryTurn{{Before: "x", Calls: calls(other)}}, unique(Found{Text: true})},
		{"none of its calls", []*TurnFingerprint{{Before: "b", Opening: "o", Calls: calls(random)}}, []HistoryTurn{{Before: "b", Calls: calls(other)}}, nil},
		{"white space and reasoning", []*TurnFingerprint{{Before: "b", Text: "<think>a</think> One.\n\n<think>b</think>Two. "}}, []HistoryTurn{{Before: "b", Text: "\nOne. Two."}}, sure(true)},
		{"reasoning without its opening mark", []*TurnFingerprint{{Before: "b", Text: "a</think>One."}}, []HistoryTurn{{Before: "b", Text: "One."}}, sure(true)},
		{"no calls, another text", []*TurnFingerprint{{Before: "b", Opening: "o", Text: "One."}}, []HistoryTurn{{Before: "a", Text: "Two."}, {Before: "b", Text: "Two."}}, map[int]Found{1: {Calls: true}}},
		{"no calls, another text, another opening", []*TurnFingerprint{{Before: "b", Opening: "p", Text: "One."}}, []HistoryTurn{{Before: "b", Text: "Two."}}, nil},
		{"no calls, another text, two conversations", []*TurnFingerprint{{Before: "b", Opening: "o", Text: "One."}, {Parallel: true}}, []HistoryTurn{{Before: "b", Text: "Two."}}, nil},
		{"no calls, a text beyond all", []*TurnFingerprint{{Before: "b", Opening: "o"}}, []HistoryTurn{{Before: "b", Long: true}}, map[int]Found{0: {Calls: true}}},
		{"a call where there was none", []*TurnFingerprint{{Before: "b", Opening: "o", Text: "One."}}, []HistoryTurn{{Before: "b", Text: "One.", Calls: calls("call_0")}}, nil},
		{"two answers to one message, the other first", []*TurnFingerprint{{Before: "b", Opening: "o", Text: "One."}, {Before: "b", Opening: "o", Text: "Two."}}, []HistoryTurn{{Before: "b", Text: "Two."}}, map[int]Found{0: {Record: 1, Text: true, Calls: true, Sure: true}}},
	} {
		got := Match("o", tt.echoes, tt.seen)
		if len(got) == 0 {
			got = nil
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}

func TestForcedBy(t *testing.T) {
	x, two, none := []string{"x"}, []string{"x", ""}, []string(nil)
	for choice, want := range map[string][2][]string{ // with one tool, with two
		``: {}, `"auto"`: {}, `"none"`: {}, `{"type":"auto"}`: {}, `{"type":"web_search"}`: {},
		`"required"`: {x, two}, `"any"`: {x, two}, `{"type":"any"}`: {x, two},
		`{"type":"tool","name":"x"}`: {x, x}, `{"type":"function","name":"x"}`: {x, x}, `{"name":"x"}`: {x, x},
		`{"type":"function","function":{"name":"x"}}`: {x, x}, `{"type":"custom","custom":{"name":"x"}}`: {x, x},
		`{"type":"allowed_tools","mode":"required","tools":[{"name":"x"}]}`:                   {x, x},
		`{"type":"allowed_tools","mode":"auto","tools":[{"name":"x"}]}`:                       {none, none},
		`{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{},{}]}}`:        {{"", ""}, {"", ""}},
		`{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{"name":"x"}]}}`: {x, x},
	} {
		v, one, more := gjson.Parse(choice), gjson.Parse(`[{"function":{"name":"x"}}]`), gjson.Parse(`[{"type":"web_search"}]`)
		if got := [2][]string{ForcedBy(v, one), ForcedBy(v, one, more)}; !slices.Equal(got[0], want[0]) || !slices.Equal(got[1], want[1]) {
			t.Errorf("%s: %q", choice, got)
		}
	}
}

// Ids that another conversation could have identify none.
func TestMadeBy(t *testing.T) {
	const random = "call_Vr3xkQ0pLm7bTz91"
	counted, own := []CallFingerprint{{ID: "call_0"}}, []CallFingerprint{{ID: "call_0"}, {ID: random}}
	if MadeBy(counted, "", "") != "" || MadeBy(own) == "" || MadeBy(own) != MadeBy(own[1:]) || MadeBy(nil, "resp_1") == "" || MadeBy(own) == MadeBy(own, "resp_1") {
		t.Error("ids are mistaken")
	}
}
