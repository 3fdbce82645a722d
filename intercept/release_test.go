package intercept_test

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
)

// Calls leave one after the other when they are complete, those of one event together, and nothing that waits is overtaken.
func TestCallsLeaveBeforeTheEnd(t *testing.T) {
	one, two, three := toyStream(toyCalls("a", "id_1", `{}`)...), toyStream(toyCalls("b", "id_2", `{}`)...), toyStream(toyCalls("c", "id_3", `{}`)...)
	begun, rest := toyStream(toyCalls("b", "id_2", `{}`)[:2]...), toyStream(toyCalls("b", "id_2", `{}`)[2:]...)
	say, wait, end := toyStream(`{"say":"Hi."}`), toyStream(`{"wait":true}`), toyStream(`{"end":true}`)
	together := strings.ReplaceAll(strings.TrimSuffix(one+two, "\n\n"), "\n\n", "\n") + "\n\n"
	step := func(piece string, words ...string) intercepttest.Step {
		return intercepttest.Step{Piece: piece, Shows: words}
	}
	second := func(n int, c intercept.Call) intercept.Ruling {
		return [...]intercepttest.Ruler{intercepttest.ReleaseAll, intercepttest.DenyAll, intercepttest.ReleaseAll}[n](n, c)
	}
	for name, tt := range map[string]struct {
		rule  intercepttest.Ruler
		steps []intercepttest.Step
		end   []string
	}{
		"one after the other":  {intercepttest.ReleaseAll, []intercepttest.Step{step(say + one[:len(one)-1]), step("\n", "id_1"), step(begun), step(rest, "id_2"), step(say), step(end)}, nil},
		"with one denied":      {second, []intercepttest.Step{step(one, "id_1"), step(two), step(three), step(end)}, []string{"id_3"}},
		"of one event":         {intercepttest.ReleaseAll, []intercepttest.Step{step(together, "id_1", "id_2"), step(three, "id_3"), step(end)}, nil},
		"of one event, denied": {second, []intercepttest.Step{step(together), step(three), step(end)}, []string{"id_1", "id_3"}},
		"after what waits":     {intercepttest.ReleaseAll, []intercepttest.Step{step(one, "id_1"), step(wait), step(two), step(end)}, []string{"wait", "id_2"}},
		"with no JSON":         {intercepttest.ReleaseAll, []intercepttest.Step{step(toyStream(toyCalls("a", "id_1", `{`)...)), step(two), step(end)}, []string{"id_1", "id_2"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := intercepttest.Steps(t, toyRequest{}, 1<<20, tt.rule, tt.steps...)
			if err != nil {
				t.Fatal(err)
			}
			for _, word := range tt.end {
				if !strings.Contains(got, word) {
					t.Errorf("the end has no %s: %s", word, got)
				}
			}
		})
	}
}

// A stream that is read again lets as many calls leave as before, or fails.
func TestReleaseFirst(t *testing.T) {
	together := strings.ReplaceAll(strings.TrimSuffix(toyStream(append(toyCalls("a", "id_1", `{}`), toyCalls("b", "id_2", `{}`)...)...), "\n\n"), "\n\n", "\n") + "\n\n"
	stream := together + toyStream(append(toyCalls("c", "id_3", `{}`), `{"end":true}`)...)
	for n, want := range map[int]string{0: "", 1: "an error", 2: "id_1 id_2", 3: "id_1 id_2 id_3", 4: "an error"} {
		a := intercept.NewAnswer(toyRequest{}, intercept.Limits{})
		a.Begin()
		if _, err := a.Write([]byte(stream)); err != nil {
			t.Fatal(err)
		}
		if a.Ripe() {
			t.Error("a call may leave before the end of an answer that is there")
		}
		out, err := a.ReleaseFirst(n)
		if err != nil {
			if want != "an error" {
				t.Errorf("%d: %v", n, err)
			}
			continue
		}
		var left []string
		for _, c := range a.Left() {
			left = append(left, c.ID)
			if !strings.Contains(string(out), c.ID) {
				t.Errorf("%d: %s is not in %s", n, c.ID, out)
			}
		}
		if got := strings.Join(left, " "); got != want {
			t.Errorf("%d: %q have left, want %q", n, got, want)
		}
	}
}
