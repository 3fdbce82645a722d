package intercept

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// Finding 19: half of a surrogate pair passes as text and in fragments of arguments, and
// nowhere else in what may hold a call.
func TestHalvesOfSurrogatePairs(t *testing.T) {
	for payload, want := range map[string]bool{
		`{"content":"\ud83d"}`:                                true,
		`{"content":"\ude00 and \uD83D"}`:                     true,
		`{"content":"\ud83d\ud83d\ude00"}`:                    true,
		`{"content":"\ud83dx\ude00"}`:                         true,
		`{"content":"\ud83d\ude00"}`:                          true,
		`{"content":"\\ud83d"}`:                               true,
		`{"content":"\ud83d","content":"x"}`:                  false,
		`{"\ud83d":1,"\ud83e":2}`:                             false,
		`{"content":"\ud83"}`:                                 false,
		`{"content":"\u+83d"}`:                                false,
		`{"content":"\ud83d"`:                                 false,
		"{\"content\":\"\\ud83d\xff\"}":                       false,
		`{"tool_calls":[{"arguments":"\ud83d"}]}`:             false,
		`{"partial_json":"\ud83d","type":"input_json_delta"}`: false,

		`{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"\ud83d"}}]}}]}`:                 true,
		`{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"\ud83d","\ud83d":1}}]}}]}`:      false,
		`{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":{"x":"\ud83d"}}}]}}]}`:           false,
		`{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":["\ud83d"]}}]}}]}`:               false,
		`{"choices":[[{"delta":{"tool_calls":[{"function":{"arguments":"\ud83d"}}]}}]]}`:               false,
		`{"choices":[{"delta":{"content":"\ud83d","tool_calls":null}}]}`:                               true,
		`{"choices":[{"delta":{"content":["\ud83d"],"tool_calls":null}}]}`:                             false,
		`{"choices":[{"message":{"tool_calls":[{"function":{"arguments":"\ud83d"}}]}}]}`:               false,
		`{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"\ude00"}}`:   true,
		`{"type":"content_block_delta","delta":{"type":"input\ude00","partial_json":"\ude00"}}`:        false,
		`{"type":"response.function_call_arguments.delta","delta":"\ud83d"}`:                           true,
		`{"type":"response.function_call_arguments.delta","item_id":"\ud83d","delta":"\ud83d"}`:        false,
		`{"type":"response.function_call_arguments.delta","delta":"\ud83d","delta":"\ud83d"}`:          false,
		`[{"type":"response.function_call_arguments.delta","delta":"\ud83d"}]`:                         false,
		`{"delta":` + strings.Repeat("[", 5000) + `"call \ud83d"` + strings.Repeat("]", 5000) + `}`:    false,
		`{"delta":` + strings.Repeat(`{"delta":`, 5000) + `"call \ud83d"` + strings.Repeat("}", 5001):  false,
		`{"type":"response.output_text.delta","delta":"a call of \ud83d","choices.delta.content":"x"}`: true,
	} {
		if got := new(Part).Add([]byte(payload)); got != want {
			t.Errorf("%.200s: %t", payload, got)
		}
	}
}

// Finding 19: who takes each line of an event for itself does not find another event in
// it, with halves or without.
func TestHalvesInAnotherEvent(t *testing.T) {
	const line = `{"a":1,"delta":"\ud83d"}`
	p := Part{Bytes: []byte("data: {\"x\":\ndata: " + line + "\ndata: }\n\n")}
	if err := new(Stream).Parse(&p); err == nil {
		t.Errorf("payloads: %q", p.Payloads)
	}
}

// Finding 19: what becomes of halves when fragments are put together.
func TestFragments(t *testing.T) {
	for _, tt := range []struct {
		fragments []string // < and > are the halves
		want      string
		halved    bool
		pieces    string // as [CutHalf] cuts them, each half that is alone as *
	}{
		{[]string{"A", "B"}, "AB", false, "A|B|"},
		{[]string{"A<", ">B"}, "A😀B", false, "A|😀B|"},
		{[]string{"A<", "", ">B"}, "A😀B", false, "A||😀B|"},
		{[]string{"<", "><", "><", ">"}, "😀😀😀", false, "|😀|😀|😀|"},
		{[]string{"<>"}, "😀", false, "😀|"},
		{[]string{"A<", "B"}, "A\uFFFDB", true, "A|*B|"},
		{[]string{"A", ">B"}, "A\uFFFDB", true, "A|*B|"},
		{[]string{"<", "<", ">"}, "\uFFFD😀", true, "|*|😀|"},
		{[]string{"A<"}, "A\uFFFD", true, "A|"},
		{[]string{"한<", ">\uFFFD한"}, "한😀\uFFFD한", false, "한|😀\uFFFD한|"},
	} {
		var f strictjson.Fragments
		var pieces strings.Builder
		rest := ""
		for _, text := range tt.fragments {
			raw := `"` + strings.NewReplacer("<", `\ud83d`, ">", `\uDE00`).Replace(text) + `"`
			fragment := strictjson.Fragment(gjson.Parse(raw))
			f.WriteString(fragment)
			text, rest = strictjson.CutHalf(rest + fragment)
			pieces.WriteString(strings.ToValidUTF8(text, "*") + "|")
		}
		if f.String() != tt.want || f.Halved() != tt.halved || pieces.String() != tt.pieces {
			t.Errorf("%q: %q, halved %t, cut %q", tt.fragments, f.String(), f.Halved(), pieces.String())
		}
	}
}
