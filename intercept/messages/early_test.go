package messages

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept/intercepttest"
)

// A call leaves when its block has ended, one with an empty input when the next block begins; what changes it after that ends the
// answer.
func TestCallsLeaveWhenTheyAreComplete(t *testing.T) {
	type steps = []intercepttest.Step
	show := func(piece string, words ...string) intercepttest.Step {
		return intercepttest.Step{Piece: piece, Shows: words}
	}
	start := started("msg_1") + ping + text(0, "Let me look.")
	begin := begun(1, "call_a", "bash") + more(1, `{"command":`) + more(1, `"ls"}`)
	a, b := begin+closed(1), use(2, "call_b", "read", `{"path":"x"}`)
	delta, end := strings.TrimSuffix(ended("tool_use"), stopped), stopped
	all, one := intercepttest.ReleaseAll, intercepttest.ReleaseFirst
	for name, tt := range map[string]struct {
		rule   intercepttest.Ruler
		steps  steps
		end    []string
		failed string
	}{
		"its end":                {rule: all, steps: steps{show(start + begin), show(closed(1), "call_a"), show(begun(2, "call_b", "read") + more(2, `{"path":"x"}`)), show(closed(2), "call_b"), show(delta), show(end)}, end: []string{`"stop_reason":"tool_use"`, "message_stop"}},
		"an empty input":         {rule: all, steps: steps{show(start + use(1, "call_a", "bash", "{}")), show(begun(2, "call_b", "read"), "call_a"), show(closed(2)), show(delta), show(end)}, end: []string{"call_b"}},
		"text after it":          {rule: all, steps: steps{show(start), show(a, "call_a"), show(text(2, "So.", " Yes."), "So.", `"index":2`), show(use(3, "call_b", "read", `{"path":"x"}`), "call_b"), show(delta), show(end)}},
		"the second is denied":   {rule: one, steps: steps{show(start + begin), show(closed(1), "call_a"), show(b), show(text(3, "So.")), show(delta), show(end)}, end: []string{`"index":2,"delta":{"type":"text_delta","text":"So."}`, `"stop_reason":"tool_use"`}},
		"interleaved":            {rule: all, steps: steps{show(started("msg_1") + begun(0, "call_b", "read")), show(a), show(more(0, `{"path":"x"}`) + closed(0)), show(delta), show(end)}, end: []string{"call_a", "call_b"}},
		"other numbers":          {rule: all, steps: steps{show(started("msg_1") + use(5, "call_a", "bash", `{"command":"ls"}`)), show(b), show(delta), show(end)}, end: []string{"call_a", "call_b"}},
		"more of it":             {rule: all, steps: steps{show(start), show(a, "call_a"), show(more(1, " "))}, failed: "was released"},
		"its end again":          {rule: all, steps: steps{show(start), show(a, "call_a"), show(closed(1))}, failed: "was released"},
		"its number again":       {rule: all, steps: steps{show(start), show(a, "call_a"), show(use(1, "call_b", "read", "{}"))}, failed: "was released"},
		"its id again":           {rule: all, steps: steps{show(start), show(a, "call_a"), show(use(2, "call_a", "read", "{}"))}, failed: "was released"},
		"the message again":      {rule: all, steps: steps{show(start), show(a, "call_a"), show(started("msg_2"))}, failed: "was released"},
		"cut":                    {rule: all, steps: steps{show(start), show(a, "call_a"), show(begun(2, "call_b", "read"))}, failed: "cut off"},
		"an error of upstream":   {rule: all, steps: steps{show(start), show(a, "call_a"), show(sent("error", `"error":{"type":"overloaded_error","message":"busy"}`), "overloaded_error")}},
		"its input is no JSON":   {rule: all, steps: steps{show(start + begun(1, "call_a", "bash") + more(1, `{"command":`) + closed(1)), show(b), show(delta), show(end)}, end: []string{"call_b"}},
		"cut by its length, all": {rule: all, steps: steps{show(start + use(1, "call_a", "bash", "{}")), show(strings.TrimSuffix(ended("max_tokens"), stopped)), show(end)}, end: []string{"call_a"}},
	} {
		for _, n := range []int{1, 50, 1 << 20} {
			t.Run(name, func(t *testing.T) {
				got, failed := intercepttest.Steps(t, asking(t, request1), n, tt.rule, tt.steps...)
				if (failed == nil) != (tt.failed == "") || (failed != nil && !strings.Contains(failed.Error(), tt.failed)) {
					t.Fatalf("it ends with %v, want %q", failed, tt.failed)
				}
				for _, word := range tt.end {
					if !strings.Contains(got, word) {
						t.Errorf("the end has no %s: %s", word, got)
					}
				}
			})
		}
	}
}
