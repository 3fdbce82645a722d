package app_test

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// Arguments and schemas that are nested too deep for a browser do not make the list that
// contains them unreadable.
func TestDeepArgumentsAreShownAsText(t *testing.T) {
	t.Parallel()
	deep := `{"a":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "}"
	w := build(t, askAll, func(r *fakemodel.Request) fakemodel.Reply {
		return fakemodel.Answer{Calls: []fakemodel.Call{{ID: "call_d", Name: "nest", Arguments: deep}}}.Reply(r)
	})
	agent := w.post("/v1/chat/completions", `{"model":"m","stream":true,"messages":[{"role":"user","content":"do it"}],"tools":[{"type":"function","function":{"name":"nest","parameters":`+deep+`}}]}`)
	r := w.pending(1)[0]
	if r.Arguments[0] != '"' || r.Details.RawArguments != deep || len(r.Tool.Parameters) > 0 || !strings.Contains(strings.Join(r.Details.Flags, " "), "nested too deep") {
		t.Errorf("shown are %.40s, a schema of %d bytes, %q", r.Arguments, len(r.Tool.Parameters), r.Details.Flags)
	}
	w.decide(r.ID, approvals.Decision{Action: approvals.ActionApprove})
	if got := agent.rest(); !strings.Contains(got, "call_d") {
		t.Errorf("the agent got %.400s", got)
	}
}
