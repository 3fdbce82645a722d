package turn

import (
	"cmp"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/heldcall/heldcall/proxy/results"
)

// newRequest is the request to people about one call: here the call of the wire becomes
// the request of the domain.
func (r *review) newRequest(j *judgedCall, answer *intercept.Answer) approvals.Request {
	c := r.conversation
	q := results.NewRequest(c, approvals.KindPermission, &j.verdict, r.engine.Limits.MaxWait)
	q.ToolCallID, q.ToolName = j.call.ID, j.call.Name
	q.Arguments, q.ArgsPreview = judge.ArgumentsValue(j.shown()), j.verdict.Preview
	q.Title = cmp.Or(j.verdict.Title, approvals.DefaultTitle(j.call.Name))
	q.SuggestedPatterns, q.AllowRemember, q.RememberScopes = j.verdict.Suggested, j.verdict.AllowRemember, j.verdict.RememberScopes
	q.Effects, q.Details.ByDefault = j.verdict.Effects, j.verdict.ByDefault
	q.Details.Confirm = j.verdict.Confirmation(j.call.Name)
	q.Details.Window, q.Details.DenyOnly = j.verdict.Window, j.verdict.DenyOnly
	if q.PermitsFolder() {
		q.Details.Folder = j.verdict.Folder
	}
	r.showEarlier(&q, j)
	q.Context.AssistantText = results.Excerpt(c.Redact(answer.Text()))
	q.Details.Flags = slices.Concat(j.call.Flags, q.Details.Flags)
	q.Details.Commands, q.Details.Policy = j.verdict.Commands, j.policy
	q.Details.FreeText, q.Details.Fixed, q.Details.Doubts = j.call.FreeText, j.call.ReadOnly, j.doubts()
	q.Details.Subagent = j.call.Subagent
	if tool, ok := c.Parsed.Tool(j.call.Name); ok {
		q.Description = strings.Clone(tool.Description) // pins no list of tools
		q.Tool = approvals.Tool{Description: q.Description, Parameters: tool.Parameters}
		if strictjson.Deep(tool.Parameters) {
			q.Tool.Parameters = nil
			q.Details.Flags = append(slices.Clip(q.Details.Flags), "The tool's parameters are nested too deep to be shown, or checked against.")
		}
	}
	if q.Arguments[0] != '{' || string(q.Arguments) != j.call.Arguments {
		q.Details.RawArguments = j.call.Arguments
	}
	return q
}
