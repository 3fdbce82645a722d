package intercept

import "testing"

// A hidden turn of one conversation is not restored in another one, even if ids repeat and
// both have the same opening.
func TestMatchKeepsConversationsApart(t *testing.T) {
	const random = "call_Vr3xkQ0pLm7bTz91"
	call := func(id, input string) []CallFingerprint {
		return []CallFingerprint{NewCallFingerprint(id, "read", input)}
	}
	seen := func(id string) *TurnFingerprint {
		return &TurnFingerprint{Before: "b", Opening: "o", Calls: call(id, `{"n":1,"m":[]}`)}
	}
	for _, tt := range []struct {
		name    string
		opening string
		echo    HistoryTurn
		seen    *TurnFingerprint
		want    bool
	}{
		{"in place", "o", HistoryTurn{Before: "b", Calls: call("call_0", `{"n":1,"m":[]}`)}, seen("call_0"), true},
		{"in place, encoded again", "o", HistoryTurn{Before: "b", Calls: call("call_0", ` {"m": [], "n": 1.0}`)}, seen("call_0"), true},
		{"in place, another input", "o", HistoryTurn{Before: "b", Calls: call("call_0", `{"n":2}`)}, seen("call_0"), false},
		{"elsewhere, the same opening", "o", HistoryTurn{Before: "x", Calls: call("call_0", `{"n":1,"m":[]}`)}, seen("call_0"), true},
		{"elsewhere, another opening", "p", HistoryTurn{Before: "x", Calls: call("call_0", `{"n":1,"m":[]}`)}, seen("call_0"), false},
		{"elsewhere, no opening", "", HistoryTurn{Before: "x", Calls: call("call_0", `{"n":1,"m":[]}`)}, seen("call_0"), false},
		{"a telling id, another opening", "p", HistoryTurn{Before: "x", Calls: call(random, `{"n":2}`)}, seen(random), true},
		{"a telling id of an item", "p", HistoryTurn{Before: "x", Items: []string{"msg_0a1b2c3d4e5f6a7b"}}, &TurnFingerprint{Opening: "o", Items: []string{"msg_0a1b2c3d4e5f6a7b"}}, true},
		{"an item that is counted", "p", HistoryTurn{Before: "x", Items: []string{"msg_1"}}, &TurnFingerprint{Opening: "o", Items: []string{"msg_1"}}, false},
	} {
		_, got := Match(tt.opening, []HistoryTurn{tt.echo}, []*TurnFingerprint{tt.seen})[0]
		if got != tt.want {
			t.Errorf("%s: found %t", tt.name, got)
		}
	}
}

func TestTelling(t *testing.T) {
	for id, want := range map[string]bool{
		"": false, "0": false, "call_0": false, "functions.add:0": false, "functions.readfile2024final:12": false, "call_000000000001": false, "D681PevKs": false,
		"call_Vr3xkQ0pLm7bTz91": true, "toolu_01A09q90qw90lq917835lq9": true, "chatcmpl-tool-0e5c6a1f4d5b4c7e9a8b7c6d5e4f3a2b": true, "550e8400-e29b-41d4-a716-446655440000": false,
		"1f6c2a34-9b0d-4c1e-8f7a-0a1b2c3d4e5f": true,
	} {
		if got := telling(id, "readfile2024final"); got != want {
			t.Errorf("%s: %t", id, got)
		}
	}
}
