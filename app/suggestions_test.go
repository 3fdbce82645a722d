package app_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// TestSuggestionsOfARequest: the console compares each suggested pattern with the other requests of
// the principal.
func TestSuggestionsOfARequest(t *testing.T) {
	t.Parallel()
	w := build(t, askBash, func(r *fakemodel.Request) fakemodel.Reply {
		if strings.Contains(string(r.Body), `"role":"tool"`) {
			return fakemodel.Answer{Text: "Understood."}.Reply(r)
		}
		return fakemodel.Answer{Calls: []fakemodel.Call{
			{ID: "call_1", Name: "bash", Arguments: `{"command":"go vet ./a"}`},
			{ID: "call_2", Name: "bash", Arguments: `{"command":"go vet ./b"}`},
			{ID: "call_3", Name: "bash", Arguments: `{"command":"make"}`},
		}}.Reply(r)
	})
	answer := w.turn("")
	for _, r := range w.pending(3) {
		got, err := w.console.Suggestions(t.Context(), r.ID)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string][]approvals.Suggestion{
			"make":       {{Pattern: "bash(make)", Allows: "exactly this", Of: 2}},
			"go vet ./a": {{Pattern: "bash(go vet ./a)", Allows: "exactly this", Of: 2}, {Pattern: "bash(go vet:./**)", Allows: approvals.AllowsOf("bash(go vet:./**)"), Covered: 1, Of: 2}},
			"go vet ./b": {{Pattern: "bash(go vet ./b)", Allows: "exactly this", Of: 2}, {Pattern: "bash(go vet:./**)", Allows: approvals.AllowsOf("bash(go vet:./**)"), Covered: 1, Of: 2}},
		}[r.Resource]
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", r.Resource, d)
		}
		w.decide(r.ID, approvals.Decision{Action: approvals.ActionDeny})
		if after, err := w.console.Suggestions(t.Context(), r.ID); err != nil || len(after) != 0 {
			t.Errorf("after the decision: %v, %v", after, err)
		}
	}
	<-answer
}
