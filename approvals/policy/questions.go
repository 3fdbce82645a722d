package policy

import (
	"fmt"
	"slices"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/questions"
)

// Questions returns the names of the tools by which models may ask people, and whether they
// are offered to agents without tools too.
func (p *Policy) Questions() (offer []string, always bool) {
	return p.rules.Questions.Offer, p.rules.Questions.Always
}

// AsksPeople reports whether the calls of an agent's own tool are questions to people.
func (p *Policy) AsksPeople(tool string) bool { return p.rules.AsksPeople(tool) }

// QuestionTimeout is how long people have to answer a question, by whether its call may be parked.
func (p *Policy) QuestionTimeout(parks bool) time.Duration {
	switch {
	case p.rules.Questions.Timeout > 0:
		return p.rules.Questions.Timeout
	case parks:
		return questions.ParkedTimeout
	}
	return questions.Timeout
}

// QuestionVerdict returns the verdict on each call that asks people. Its time is that without a policy.
func QuestionVerdict() Verdict {
	return Verdict{
		Action: Ask, Rule: approvals.RuleQuestions, Reason: "The model asks people.", Risk: approvals.RiskLow,
		Timeout: questions.Timeout, OnTimeout: approvals.OnTimeoutDeny, RequiredApprovals: 1,
	}
}

// asks returns why the calls of a tool are questions to people, "" if they are not. A tool
// that heldcall offers is taken for heldcall's own.
func (p *Policy) asks(tool string) string {
	switch {
	case p.AsksPeople(tool):
		return fmt.Sprintf("Its calls are questions to people (%s).", p.rules.Known.Tool(tool).Where)
	case slices.Contains(p.rules.Questions.Offer, questions.OfferOf(tool)):
		return "heldcall offers it to models whose agent has no tool of this name (questions.offer), and its calls are questions to people."
	}
	return ""
}

// explainQuestion explains the verdict on a call that asks people.
func (p *Policy) explainQuestion(c Call, why string) Explanation {
	v := QuestionVerdict()
	v.Timeout = p.QuestionTimeout(false)
	kind, asked, err := questions.Read(c.Tool, c.Arguments)
	switch {
	case c.Arguments == "":
	case err != nil:
		v.Flags = []string{fmt.Sprintf("Nobody is asked, and the model gets the error: %s.", err)}
	default:
		v.Title, v.Preview, v.Resource = questions.Title(kind, asked), questions.Preview(asked), asked[0].Question
	}
	return Explanation{Verdict: v, Known: why}
}
