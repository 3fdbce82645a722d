package strictjson

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

func TestMayHoldCall(t *testing.T) {
	for _, word := range []string{"call", "argument", "input", "parameter", "action", "tool_use", "approval", `\u00`} {
		for _, in := range []string{word, "x" + word + "y", strings.ToUpper(word[:1]) + word[1:], word[:len(word)-1] + word, strings.Repeat("c", 9) + word, "cal" + word, "acti" + word, "argu" + word} {
			if !MayHoldCall([]byte(in)) {
				t.Errorf("%q cleared", in)
			}
		}
		if in := word[:len(word)-1] + "_"; MayHoldCall([]byte(in)) {
			t.Errorf("%q suspected", in)
		}
	}
	if !MayHoldCall([]byte("TOOL_CALLS")) || !MayHoldCall([]byte("tool_cAlLs")) {
		t.Error("letter case hides a call")
	}
	if MayHoldCall([]byte(`{"id":"c1","choices":[{"message":{"content":"a balcony in \u4e2d"}}]}`)) {
		t.Error("harmless text is suspected")
	}
}

// FuzzMayHoldCall compares the scan with the decoder: JSON that the scan passes has no name
// for calls and no object with an input.
func FuzzMayHoldCall(f *testing.F) {
	for _, in := range []string{
		`{"tool_calls":[{"function":{"name":"x","arguments":"{}"}}]}`, `{"t\u006fol_\u0063alls":[1]}`, `{"a":{"name":"x","input":{}}}`,
		`{"content":"call me"}`, `{"CALLS":["x"]}`, `{"x":{"type":"function_call"}}`, `{"choices":[{"delta":{"content":"hello"}}]}`,
	} {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if MayHoldCall(in) || Strict(in) != nil {
			return
		}
		v := gjson.ParseBytes(in)
		if reason := Suspect("", v); reason != "" {
			t.Fatalf("cleared %q: %s", in, reason)
		}
		v.ForEach(func(k, _ gjson.Result) bool {
			if strings.Contains(strings.ToLower(k.Str), "call") {
				t.Fatalf("cleared %q, which has the name %q", in, k.Str)
			}
			return true
		})
	})
}
