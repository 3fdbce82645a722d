package turn

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/intercept"
)

// Judge returns the verdicts on the calls of a client.
type Judge interface {
	// Judge judges a call that a model makes. Denied are the notes of the reviewers who
	// have denied calls before, by [Key]; such a call counts for no limit.
	Judge(from Origin, c intercept.Call, denied map[string]string) Case
	// Verdict judges a call and counts it for no limit.
	Verdict(from Origin, c intercept.Call) policy.Verdict
	// AllowsByName returns the verdict on all calls of a tool, if it allows them.
	AllowsByName(who approvals.Principal, c intercept.Call) (policy.Verdict, bool)
	// JudgeHosted returns the verdict on the offer of a tool that the provider runs.
	JudgeHosted(who approvals.Principal, name string) policy.Verdict
}

// Origin is what policy reads about a call beside the call itself.
type Origin struct {
	Principal approvals.Principal
	Session   string
	Run       string
	Turn      string
	Model     string
	Dialect   string
	At        time.Time // when the call is judged
}

// call returns a call as policy reads it.
func (o *Origin) call(c intercept.Call) policy.Call {
	return policy.Call{
		Tool: c.Name, Arguments: c.Arguments, FreeText: c.FreeText, Fixed: c.Fixed, Ambiguous: c.Ambiguous,
		Principal: o.Principal, Session: o.Session, Run: o.Run, Turn: o.Turn, Model: o.Model, Dialect: o.Dialect, Now: o.At,
	}
}

// Key is the same for calls of a tool with equal arguments, however they are written.
func Key(c intercept.Call) string {
	var nowhere Origin
	call := nowhere.call(c)
	sum := sha256.Sum256([]byte(call.Key()))
	return hex.EncodeToString(sum[:])
}

// Case is a call that was judged.
type Case struct {
	Verdict      policy.Verdict
	DeniedBefore bool   // a person has denied an equal call
	Note         string // of that person
	// Charge is what the call has used up of the limits of rules. The caller returns it if
	// the call is not released.
	Charge policy.Charge
}

// Rules are a policy. [policy.Policy] and [policy.Shadow] implement it.
type Rules interface {
	Judge(policy.Call) policy.Verdict
	AllowsByName(approvals.Principal, string) (policy.Verdict, bool)
	JudgeHosted(approvals.Principal, string) policy.Verdict
}

// maxCounts bounds the turns, runs and principals whose calls are counted for rules
// with a limit: some 200 bytes each.
const maxCounts = 50_000

// NewCounter makes a counter for [RulesJudge].
func NewCounter() *policy.Counter { return policy.NewCounter(maxCounts) }

// RulesJudge judges by one policy.
type RulesJudge struct {
	Rules   Rules
	Counter *policy.Counter
}

// Judge implements [Judge].
func (j RulesJudge) Judge(from Origin, c intercept.Call, denied map[string]string) Case {
	one := Case{Verdict: j.Verdict(from, c)}
	if len(denied) > 0 {
		one.Note, one.DeniedBefore = denied[Key(c)]
	}
	if one.DeniedBefore {
		return one
	}
	charge, exceeded := j.Counter.Take(one.Verdict.Limits)
	if exceeded != nil {
		one.Verdict = one.Verdict.Beyond(exceeded)
	}
	one.Charge = charge
	return one
}

// Verdict implements [Judge]. A call that wraps others gets the strictest verdict on them,
// and people are asked about one that cannot be read.
func (j RulesJudge) Verdict(from Origin, c intercept.Call) policy.Verdict {
	if c.Hosted != "" && !j.JudgeHosted(from.Principal, c.Hosted).Listed {
		c.Ambiguous = append(slices.Clip(c.Ambiguous), fmt.Sprintf("An MCP server that the agent alone has named will run it; hosted_tools does not list %s.", c.Hosted))
	}
	wrapped, wraps := c.Wrapped()
	if !wraps {
		return j.Rules.Judge(from.call(c))
	}
	if len(wrapped) == 0 {
		c.Ambiguous = append(slices.Clip(c.Ambiguous), "It wraps other calls in a way that cannot be read with certainty.")
		return j.Rules.Judge(from.call(c))
	}
	verdicts := make([]policy.Verdict, len(wrapped))
	for i, inner := range wrapped {
		inner.Fixed = true
		verdicts[i] = j.Rules.Judge(from.call(inner))
	}
	all := policy.Together(verdicts...)
	all.Flags = append(all.Flags, fmt.Sprintf("It wraps %d calls; the rule is the one for the most critical of them.", len(wrapped)))
	return all
}

// AllowsByName implements [Judge]. It is false for a call that wraps others.
func (j RulesJudge) AllowsByName(who approvals.Principal, c intercept.Call) (policy.Verdict, bool) {
	if _, wraps := c.Wrapped(); wraps {
		return policy.Verdict{}, false
	}
	return j.Rules.AllowsByName(who, c.Name)
}

// JudgeHosted implements [Judge].
func (j RulesJudge) JudgeHosted(who approvals.Principal, name string) policy.Verdict {
	return j.Rules.JudgeHosted(who, name)
}
