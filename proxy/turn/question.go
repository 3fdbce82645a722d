package turn

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/heldcall/heldcall/proxy/results"
)

// newRequest is the request to people about one call: here the call of the wire becomes
// the request of the domain.
func (r *review) newRequest(j *judgedCall, answer *intercept.Answer) approvals.Request {
	c := r.conversation
	q := results.NewRequest(c, approvals.KindPermission, &j.verdict, r.engine.Limits.MaxWait)
	j.judged().Subject(&q, j.call, j.shown())
	r.showEarlier(&q, j)
	q.Context.AssistantText = results.Excerpt(c.Redact(answer.Text()))
	if tool, ok := c.Parsed.Tool(j.call.Name); ok {
		q.Description = strings.Clone(tool.Description) // pins no list of tools
		q.Tool = approvals.Tool{Description: q.Description, Parameters: tool.Parameters}
		if strictjson.Deep(tool.Parameters) {
			q.Tool.Parameters = nil
			q.Details.Flags = append(slices.Clip(q.Details.Flags), "The tool's parameters are nested too deep to be shown, or checked against.")
		}
	}
	return q
}
