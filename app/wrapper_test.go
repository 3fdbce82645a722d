package app_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// TestWrappedCallsKeepTheirReviewers: a limit that is used up by one of the calls
// that another call wraps, or a rule of a harmless one, takes nothing away of who
// decides the others, and denies stay.
func TestWrappedCallsKeepTheirReviewers(t *testing.T) {
	t.Parallel()
	const rules = `rules:
  - deny: [wipe]
  - ask: [note]
  - ask: [transfer]
    reviewers: [finance]
    required_approvals: 2
  - allow: [ls]
    limit: {per_run: 1}
`
	wrapping := func(tools ...string) fakemodel.Script {
		var uses []string
		for _, tool := range tools {
			uses = append(uses, `{"recipient_name":"functions.`+tool+`","parameters":{"of":"`+tool+`"}}`)
		}
		arguments := `{"tool_uses":[` + strings.Join(uses, ",") + `]}`
		return func(r *fakemodel.Request) fakemodel.Reply {
			if strings.Contains(string(r.Body), `"role":"tool"`) {
				return fakemodel.Answer{Text: "Understood."}.Reply(r)
			}
			return fakemodel.Answer{Calls: []fakemodel.Call{{ID: "call_w", Name: "multi_tool_use.parallel", Arguments: arguments}}}.Reply(r)
		}
	}
	for _, tools := range [][]string{{"transfer", "ls", "ls"}, {"ls", "ls", "transfer"}, {"note", "transfer"}} {
		w := build(t, rules, wrapping(tools...))
		done := make(chan string, 1)
		go func() { done <- w.post("/v1/chat/completions", wholeRequest).rest() }()
		r := w.pending(1)[0]
		if !slices.Equal(r.Reviewers, []string{"finance"}) || r.RequiredApprovals != 2 || !strings.Contains(r.ArgsPreview, "transfer") {
			t.Errorf("%v: %d of %v are asked about %s", tools, r.RequiredApprovals, r.Reviewers, r.ArgsPreview)
		}
		w.decide(r.ID, approvals.Decision{Action: approvals.ActionDeny})
		if got := <-done; strings.Contains(got, "transfer") {
			t.Errorf("%v: the agent got %s", tools, got)
		}
	}
	w := build(t, rules, wrapping("wipe", "ls", "ls"))
	if got := w.post("/v1/chat/completions", wholeRequest).rest(); !strings.Contains(got, "Understood.") {
		t.Errorf("the agent got %s", got)
	}
}
