package proxy

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/chat"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// secondThoughts asks about every call, and denies it when it is judged again.
type secondThoughts struct{ *judge.Rules }

func (secondThoughts) Verdict(judge.Origin, intercept.Call) policy.Verdict {
	return policy.Verdict{Action: policy.Deny, Rule: "new.yaml:1", Reason: "Since then it is denied."}
}

// TestApprovalsAreJudgedAgainAndEditsAreNot: rules may deny by now what a person approves.
// An edit was judged before the reviewer was answered, so it is released.
func TestApprovalsAreJudgedAgainAndEditsAreNot(t *testing.T) {
	for _, tt := range []struct {
		decision approvals.Decision
		want     string
	}{
		{approvals.Decision{Action: approvals.ActionApprove}, "Understood: new rule"},
		{approvals.Decision{Action: approvals.ActionModifyArgs, ModifiedArgs: []byte(`{"command":"edited"}`)}, `"arguments":"{\"command\":\"edited\"}"`},
	} {
		b := newBed(t, chat.Dialect{}, "default: ask\n", func(r *fakemodel.Request) fakemodel.Reply {
			if strings.Contains(string(r.Body), "Since then it is denied.") {
				return fakemodel.Answer{Text: "Understood: new rule"}.Reply(r)
			}
			return callBash(r)
		})
		judgeOf := b.turns.Judge
		b.turns.Judge = func(client string) Judge { return secondThoughts{judgeOf(client).(*judge.Rules)} }
		if err := b.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		answer := make(chan string, 1)
		go func() {
			defer close(answer)
			resp, err := http.Post("http://"+b.Addr()+"/v1/chat/completions", "application/json", strings.NewReader(chatRequest("false")))
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			body, _ := io.ReadAll(resp.Body)
			answer <- string(body)
		}()
		b.until("people are asked", func() bool {
			page, err := b.gate.Requests(t.Context(), approvals.Filter{Status: approvals.StatusPending})
			if err != nil || len(page.Items) == 0 {
				return false
			}
			tt.decision.RequestID, tt.decision.ReviewerID = page.Items[0].ID, "rita"
			_, err = b.gate.Decide(t.Context(), tt.decision)
			return err == nil
		})
		if got := <-answer; !strings.Contains(got, tt.want) {
			t.Errorf("%s: the agent got %s", tt.decision.Action, got)
		}
		if err := b.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
