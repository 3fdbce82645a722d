package proxy

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/intercept"
)

// maxHosted bounds how many different hosted tools one request offers: each of them
// is written to the audit log.
const maxHosted = 128

// judgeOffer asks policy about the tools that a request offers and that the
// provider runs itself, whose calls heldcall cannot hold.
func (x *exchange) judgeOffer(req intercept.Request) *intercept.Error {
	offered := req.Hosted()
	if len(offered) == 0 {
		return nil
	}
	if n := differing(offered); n > maxHosted {
		return &intercept.Error{Code: intercept.CodeBadRequest, Reason: fmt.Sprintf("the request offers the model %d different tools that the provider runs; heldcall judges at most %d in one request", n, maxHosted)}
	}
	judged := x.clientJudge()
	var refused []string
	asks := false
	for _, tool := range offered {
		v := judged.JudgeHosted(x.identity().principal, tool.Name)
		x.p.metrics.hosted.WithLabelValues(string(v.Said())).Inc()
		switch {
		case v.Action == policy.Deny:
			refused = append(refused, tool.Name)
		case v.Action == policy.Ask && !tool.Asks:
			asks = true
		}
		if refusal := x.recordOffer(tool, v); refusal != nil {
			return refusal
		}
	}
	if len(refused) > 0 {
		return &intercept.Error{Code: intercept.CodeHostedToolRefused, Reason: "the request offers the model tools that the provider runs and that policy (hosted_tools) does not allow: " + strings.Join(refused, ", ")}
	}
	if asks && req.RequireApproval() == 0 {
		return &intercept.Error{Code: intercept.CodeHostedToolRefused, Reason: "calls of hosted MCP tools need approval here (hosted_mcp); the request offers some in a way in which this API cannot ask for it, or approves a call itself"}
	}
	return nil
}

// judgeRestated asks policy about the tools of a continuation that is no
// continuation of the agent's own request, but one that heldcall has made of what a
// fetched answer says of itself: what policy changes in it changes next.
func (x *exchange) judgeRestated(next *intercept.Envelope) *intercept.Error {
	if next == nil || next.Method == x.req.Envelope().Method {
		return nil
	}
	restated, err := x.route.Dialect.Request(*next)
	if err != nil {
		return asError(err, intercept.CodeAnswerNotUnderstood)
	}
	if refusal := x.judgeOffer(restated); refusal != nil {
		return refusal
	}
	*next = restated.Envelope()
	return nil
}

// countOffer counts the request by whether it offers the model tools, and logs the
// first of a run that does not: where the agent reads its calls from the model's text,
// heldcall holds none of them. The history is not read for this, so all runs of a
// principal that the agent does not name count as one.
func (x *exchange) countOffer() {
	if x.req.Envelope().Method != http.MethodPost {
		return // it asks for an answer that was made before
	}
	x.p.asked.Add(1)
	if x.req.OffersTools() {
		x.p.offering.Add(1)
		return
	}
	h := &x.fasthttp.Request.Header
	who := identity{principal: x.p.principal(h)}
	if run := string(header(h, headerRun)); x.p.runs.first(who.key(run)) {
		x.p.log.Info("a request offers the model no tools: heldcall holds nothing of what the model writes as text", "run", cmp.Or(run, "not named"), "user", who.principal.User, "agent", who.principal.Agent)
	}
}

// ToolOffers returns how many requests on gated routes have asked for a new answer so
// far, and how many of them offered the model tools.
func (p *Proxy) ToolOffers() (requests, offering int) {
	return int(p.asked.Load()), int(p.offering.Load())
}

// differing counts tools by their names. The history of a long conversation may
// offer the same ones again and again.
func differing(tools []intercept.HostedTool) int {
	names := make(map[string]struct{})
	for _, tool := range tools {
		names[tool.Name] = struct{}{}
	}
	return len(names)
}

// recordOffer writes to the audit log that a hosted tool was offered or refused,
// once for each run.
func (x *exchange) recordOffer(tool intercept.HostedTool, v policy.Verdict) *intercept.Error {
	who := x.identity()
	if !x.p.offers.first(who.key(who.run, tool.Name, string(v.Action))) {
		return nil
	}
	h := &hearing{call: intercept.Call{Name: tool.Name}, verdict: v, outcome: approvals.OutcomeAllowedByRule}
	e := x.event(approvals.EventCallAllowed, h)
	e.Note = "a tool that the provider runs was offered to the model"
	switch {
	case v.Action == policy.Deny:
		e.Type, e.Outcome = approvals.EventCallDenied, string(approvals.OutcomeDeniedByRule)
		e.Note = "a request that offers the model a tool that the provider runs was refused"
	case v.Action == policy.Ask:
		e.Note += "; each call of it needs approval"
	}
	if err := x.p.options.Gate.Record(x.ctx, e); err != nil {
		x.p.metrics.storeErrors.WithLabelValues("record").Inc()
		return x.storeError(err)
	}
	return nil
}

// offers remembers which offers of hosted tools are in the audit log, or of which runs
// the log has a request without tools.
type offers struct {
	mu   sync.Mutex
	seen map[string]struct{}
}

// maxOffers bounds what is remembered; beyond it an offer is recorded again, and a run
// is logged again.
const maxOffers = 10_000

func (o *offers) first(key string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, seen := o.seen[key]; seen {
		return false
	}
	if o.seen == nil || len(o.seen) >= maxOffers {
		o.seen = make(map[string]struct{})
	}
	o.seen[key] = struct{}{}
	return true
}
