// Package hosted is pure where the turns, its user, are not: of the tools that requests offer the
// model it judges those that the provider runs itself, whose calls heldcall cannot hold, and counts
// the requests that offer any (offers.go).
package hosted

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/proxy/conversation"
)

// maxHosted bounds how many different hosted tools one request offers: each of them
// is written to the audit log.
const maxHosted = 128

// Engine has what turns share.
type Engine interface {
	// JudgeHosted judges the offer of a tool to an agent of a client, and counts the verdict.
	JudgeHosted(client string, who approvals.Principal, tool string) policy.Verdict
	// Record appends to the audit log.
	Record(ctx context.Context, events ...approvals.Event) error
}

// Tools are the tools of the requests of one turn that the provider runs itself.
type Tools struct {
	Engine       Engine
	Offers       *Offers
	Conversation *conversation.Conversation
	Approval     bool // calls of them have to be approved
}

// Judge judges the tools that a request offers and that the provider runs itself,
// whose calls heldcall cannot hold.
func (h *Tools) Judge(ctx context.Context, req intercept.Request) *intercept.Error {
	offered := req.Hosted()
	if len(offered) == 0 {
		return nil
	}
	if n := countDifferent(offered); n > maxHosted {
		return &intercept.Error{Code: intercept.CodeBadRequest, Reason: fmt.Sprintf("the request offers the model %d different tools that the provider runs; heldcall judges at most %d in one request", n, maxHosted)}
	}
	client, who := h.Conversation.Request.Client, h.Conversation.Identity()
	var refused []string
	asks := false
	for _, tool := range offered {
		v := h.Engine.JudgeHosted(client, who.Principal, tool.Name)
		switch {
		case v.Action == policy.Deny:
			refused = append(refused, tool.Name)
		case v.Action == policy.Ask && !tool.Asks:
			asks = true
		}
		if refusal := h.record(ctx, tool, v); refusal != nil {
			return refusal
		}
	}
	if len(refused) > 0 {
		return &intercept.Error{Code: intercept.CodeHostedToolRefused, Reason: "the request offers the model tools that the provider runs and that policy (hosted_tools) does not allow: " + strings.Join(refused, ", ")}
	}
	if asks && !h.requireApproval(req) {
		return &intercept.Error{Code: intercept.CodeHostedToolRefused, Reason: "calls of hosted MCP tools need approval here (hosted_mcp); the request offers some in a way in which this API cannot ask for it, or approves a call itself"}
	}
	return nil
}

// requireApproval changes the offer of a request so that each call of a hosted tool has to
// be approved. It reports false if nothing of it could be changed.
func (h *Tools) requireApproval(req intercept.Request) bool {
	changed := req.RequireApproval() > 0
	h.Approval = h.Approval || changed
	return changed
}

// JudgeRestated judges the tools of a continuation that does not continue the agent's own
// request: heldcall has made it of a fetched answer. What policy changes in it changes
// next.
func (h *Tools) JudgeRestated(ctx context.Context, next *intercept.Envelope) *intercept.Error {
	if next == nil || next.Method == h.Conversation.Parsed.Envelope().Method {
		return nil
	}
	restated, err := h.Conversation.Request.Dialect.Request(*next)
	if err != nil {
		if refusal := (*intercept.Error)(nil); errors.As(err, &refusal) {
			return refusal
		}
		return &intercept.Error{Code: intercept.CodeAnswerNotUnderstood, Reason: "the answer could not be processed", Err: err}
	}
	if refusal := h.Judge(ctx, restated); refusal != nil {
		return refusal
	}
	*next = restated.Envelope()
	return nil
}

// countDifferent counts tools by their names. The history of a long conversation may
// offer the same ones again and again.
func countDifferent(tools []intercept.HostedTool) int {
	names := make(map[string]struct{})
	for _, tool := range tools {
		names[tool.Name] = struct{}{}
	}
	return len(names)
}

// record writes to the audit log that a hosted tool was offered or refused, once for
// each run.
func (h *Tools) record(ctx context.Context, tool intercept.HostedTool, v policy.Verdict) *intercept.Error {
	c := h.Conversation
	who := c.Identity()
	if !h.Offers.isFirst(who.Key(who.Run, tool.Name, string(v.Action))) {
		return nil
	}
	e := c.NewEvent(approvals.EventCallAllowed)
	e.ToolName, e.Rule, e.Outcome = tool.Name, v.Rule, string(approvals.OutcomeAllowedByRule)
	e.Note = "a tool that the provider runs was offered to the model"
	switch {
	case v.Action == policy.Deny:
		e.Type, e.Outcome = approvals.EventCallDenied, string(approvals.OutcomeDeniedByRule)
		e.Note = "a request that offers the model a tool that the provider runs was refused"
	case v.Action == policy.Ask:
		e.Note += "; each call of it needs approval"
	}
	if err := h.Engine.Record(ctx, e); err != nil {
		return c.StoreError(err)
	}
	return nil
}
