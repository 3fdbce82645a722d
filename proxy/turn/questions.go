package turn

import (
	"context"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/approvals/policy/rule"
	"github.com/heldcall/heldcall/approvals/questions"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/notice"
	"github.com/heldcall/heldcall/internal/toolname"
)

// A call by which the model asks people is never released: it is held like another call,
// and the answer goes to the model as a denial does.

// questionTool returns the tool by which a call asks people: one of heldcall, or one of the agent by the name that
// agents would mend the call's to. It is "" for other calls.
func (r *review) questionTool(c intercept.Call) string {
	offer := r.conversation.Offer()
	switch tool := r.conversation.Offered.Tool(c, offer); {
	case tool != "":
		return tool
	case c.Hosted != "":
		return ""
	case r.rules().AsksPeople(c.Name):
		return c.Name
	case offer.Has(c.Name):
		return ""
	}
	for _, name := range toolname.Near(c.Name, offer.All) {
		if r.rules().AsksPeople(name) {
			return name
		}
	}
	return ""
}

// misplaced is the text for the model about a call that nobody can run: one of a tool of heldcall that is in a call of another
// tool, or that is not offered. It is "" for other calls.
func (r *review) misplaced(c intercept.Call, verdict policy.Verdict) (text string) {
	if verdict.Action == policy.Deny || verdict.Shadowed != "" {
		return ""
	}
	if tool := r.conversation.Offered.In(c, r.conversation.Offer()); tool != "" {
		return questions.Misplaced(tool, c.Name)
	}
	if tool := r.conversation.Offered.Misses(c, r.conversation.Offer()); tool != "" {
		return questions.Unavailable(tool)
	}
	return ""
}

// refuseMisplaced rules on a call that nobody can run. People are not asked about it.
func (r *review) refuseMisplaced(c intercept.Call, verdict policy.Verdict) bool {
	text := r.misplaced(c, verdict)
	if text == "" {
		return false
	}
	j := &judgedCall{call: c, policy: r.rules().Name(), verdict: policy.QuestionVerdict()}
	r.calls = append(r.calls, j)
	r.engine.metrics.verdict(policy.Ask)
	j.rule(intercept.Deny, approvals.OutcomeInvalidQuestion, text)
	return true
}

// forcesQuestions reports whether the request forces the model to call one of some tools, all
// of which ask people.
func (r *review) forcesQuestions() bool {
	forced := r.conversation.Parsed.ForcedTools()
	return len(forced) > 0 && !slices.ContainsFunc(forced, func(name string) bool {
		return name == "" || r.questionTool(intercept.Call{Name: name}) == ""
	})
}

// askQuestion makes the request about a call that asks people. One without a valid question,
// and one that a person has refused to answer, is answered at once.
func (r *review) askQuestion(ctx context.Context, c intercept.Call, tool string, declined map[string]string, answer *intercept.Answer) *intercept.Error {
	j := &judgedCall{call: c, policy: r.rules().Name(), verdict: policy.QuestionVerdict(), question: true}
	j.verdict.Timeout = r.rules().QuestionTimeout(r.engine.Limits.Park)
	r.calls = append(r.calls, j)
	r.engine.metrics.verdict(policy.Ask)
	kind, asked, err := questions.Read(tool, c.Arguments)
	if err != nil {
		j.rule(intercept.Deny, approvals.OutcomeInvalidQuestion, questions.Invalid(tool, err))
		return nil
	}
	if note, again := declined[judge.Key(c)]; again {
		j.again = true
		j.rule(intercept.Deny, approvals.OutcomeDeniedByPerson, questions.Declined(note))
		return nil
	}
	if j.twin = r.equalQuestion(c); j.twin != nil {
		return nil
	}
	j.verdict.Title, j.verdict.Preview, j.verdict.Resource = questions.Title(kind, asked), questions.Preview(asked), asked[0].Question
	request, refusal := j.rejoin(ctx, &r.conversation.Hidden, r.requests)
	if refusal != nil {
		return refusal
	}
	if request == nil {
		request = new(r.newRequest(j, answer))
		request.Kind, request.Details.Questions = kind, asked
		if refusal := r.askOnce(ctx, j, request, answer); refusal != nil {
			return refusal
		}
	}
	r.asked, r.requests = append(r.asked, j), append(r.requests, *request)
	return nil
}

// hurryQuestions shortens the time of new questions in an answer that is not parked, because a rule blocks it for another
// of its calls.
func (r *review) hurryQuestions() {
	if !slices.ContainsFunc(r.asked, func(j *judgedCall) bool { return j.verdict.Hold == rule.HoldBlock }) {
		return
	}
	timeout := r.rules().QuestionTimeout(false)
	for i, j := range r.asked {
		q := &r.requests[i]
		if end := q.CreatedAt.Add(timeout); j.question && q.ID == "" && end.Before(q.ExpiresAt) {
			q.ExpiresAt = end
		}
	}
}

// equalQuestion returns the question of the answer that people are asked already and that is equal,
// nil for none.
func (r *review) equalQuestion(c intercept.Call) *judgedCall {
	key := judge.Key(c)
	i := slices.IndexFunc(r.asked, func(j *judgedCall) bool { return j.question && judge.Key(j.call) == key })
	if i < 0 {
		return nil
	}
	return r.asked[i]
}

// answered rules on a call by the answer of people, or by the end of the request without
// one.
func (j *judgedCall) answered() {
	text, outcome := questions.Message(j.request)
	action := intercept.Deny
	if outcome == approvals.OutcomeAnswered || outcome == approvals.OutcomeDefault {
		action = intercept.Answered
	}
	// A person's words are no record of a parked call.
	j.rule(action, outcome, strings.ReplaceAll(text, notice.ParkedMark(""), ""))
}
