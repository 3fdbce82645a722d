package app_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// TestProposals: rules are proposed from the decisions that people made over REST, for the policy that
// judges the calls.
func TestProposals(t *testing.T) {
	t.Parallel()
	own := writeFile(t, t.TempDir()+"/own.yaml", askAll)
	w := build(t, askBash, func(r *fakemodel.Request) fakemodel.Reply {
		if strings.Contains(string(r.Body), `"role":"tool"`) {
			return fakemodel.Answer{Text: "Understood."}.Reply(r)
		}
		var calls []fakemodel.Call
		for i, command := range []string{"go vet ./a", "go vet ./b", "go test ./a", "make"} {
			calls = append(calls, fakemodel.Call{ID: fmt.Sprintf("call_%d", i), Name: "bash", Arguments: fmt.Sprintf(`{"command":%q}`, command)})
		}
		return fakemodel.Answer{Calls: calls}.Reply(r)
	}, func(c *app.Config) {
		c.Proxy.Clients = []app.Client{{Key: "own", Agent: "own", Policy: own}, {Key: "main", Agent: "main"}}
	})
	play := func(key, session string) {
		answer := make(chan string, 1)
		go func() {
			answer <- w.post("/v1/chat/completions", wholeRequest, "Authorization", "Bearer "+key, "X-Heldcall-Session", session).rest()
		}()
		for _, r := range w.pending(4) {
			action := approvals.ActionApprove
			if r.Resource == "make" && key == "main" {
				action = approvals.ActionDeny
			}
			w.decide(r.ID, approvals.Decision{Action: action})
		}
		<-answer
	}
	play("main", "one")
	play("main", "two")
	play("own", "three")
	all, err := w.console.Proposals(t.Context(), approvals.ProposalQuery{Approved: 2, Sessions: 2})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, one := range all.Items {
		got = append(got, fmt.Sprintf("%s %s %d/%d %d of %d", one.Policy, one.Pattern, one.Approved, one.Sessions, one.Fewer, all.Of))
	}
	want := []string{"policy.yaml bash(go vet:./**) 4/2 4 of 12", "policy.yaml bash(go test ./a) 2/2 2 of 12"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	left := map[string]string{}
	for _, leftOut := range all.LeftOut {
		left[leftOut.Policy+" "+leftOut.Pattern] = leftOut.Reason
	}
	if !strings.Contains(left["own.yaml bash(make)"], "approved once in 1 session") {
		t.Errorf("left out: %q", left)
	}
	later, err := w.console.Proposals(t.Context(), approvals.ProposalQuery{Approved: 1, Sessions: 1, Since: time.Now().Add(time.Hour)})
	if err != nil || len(later.Items) != 0 || later.Of != 0 {
		t.Errorf("since the future: %+v, %v", later, err)
	}
	if none, err := w.console.Proposals(t.Context(), approvals.ProposalQuery{Approved: -1}); err == nil {
		t.Errorf("approved below 1 is taken: %+v", none)
	}
}
