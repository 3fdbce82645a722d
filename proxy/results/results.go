// Package results is pure where the turns, its user, wait: it judges the results of tool calls in an
// agent's request before upstream reads them. It denies and redacts some, finds what people have
// decided about others, and notes what taints the run. It makes the requests to people, also those
// about calls (request.go); the turn waits for them.
package results

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/notice"
	"github.com/heldcall/heldcall/intercept/toolresult"
	"github.com/heldcall/heldcall/proxy/conversation"
)

// Rules are the rules about results. [judge.Rules] implements it.
type Rules interface {
	// JudgesResults reports whether there are rules about results.
	JudgesResults() bool
	// DeniesUnseen reports whether a request is refused that continues a conversation without the results of
	// released calls.
	DeniesUnseen() bool
	// JudgeResult returns the verdict on a result, which it remembers by the key.
	JudgeResult(key policy.ResultKey, result func() judge.Result) *policy.ResultVerdict
	// Name is the name of the policy that judges results.
	Name() string
}

// Recorder writes the audit log.
type Recorder interface {
	Record(ctx context.Context, events ...approvals.Event) error
}

// Results are the results of calls in the request of one turn. The fields are set before
// Judge. It is for one goroutine.
type Results struct {
	Conversation *conversation.Conversation
	Recorder     Recorder
	Log          *slog.Logger
	MaxWait      time.Duration // see [NewRequest]

	rules    Rules
	asked    []*askedResult      // that need a decision, each result once
	requests []approvals.Request // about them, in the same order
	events   []approvals.Event   // to be recorded before the request is sent
	taint    string              // the first result that taints the run, "" for none
	scratch  []byte
}

// judgedResult is a result with its verdict.
type judgedResult struct {
	index   int // in the request
	sent    *toolresult.Content
	key     policy.ResultKey
	verdict *policy.ResultVerdict
	id      string // in records, of a result about which people are asked
}

// Judge judges every result of the request. Call it before the hidden turns are spliced in:
// those contain texts of heldcall, which are no results.
func (r *Results) Judge(ctx context.Context, rules Rules) *intercept.Error {
	c := r.Conversation
	if r.rules = rules; !rules.JudgesResults() {
		return nil
	}
	sent := c.Judged.Read()
	if refusal := r.reportUnseen(ctx); refusal != nil {
		return refusal
	}
	var j judgedResult
	result := func() judge.Result {
		call, known := c.Judged.Call(j.index)
		texts, ok := j.sent.Texts()
		return judge.Result{Call: call, Known: known, Texts: texts, Unreadable: !ok, Message: j.sent.Message}
	}
	for i := range sent {
		j = judgedResult{index: i, sent: &sent[i], key: r.key(i, &sent[i])}
		j.verdict = rules.JudgeResult(j.key, result)
		if denied, refusal := r.recall(ctx, &j); refusal != nil {
			return refusal
		} else if denied {
			continue
		}
		if j.verdict.Said() == policy.Allow && j.verdict.Taint == "" && j.verdict.Shadowed == "" {
			continue
		}
		if refusal := r.take(ctx, &j); refusal != nil {
			return refusal
		}
	}
	return nil
}

// key identifies a result and its call. The call of a result whose request does not contain it
// is that of the answer which the request continues.
func (r *Results) key(i int, sent *toolresult.Content) policy.ResultKey {
	call := sent.Call
	if call == "" {
		c, known := r.Conversation.Judged.Call(i)
		call = fmt.Sprintf("%t%q%q%t%q", known, c.Name, c.Arguments, c.FreeText, c.Ambiguous)
	}
	if sent.Message {
		call = "message" // no call: those are JSON, or begin with true or false
	}
	text := strconv.AppendInt(r.scratch[:0], int64(len(call)), 10)
	text = append(append(append(text, ':'), call...), sent.Raw...)
	r.scratch = text
	return sha256.Sum256(text)
}

// take takes the verdict on a result that does not pass without more.
func (r *Results) take(ctx context.Context, j *judgedResult) *intercept.Error {
	c, v := r.Conversation, j.verdict
	call, known := c.Judged.Call(j.index)
	switch v.Action {
	case policy.Deny:
		denied := notice.ResultDeniedByRule(call.Name, v.Reason)
		if j.sent.Message {
			denied = notice.MessageDenied(v.Reason)
		}
		r.replace(j, &conversation.Replacement{Denied: denied})
		r.record(j, approvals.Event{Type: approvals.EventResultDenied, Outcome: string(approvals.OutcomeDeniedByRule), Note: v.Reason})
		return nil // the model does not read it, so it does not taint the run
	case policy.Ask:
		return r.ask(ctx, j)
	}
	if v.Redacted != nil {
		r.replace(j, &conversation.Replacement{Texts: v.Redacted})
		r.record(j, approvals.Event{Type: approvals.EventResultRedacted, Note: v.Reason})
	}
	if v.Shadowed != "" && j.sent.New {
		r.Log.Info("shadow: the policy would not have let the model read this result unchanged", "verdict", v.Shadowed, "tool", call.Name,
			"rule", v.Rule, "reason", v.Reason, "turn", c.Request.Turn)
	}
	r.taintBy(j, call, known)
	return nil
}

// taintBy notes that the model reads a result, which may taint the run.
func (r *Results) taintBy(j *judgedResult, call intercept.Call, known bool) {
	if j.verdict.Taint == "" || r.taint != "" {
		return
	}
	what := "the result of a call that is not known"
	if known {
		what = match.Preview("the result of " + call.Name + " " + call.Arguments)
	}
	r.taint = fmt.Sprintf("%s, which %s in the policy's taint list matches", what, j.verdict.Taint)
}

// replace sets what the model reads in place of a result; nil: what the verdict leaves of it.
func (r *Results) replace(j *judgedResult, with *conversation.Replacement) {
	if with == nil && j.verdict.Redacted != nil {
		with = &conversation.Replacement{Texts: j.verdict.Redacted}
	}
	if with != nil {
		r.Conversation.Judged.Replace(j.index, *with)
	}
}

// record notes an event about a result, unless the model has answered the result: the event
// was recorded then.
func (r *Results) record(j *judgedResult, e approvals.Event) {
	if !j.sent.New {
		return
	}
	call, _ := r.Conversation.Judged.Call(j.index)
	e.ToolCallID, e.ToolName, e.Rule = j.sent.CallID, call.Name, j.verdict.Rule
	r.events = append(r.events, e)
}

// Settle changes the request as it was decided. What follows is recorded first.
func (r *Results) Settle(ctx context.Context) *intercept.Error {
	c := r.Conversation
	if !r.rules.JudgesResults() {
		return nil
	}
	if refusal := c.Judged.LoadTaint(ctx, r.taint); refusal != nil {
		return refusal
	}
	if err := r.recordEvents(ctx); err != nil {
		return c.StoreError(err)
	}
	if refusal := c.Judged.Apply(); refusal != nil {
		return refusal
	}
	r.asked, r.events = nil, nil
	return nil
}

func (r *Results) recordEvents(ctx context.Context) error {
	if len(r.events) == 0 {
		return nil
	}
	for i, e := range r.events {
		about := &r.events[i]
		*about = r.Conversation.NewEvent(e.Type)
		about.ToolCallID, about.ToolName, about.Rule, about.Outcome, about.Note = e.ToolCallID, e.ToolName, e.Rule, e.Outcome, e.Note
		about.RequestID, about.ReviewerID, about.Channel, about.Action = e.RequestID, e.ReviewerID, e.Channel, e.Action
	}
	return r.Recorder.Record(ctx, r.events...)
}

// text is the text of a result as reviewers read it: what rules leave of it.
func (j *judgedResult) text() string {
	texts := j.verdict.Redacted
	if texts == nil {
		texts, _ = j.sent.Texts()
	}
	if len(texts) == 0 {
		return "(no text)"
	}
	return strings.Join(texts, "\n")
}

// edited is what the model reads in place of a result that a reviewer has edited: images and
// the form of the result stay.
func (j *judgedResult) edited(text string) *conversation.Replacement {
	if text == "" {
		text = "[removed by a reviewer]" // some providers refuse empty texts
	}
	texts, _ := j.sent.Texts()
	if len(texts) == 0 {
		return &conversation.Replacement{Denied: text}
	}
	texts = slices.Repeat([]string{"[see the first text]"}, len(texts))
	texts[0] = text
	return &conversation.Replacement{Texts: texts}
}

// fitting is what the model reads in place of a result whose other form was edited: the texts of that may be more.
func (j *judgedResult) fitting(model *conversation.Replacement) *conversation.Replacement {
	if model == nil || model.Denied != "" {
		return model
	}
	if texts, _ := j.sent.Texts(); len(texts) == len(model.Texts) {
		return model
	}
	return j.edited(model.Texts[0])
}

// newRequest is the request to people whether the model may read a result.
func (r *Results) newRequest(j *judgedResult) approvals.Request {
	c := r.Conversation
	call, _ := c.Judged.Call(j.index)
	text := j.text()
	q := NewRequest(c, approvals.KindResult, &j.verdict.Question, r.MaxWait)
	q.ToolCallID, q.ToolName = j.sent.CallID, call.Name
	q.Arguments, q.ArgsPreview = judge.ArgumentsValue(intercept.Call{Arguments: text, FreeText: true}), match.Preview(text)
	q.Title = "May the model read the result of " + cmp.Or(call.Name, "a call") + "?"
	q.Description = match.Preview("The call has run: " + call.Name + " " + call.Arguments)
	q.Details.FreeText, q.Details.Policy = true, r.rules.Name()
	if j.verdict.Redacted != nil {
		q.Details.Flags = append(q.Details.Flags, "Parts of the result are redacted by the policy. If it is approved, the model reads what is shown here.")
	}
	return q
}
