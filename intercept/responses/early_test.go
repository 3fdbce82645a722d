package responses

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept/intercepttest"
)

// A call leaves when its item is done, one with an empty input or free text when the next item begins; what changes it after
// that, and a final copy that differs, ends the answer.
func TestCallsLeaveWhenTheyAreComplete(t *testing.T) {
	type steps = []intercepttest.Step
	show := func(piece string, words ...string) intercepttest.Step {
		return intercepttest.Step{Piece: piece, Shows: words}
	}
	// pieces are the stream of items, cut after each.
	pieces := func(items ...string) (list []string) {
		s := newScript("resp_1").begin()
		list = append(list, s.out.String())
		for _, item := range items {
			s.item(item)
			list = append(list, strings.TrimPrefix(s.out.String(), strings.Join(list, "")))
		}
		return append(list, strings.TrimPrefix(s.end(), strings.Join(list, "")))
	}
	a, b := function("a", "bash", ls), function("b", "read", `{"path":"x"}`)
	two := pieces(a, b)
	said := pieces(a, message("msg_1", "So."), b)
	free := pieces(custom, b)
	empty := pieces(function("a", "bash", "{}"), b)
	shared := pieces(a, strings.Replace(b, "fc_b", "fc_a", 1))
	number := pieces(a, a)
	late := newScript("resp_1")
	late.number = 20
	late.event("response.function_call_arguments.delta", `"item_id":"fc_a","output_index":0,"delta":" "`)
	all, one := intercepttest.ReleaseAll, intercepttest.ReleaseFirst
	background := strings.Replace(request1, `"stream"`, `"background":true,"stream"`, 1)
	for name, tt := range map[string]struct {
		request string
		rule    intercepttest.Ruler
		steps   steps
		end     []string
		failed  string
	}{
		"it is done":           {rule: all, steps: steps{show(two[0]), show(two[1], `"call_a"`), show(two[2], `"call_b"`), show(two[3])}, end: []string{"response.completed", `"call_a"`}},
		"text after it":        {rule: all, steps: steps{show(said[0]), show(said[1], `"call_a"`), show(said[2], `"output_index":1`), show(said[3], `"call_b"`), show(said[4])}},
		"the second is denied": {rule: one, steps: steps{show(two[0]), show(two[1], `"call_a"`), show(two[2]), show(two[3])}, end: []string{"response.completed", `"call_a"`}},
		"free text":            {rule: all, steps: steps{show(free[0] + free[1]), show(free[2], `"call_c"`, `"call_b"`), show(free[3])}},
		"an empty input":       {rule: all, steps: steps{show(empty[0] + empty[1]), show(empty[2], `"call_a"`, `"call_b"`), show(empty[3])}},
		"a background answer":  {request: background, rule: all, steps: steps{show(two[0] + two[1]), show(two[2]), show(two[3])}, end: []string{`"call_a"`, `"call_b"`}},
		"an item id twice":     {rule: all, steps: steps{show(shared[0]), show(shared[1], `"id":"fc_a"`), show(shared[2], "fc_call_b_1"), show(shared[3])}, end: []string{`"id":"fc_a"`, "fc_call_b_1"}},
		"a call id twice":      {rule: all, steps: steps{show(number[0]), show(number[1], `"call_a"`), show(number[2])}, failed: "was released"},
		"more of it":           {rule: all, steps: steps{show(two[0]), show(two[1], `"call_a"`), show(late.out.String())}, failed: "was released"},
		"another final copy":   {rule: all, steps: steps{show(two[0]), show(two[1], `"call_a"`), show(two[2], `"call_b"`), show(strings.Replace(two[3], `\"ls\"`, `\"rm\"`, 1))}, failed: "was released"},
		"no final copy":        {rule: all, steps: steps{show(two[0]), show(two[1], `"call_a"`), show(two[2], `"call_b"`), show(strings.Replace(two[3], a+",", "", 1))}, end: []string{`"call_a"`}},
		"cut":                  {rule: all, steps: steps{show(two[0]), show(two[1], `"call_a"`)}, failed: "cut off"},
		"it failed":            {rule: all, steps: steps{show(two[0]), show(two[1], `"call_a"`), show(strings.NewReplacer("response.completed", "response.failed", `"completed","error":null`, `"failed","error":{"code":"x"}`).Replace(pieces(a)[2]), `"call_a"`)}},
	} {
		for _, n := range []int{1, 50, 1 << 20} {
			t.Run(name, func(t *testing.T) {
				request := tt.request
				if request == "" {
					request = request1
				}
				r, err := parseRequest(asked(request))
				if err != nil {
					t.Fatal(err)
				}
				got, failed := intercepttest.Steps(t, r, n, tt.rule, tt.steps...)
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
