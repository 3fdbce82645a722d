package turn

import (
	"context"
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

// hostedTools are the tools of a request that the provider runs itself.
type hostedTools struct {
	engine       *Engine
	conversation *conversation.Conversation
	approval     bool // calls of them have to be approved
}

// judge judges the tools that a request offers and that the provider runs itself,
// whose calls heldcall cannot hold.
func (h *hostedTools) judge(ctx context.Context, req intercept.Request) *intercept.Error {
	offered := req.Hosted()
	if len(offered) == 0 {
		return nil
	}
	if n := countDifferent(offered); n > maxHosted {
		return &intercept.Error{Code: intercept.CodeBadRequest, Reason: fmt.Sprintf("the request offers the model %d different tools that the provider runs; heldcall judges at most %d in one request", n, maxHosted)}
	}
	rules, who := h.engine.Judge(h.conversation.Request.Client), h.conversation.Identity()
	var refused []string
	asks := false
	for _, tool := range offered {
		v := rules.JudgeHosted(who.Principal, tool.Name)
		h.engine.metrics.hosted.WithLabelValues(string(v.Said())).Inc()
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
func (h *hostedTools) requireApproval(req intercept.Request) bool {
	changed := req.RequireApproval() > 0
	h.approval = h.approval || changed
	return changed
}

// judgeRestated judges the tools of a continuation that does not continue the agent's own
// request: heldcall has made it of a fetched answer. What policy changes in it changes
// next.
func (h *hostedTools) judgeRestated(ctx context.Context, next *intercept.Envelope) *intercept.Error {
	if next == nil || next.Method == h.conversation.Parsed.Envelope().Method {
		return nil
	}
	restated, err := h.conversation.Request.Dialect.Request(*next)
	if err != nil {
		return notProcessed(err)
	}
	if refusal := h.judge(ctx, restated); refusal != nil {
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
func (h *hostedTools) record(ctx context.Context, tool intercept.HostedTool, v policy.Verdict) *intercept.Error {
	c := h.conversation
	who := c.Identity()
	if !h.engine.Offers.First(who.Key(who.Run, tool.Name, string(v.Action))) {
		return nil
	}
	j := &judgedCall{call: intercept.Call{Name: tool.Name}, verdict: v, outcome: approvals.OutcomeAllowedByRule}
	e := j.event(c, approvals.EventCallAllowed)
	e.Note = "a tool that the provider runs was offered to the model"
	switch {
	case v.Action == policy.Deny:
		e.Type, e.Outcome = approvals.EventCallDenied, string(approvals.OutcomeDeniedByRule)
		e.Note = "a request that offers the model a tool that the provider runs was refused"
	case v.Action == policy.Ask:
		e.Note += "; each call of it needs approval"
	}
	if err := h.engine.Gate.Record(ctx, e); err != nil {
		h.engine.metrics.storeError("record")
		return c.StoreError(err)
	}
	return nil
}
