package responses

import (
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
)

// cutItem is an answer with a call whose input has ABCD in it, with whole in its place
// but in the two deltas, which end and begin in the given texts.
func cutItem(item, whole, end, begin string) string {
	var b strings.Builder
	for _, part := range strings.SplitAfter(stream("resp_1", item), "\n\n") {
		if strings.Contains(part, `.delta"`) {
			part = strings.Replace(strings.Replace(part, "AB", end, 1), "CD", begin, 1)
		}
		b.WriteString(strings.ReplaceAll(part, "ABCD", whole))
	}
	return b.String()
}

// The middle of these inputs is the middle of ABCD.
var (
	cutFunction = function("a", "bash", `{"x":"ABCDeeee"}`)
	cutCustom   = strings.Replace(custom, "SELECT 1", "ABCD", 1)
	cutPatch    = strings.Replace(patch, `+a\n+b`, "ABCD", 1)
)

// Finding 19: halves of a character in two deltas are one character in the input that is
// judged and released.
func TestHalvesInAnInput(t *testing.T) {
	for name, item := range map[string]string{"function": cutFunction, "custom": cutCustom, "patch": cutPatch} {
		t.Run(name, func(t *testing.T) {
			body := cutItem(item, "A😀D", `A\ud83d`, `\ude00D`)
			for _, rule := range []intercepttest.Ruler{intercepttest.ReleaseAll, intercepttest.EditAll} {
				p := play(t, asked(request1), bodies(body), []byte{40}, intercept.Limits{}, rule)
				if p.Err != nil || len(p.Calls[0]) != 1 {
					t.Fatalf("error %v, calls %+v", p.Err, p.Calls)
				}
				c := p.Calls[0][0]
				if !strings.Contains(c.Arguments, "A😀D") || len(c.Ambiguous) > 0 {
					t.Errorf("judged: %+v", c)
				}
				if rule(0, c).Action == intercept.Edit {
					c.Arguments = intercepttest.Edited
				}
				checkRead(t, p.Out(), c)
				want := bare([]byte(stream("resp_1", function("a", "bash", strings.ReplaceAll(c.Arguments, "😀", "BC")))))
				if out := string(p.Out()); strings.Contains(out, `\ud`) || (name == "function" && bare(p.Out()) != strings.ReplaceAll(want, "BC", "😀")) {
					t.Errorf("the agent got %s", out)
				}
			}
		})
	}
}

// Finding 19: half of a character that stays alone is doubted, whatever the whole shows
// in its place.
func TestHalvesThatStayAlone(t *testing.T) {
	for name, item := range map[string]string{"function": cutFunction, "custom": cutCustom, "patch": cutPatch} {
		for _, end := range []string{`A\ud83d`, `A\ude00`} {
			p := play(t, asked(request1), bodies(cutItem(item, "A\uFFFDD", end, "D")), nil, intercept.Limits{}, intercepttest.ReleaseAll)
			if p.Err != nil || !slices.Contains(p.Calls[0][0].Ambiguous, intercept.AmbiguousHalf) || strings.Contains(string(p.Out()), `\ud`) {
				t.Errorf("%s: error %v, calls %+v, the agent got %s", name, p.Err, p.Calls, p.Out())
			}
		}
	}
}

// Finding 19: halves elsewhere, and what else is no strict JSON, are not understood.
func TestHalvesThatAreRefused(t *testing.T) {
	good := cutItem(cutFunction, "A😀D", `A\ud83d`, `\ude00D`)
	for _, change := range [][2]string{
		{`\ud83d","obfuscation"`, `\ud83d","x\ud83d":1,"obfuscation"`},
		{`"obfuscation":"xy"`, `"obfuscation":"\ud83d"`},
		{`\ud83d","obfuscation"`, `\ud83d","delta":"x","obfuscation"`},
		{`\ud83d","obfuscation"`, "\\ud83d\xff\",\"obfuscation\""},
		{`\ud83d","obfuscation"`, `\ud83d","name":"\ud83d","obfuscation"`},
		{`\ud83d","obfuscation"`, `\ud83d","call_id":"\ud83d","obfuscation"`},
		{`"delta":"{\"x\":\"A\ud83d"`, `"delta":["{\"x\":\"A\ud83d"]`},
		{`"item_id":"fc_a"`, `"item_id":"\ud83d"`},
		{`"name":"bash"}`, `"name":"\ud83d"}`},
		{`"arguments":"{\"x\":\"A😀Deeee\"}"`, `"arguments":"{\"x\":\"A\ud83dDeeee\"}"`},
	} {
		at := strings.Index(good, "response.output_item.added") // the tools before it have a name too
		odd := good[:at] + strings.Replace(good[at:], change[0], change[1], 1)
		if odd == good {
			t.Fatalf("%s is not in %s", change[0], good)
		}
		if p := play(t, asked(request1), bodies(odd), nil, intercept.Limits{}, intercepttest.ReleaseAll); p.Err == nil || strings.Contains(string(p.Out()), "function_call") {
			t.Errorf("%s: %s", change[1], p.Out())
		}
	}
}
