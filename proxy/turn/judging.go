package turn

import (
	"context"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/proxy/conversation"
	"github.com/heldcall/heldcall/proxy/results"
)

// Judge returns the verdicts on the calls of a client. [judge.Rules] implements it.
type Judge interface {
	// Judge judges a call that a model makes. Denied are the notes of the reviewers who
	// have denied calls before, by [judge.Key]; such a call counts for no limit. It fails if
	// the counts of limits cannot be read or written.
	Judge(ctx context.Context, from judge.Origin, c intercept.Call, denied map[string]string) (judge.Case, error)
	// Verdict judges a call and counts it for no limit.
	Verdict(from judge.Origin, c intercept.Call) policy.Verdict
	// AsksPeople reports whether the calls of an agent's own tool are questions to people.
	AsksPeople(tool string) bool
	// QuestionTimeout returns how long people have to answer a question, by whether its call may be parked.
	QuestionTimeout(parks bool) time.Duration
	conversation.Questions
	// Secrets returns the names of the stored secrets whose handles a call has.
	Secrets(from judge.Origin, c intercept.Call) []string
	// PermitsSecret reports whether policy lets a call get the value of a secret.
	PermitsSecret(from judge.Origin, c intercept.Call, name string) bool
	// InsertSecrets returns the arguments of a call with values in place of the handles of
	// some secrets.
	InsertSecrets(from judge.Origin, c intercept.Call, names []string) (string, error)
	// Folder is that in which the agent works, "" if it is not known.
	Folder() string
	// Name is that of the policy.
	Name() string
	// JudgeHosted returns the verdict on the offer of a tool that the provider runs.
	JudgeHosted(who approvals.Principal, name string) policy.Verdict
	results.Rules
}

// originOf is the information for the judge beside the call itself.
func originOf(c *conversation.Conversation) judge.Origin {
	who := c.Identity()
	return judge.Origin{
		Principal: who.Principal, Session: who.Session, Run: who.Run, Turn: c.Request.Turn, Model: who.Model, Dialect: c.Request.Dialect.Name(),
		Tainted: c.Judged.Taint() != "", At: time.Now(), Offer: c.Offer(),
	}
}
