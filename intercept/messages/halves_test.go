package messages

import (
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
)

// cut writes < for the first half of 😀 and > for the second.
var cut = strings.NewReplacer("<", `\ud83d`, ">", `\ude00`)

// cutUse is an answer with a call, the input of which comes in pieces.
func cutUse(pieces ...string) string {
	return cut.Replace(started("msg_1") + use(0, "toolu_a", "bash", pieces...) + ended("tool_use"))
}

// Finding 19: halves of a character in two pieces are one character in the input that is
// judged and released.
func TestHalvesInAnInput(t *testing.T) {
	for _, tt := range []struct {
		name   string
		pieces []string
		want   string
		doubt  bool
	}{
		{"one pair", []string{`{"x":"A<`, `>B"}`}, `{"x":"A😀B"}`, false},
		{"pairs side by side", []string{`{"x":"<`, `><`, `>`, `"}`}, `{"x":"😀😀"}`, false},
		{"first half alone", []string{`{"x":"A<`, `B"}`}, "{\"x\":\"A\uFFFDB\"}", true},
		{"second half alone", []string{`{"x":"A`, `>B"}`}, "{\"x\":\"A\uFFFDB\"}", true},
		{"wrong order", []string{`{"x":"A>`, `<B"}`}, "{\"x\":\"A\uFFFDB\"}", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			checkCanonical(t, cutUse(tt.pieces...), tt.want, func(input string) string {
				return started("msg_1") + use(0, "toolu_a", "bash", input) + ended("tool_use")
			})
			p := play(t, bodies(cutUse(tt.pieces...)), nil, intercept.Limits{}, intercepttest.ReleaseAll)
			if c := p.Calls[0][0]; slices.Contains(c.Ambiguous, intercept.AmbiguousHalf) != tt.doubt || len(c.Ambiguous) > 1 {
				t.Errorf("doubts: %q", c.Ambiguous)
			}
		})
	}
}

// Finding 19: halves elsewhere, and what else is no strict JSON, are not understood.
func TestHalvesThatAreRefused(t *testing.T) {
	piece := more(0, "<")
	for _, change := range [][2]string{
		{`"partial_json":"<"`, `"partial_json":"<","x<":1`},
		{`"partial_json":"<"`, `"partial_json":"<","x":"<"`},
		{`"partial_json":"<"`, `"partial_json":{"x":"<"}`},
		{`"partial_json":"<"`, `"partial_json":["<"]`},
		{`"partial_json":"<"`, `"partial_json":"<","partial_json":"x"`},
		{`"partial_json":"<"`, "\"partial_json\":\"<\xff\""},
		{`"type":"input_json_delta"`, `"type":"input_json_delta<"`},
		{`{"type":"content_block_delta"`, `{"type":"content_block_delta<"`},
	} {
		odd := with(change[0], change[1])(piece)
		if odd == piece {
			t.Fatalf("%s is not in %s", change[0], piece)
		}
		body := cut.Replace(started("msg_1") + begun(0, "toolu_a", "bash") + odd + more(0, "{}") + closed(0) + ended("tool_use"))
		if p := play(t, bodies(body), nil, intercept.Limits{}, intercepttest.ReleaseAll); p.Err == nil || strings.Contains(string(p.Out()), "bash") {
			t.Errorf("%s: %s", change[1], p.Out())
		}
	}
	for _, block := range []string{`{"type":"tool_use","id":"<","name":"bash","input":{}}`, `{"type":"tool_use","id":"toolu_a","name":"<","input":{}}`, `{"type":"tool_use","id":"toolu_a","name":"bash","input":{"x":"<"}}`} {
		body := cut.Replace(started("msg_1") + opened(0, block) + closed(0) + ended("tool_use"))
		if p := play(t, bodies(body), nil, intercept.Limits{}, intercepttest.ReleaseAll); p.Err == nil || strings.Contains(string(p.Out()), "tool_use") {
			t.Errorf("%s: %s", block, p.Out())
		}
	}
}
