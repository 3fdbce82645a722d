package results

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/intercept"
)

// reportUnseen reports, once in a conversation, that the agent continues it without the results of released calls.
// Such calls taint the run as their results would. It refuses the request if the rules deny it.
func (r *Results) reportUnseen(ctx context.Context) *intercept.Error {
	c := r.Conversation
	if refusal := c.Unseen.Read(ctx, &c.Judged); refusal != nil {
		return refusal
	}
	said, taint := c.Unseen.Said()
	missing := c.Unseen.Missing()
	for _, call := range missing {
		if taint == "" {
			taint = r.unseenTaint(call)
		}
	}
	r.taint = taint
	if len(missing) == 0 {
		return nil
	}
	if refusal := c.Unseen.Say(ctx, taint); refusal != nil {
		return refusal
	}
	if !said {
		who := c.Identity()
		r.Log.Warn("an agent continues its conversation without the results of released calls: if it sends them as other texts, no rule about results judges them",
			"tools", c.Unseen.Tools(), "session", who.Session, "run", who.Run, "turn", c.Request.Turn, "refused", r.rules.DeniesUnseen())
	}
	if r.rules.DeniesUnseen() {
		return &intercept.Error{Code: intercept.CodeResultsUnseen, Reason: "the request does not have the results of released calls of " + c.Unseen.Tools() +
			" as results, so the policy cannot judge them and denies it (results_unseen); send them as the API has them"}
	}
	return nil
}

// unseenTaint is the cause if the result of a call taints its run with any content; "" for none.
func (r *Results) unseenTaint(call intercept.Call) string {
	key := sha256.Sum256(fmt.Appendf(nil, "unseen %q %q %t", call.Name, call.Arguments, call.FreeText))
	v := r.rules.JudgeResult(key, func() judge.Result { return judge.Result{Call: call, Known: true} })
	if v.Taint == "" {
		return ""
	}
	return fmt.Sprintf("%s, which %s in the policy's taint list matches; the agent did not send it as a result",
		match.Preview("the result of "+call.Name+" "+call.Arguments), v.Taint)
}
