package results

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/notice"
	"github.com/heldcall/heldcall/proxy/conversation"
)

// maxAskedResult is the largest text of a result that people are asked about, in bytes. A
// larger one is denied.
const maxAskedResult = 256 << 10

// askedResult is a result about which people are asked, perhaps contained several times.
type askedResult struct {
	judgedResult
	again []judgedResult
}

// setID sets the key of a result in records. It is the same in each request: agents move cache
// marks, write a text as a string, as a part or in JSON, and may repeat the call later only.
func (r *Results) setID(j *judgedResult) {
	sum := sha256.New()
	write := func(text string) { _, _ = fmt.Fprintf(sum, "%d:%s", len(text), text) }
	write(j.sent.CallID)
	write(r.made(j))
	write(plainForm(j.sent.Raw))
	j.id = hex.EncodeToString(sum.Sum(nil))
}

// made identifies the call that had a result, "" if it is not known.
func (r *Results) made(j *judgedResult) string {
	call, known := r.Conversation.Judged.Call(j.index)
	if !known {
		return ""
	}
	arguments := plainForm(call.Arguments)
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s%t%s", len(call.Name), call.Name, call.FreeText, arguments))
	return hex.EncodeToString(sum[:16])
}

// recall denies a result that people have denied in another form under the same id. Agents store results and send them
// in another form later, or only their beginning. Another text under the id is another result: some servers repeat ids.
func (r *Results) recall(ctx context.Context, j *judgedResult) (denied bool, refusal *intercept.Error) {
	if j.sent.CallID == "" {
		return false, nil
	}
	earlier, refusal := r.Conversation.Judged.Denied(ctx)
	for i := range earlier {
		record := &earlier[i]
		if record.CallID != j.sent.CallID {
			continue
		}
		r.setID(j)
		made := r.made(j)
		same := made == record.Made || made == "" || record.Made == ""
		if same && record.Key != j.id && alike(record.Essence, essence(j.sent.Raw)) {
			r.replace(j, &conversation.Replacement{Denied: record.Text})
			return true, nil
		}
	}
	return false, refusal
}

// deny records that people have denied a result.
func (r *Results) deny(ctx context.Context, j *judgedResult, text string) *intercept.Error {
	r.setID(j)
	return r.Conversation.Judged.Deny(ctx, conversation.DeniedResult{CallID: j.sent.CallID, Made: r.made(j), Key: j.id, Essence: essence(j.sent.Raw), Text: text})
}

// decision returns what was decided about a result in an earlier request. ok is false for one
// that is not decided; its request is then open, or nil.
func (r *Results) decision(ctx context.Context, j *judgedResult) (model *conversation.Replacement, ok bool, open *approvals.Request, refusal *intercept.Error) {
	c := r.Conversation
	record, known, refusal := c.Judged.Reviewed(ctx, j.id)
	switch {
	case refusal != nil || !known:
		return nil, false, nil, refusal
	case record.Decided:
		return record.Model, true, nil, nil
	}
	q, err := c.Judged.Request(ctx, record.Request)
	switch {
	case errors.Is(err, approvals.ErrUnknownRequest), err == nil && q.Status == approvals.StatusCancelled:
		return nil, false, nil, nil
	case err != nil:
		return nil, false, nil, c.StoreError(err)
	case !q.Status.Final():
		return nil, false, &q, nil
	}
	model, refusal = r.decided(ctx, j, &q)
	return model, true, nil, refusal
}

// ask finds what was decided about a result before, or prepares to ask people about it.
func (r *Results) ask(ctx context.Context, j *judgedResult) *intercept.Error {
	r.setID(j)
	for _, earlier := range r.asked {
		if earlier.id == j.id {
			earlier.again = append(earlier.again, *j)
			return nil
		}
	}
	call, known := r.Conversation.Judged.Call(j.index)
	if len(j.text()) > maxAskedResult {
		reason := "It is too large for a reviewer to read."
		denied := notice.ResultDeniedByRule(call.Name, reason)
		r.replace(j, &conversation.Replacement{Denied: denied})
		r.record(j, approvals.Event{Type: approvals.EventResultDenied, Outcome: string(approvals.OutcomeDeniedByRule), Note: reason})
		return nil
	}
	model, ok, open, refusal := r.decision(ctx, j)
	switch {
	case refusal != nil:
		return refusal
	case ok:
		r.follow(j, model, call, known)
		return nil
	case open == nil:
		if refusal := r.Conversation.Judged.LoadTaint(ctx, ""); refusal != nil {
			return refusal
		}
		open = new(r.newRequest(j))
	}
	r.asked, r.requests = append(r.asked, &askedResult{judgedResult: *j}), append(r.requests, *open)
	return nil
}

// follow does what was decided about a result.
func (r *Results) follow(j *judgedResult, model *conversation.Replacement, call intercept.Call, known bool) {
	r.replace(j, j.fitting(model))
	if model == nil || model.Denied == "" {
		r.taintBy(j, call, known)
	}
}

// decided makes durable what people have decided about a result.
func (r *Results) decided(ctx context.Context, j *judgedResult, q *approvals.Request) (*conversation.Replacement, *intercept.Error) {
	d, _ := q.FinalDecision()
	e := approvals.Event{Type: approvals.EventResultDenied, RequestID: q.ID, ReviewerID: d.ReviewerID, Channel: d.Channel, Action: d.Action, Note: d.Note}
	var model *conversation.Replacement
	switch {
	case q.Status == approvals.StatusExpired:
		model = &conversation.Replacement{Denied: notice.ResultNotReviewed(q.ToolName)}
		e.Outcome = string(approvals.OutcomeExpired)
	case q.Status != approvals.StatusApproved:
		model = &conversation.Replacement{Denied: notice.ResultDeniedByPerson(q.ToolName, d.Note)}
		e.Outcome = string(approvals.OutcomeDeniedByPerson)
	case d.Action == approvals.ActionModifyArgs:
		model = j.edited(judge.ArgumentsText(d.ModifiedArgs))
		e.Type, e.Outcome = approvals.EventResultRedacted, string(approvals.OutcomeModified)
	}
	if model != nil {
		r.record(j, e)
	} else if j.verdict.Redacted != nil {
		e.Type, e.Outcome, e.Note = approvals.EventResultRedacted, string(approvals.OutcomeAllowedByPerson), j.verdict.Reason
		r.record(j, e)
	}
	if model != nil && model.Denied != "" {
		if refusal := r.deny(ctx, j, model.Denied); refusal != nil {
			return nil, refusal
		}
	}
	if refusal := r.Conversation.Judged.Review(ctx, conversation.ReviewedResult{Key: j.id, Request: q.ID, Decided: true, Model: model}); refusal != nil {
		return nil, refusal
	}
	return model, nil
}

// Requests are those about the results that people have to decide about, none if nothing
// has to be asked. Some may be recorded already.
func (r *Results) Requests() []approvals.Request { return r.requests }

// Opening records which requests are about the results, so that the agent's next request finds
// them. Call it with the complete requests, before they are opened.
func (r *Results) Opening(ctx context.Context) *intercept.Error {
	for i, j := range r.asked {
		if refusal := r.Conversation.Judged.Review(ctx, conversation.ReviewedResult{Key: j.id, Request: r.requests[i].ID}); refusal != nil {
			return refusal
		}
	}
	return nil
}

// Decide does what people have decided about the results, by the final states of the requests,
// and settles.
func (r *Results) Decide(ctx context.Context, requests []approvals.Request) *intercept.Error {
	for i, asked := range r.asked {
		model, refusal := r.decided(ctx, &asked.judgedResult, &requests[i])
		if refusal != nil {
			return refusal
		}
		call, known := r.Conversation.Judged.Call(asked.index)
		for _, result := range append(asked.again, asked.judgedResult) {
			r.follow(&result, model, call, known)
		}
	}
	return r.Settle(ctx)
}

// Release restores what a request that was not sent has consumed. Call it when the turn ends.
func (r *Results) Release(ctx context.Context) {
	if len(r.asked) > 0 {
		r.Conversation.Hidden.RestoreConsumed(context.WithoutCancel(ctx))
	}
}
