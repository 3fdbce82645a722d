package judge

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/approvals/secrets"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/wrapped"
	"github.com/heldcall/heldcall/internal/toolname"
)

// Rules judge the calls of one client by the policy and the grants that were in force when
// [Judge.For] returned them.
type Rules struct {
	policy  verdicts
	name    string // of the policy
	folder  string // of the agent, "" if it is not known
	counter *policy.Counter
	secrets *secrets.Secrets // nil: there are none
}

// verdicts is a [policy.Policy] or a [policy.Shadow].
type verdicts interface {
	Judge(policy.Call) policy.Verdict
	JudgeHosted(approvals.Principal, string) policy.Verdict
	JudgesResults() bool
	DeniesUnseen() bool
	JudgeResultOnce(policy.ResultKey, func() policy.Result) *policy.ResultVerdict
	Questions() (offer []string, always bool)
	AsksPeople(tool string) bool
	QuestionTimeout(parks bool) time.Duration
	PermitsSecret(c policy.Call, name string) bool
	InsertSecrets(c policy.Call, values map[string]string) (string, error)
}

// Folder returns the folder in which the agent works, "" if it is not known.
func (r *Rules) Folder() string { return r.folder }

// NewRules returns rules of one policy without grants. They have their own counts for
// limits.
func NewRules(p *policy.Policy) *Rules {
	return &Rules{policy: p, counter: policy.NewCounter(maxCounts)}
}

// Case is a call that was judged.
type Case struct {
	Verdict policy.Verdict
	Policy  string // its name: see [approvals.Details]
	// DeniedBefore is true if a person has denied an equal call. Note is their note.
	DeniedBefore bool
	Note         string
	// Charge is the use of limits by the call. The caller returns it if the call is not
	// released.
	Charge policy.Charge
}

// Judge judges a call of a model. denied has the notes of reviewers who have denied calls
// before, by [Key]. Such a call is not counted for limits. It fails if a limit concerns the call and
// its count cannot be read or written.
func (r *Rules) Judge(ctx context.Context, from Origin, c intercept.Call, denied map[string]string) (Case, error) {
	judged := Case{Verdict: r.Verdict(from, c), Policy: r.name}
	if len(denied) > 0 {
		judged.Note, judged.DeniedBefore = denied[Key(c)]
	}
	if judged.DeniedBefore {
		return judged, nil
	}
	var err error
	judged.Verdict, judged.Charge, err = r.Count(ctx, judged.Verdict)
	if err != nil {
		return judged, fmt.Errorf("count a call of %s for the limit of a rule: %w", c.Name, err)
	}
	return judged, nil
}

// Count counts a call for the limits of its verdict, and returns the verdict with them.
func (r *Rules) Count(ctx context.Context, v policy.Verdict) (policy.Verdict, policy.Charge, error) {
	charge, exceeded, err := r.counter.Take(ctx, v.Limits)
	if exceeded != nil {
		v = v.Exceeded(exceeded)
	}
	return v, charge, err
}

// Verdict returns the verdict on a call and does not count it for limits. A call that wraps
// others gets the strictest verdict on them. People are asked about one that cannot be
// parsed.
func (r *Rules) Verdict(from Origin, c intercept.Call) policy.Verdict {
	if r.secrets != nil {
		from.secrets = r.Secrets(from, c)
	}
	c.Ambiguous = append(slices.Clip(c.Ambiguous), r.doubts(from.Principal, c)...)
	v := r.read(from, c)
	if flag := from.unlisted(c); flag != "" && v.Said() == policy.Ask {
		v.Flags = append(v.Flags, flag)
	}
	return v
}

// read returns the verdict on a call as it is and, if it is not offered, as one of each wrapper for which agents may
// take it.
func (r *Rules) read(from Origin, c intercept.Call) policy.Verdict {
	reading := wrapped.Read(c, from.Offer)
	c.Ambiguous = append(c.Ambiguous, reading.Doubts...)
	if len(reading.Calls) > 0 {
		return r.wrapping(from, c, reading)
	}
	v := r.strictest(from, reading, r.policy.Judge(from.call(c)))
	if from.Offer == nil || from.Offer.Has(c.Name) || reading.Kind != wrapped.None {
		return v
	}
	for _, name := range toolname.Near(c.Name, from.Offer.All) {
		other := c
		other.Name = name
		if reading := wrapped.Read(other, from.Offer); len(reading.Calls) > 0 {
			v = policy.Together(v, r.wrapping(from, other, reading))
		}
	}
	return v
}

// strictest makes the verdict on a wrapper as strict as deny rules are with the calls that agents may find in it, and ask
// rules where no rule is for the wrapper.
func (r *Rules) strictest(from Origin, reading wrapped.Reading, v policy.Verdict) policy.Verdict {
	inside, byDefault := from.inside(reading.Kind), v.ByDefault
	for _, call := range reading.Possible {
		call.ReadOnly = true
		w := r.policy.Judge(inside.call(call))
		if byRule := !w.ByDefault; byRule && (w.Said() == policy.Deny || (w.Said() == policy.Ask && byDefault)) {
			v = policy.Together(v, w)
		}
	}
	return v
}

// wrapping returns the verdict on a call that wraps others: the strictest of those on them. For a
// carrier with a rule of its own, that rule counts too; one that allows it leaves only denials. So does a wrapper
// that is not offered.
func (r *Rules) wrapping(from Origin, c intercept.Call, reading wrapped.Reading) policy.Verdict {
	var verdicts []policy.Verdict
	var shown []string
	inside := from.inside(reading.Kind)
	for _, one := range reading.Calls {
		one.ReadOnly = true
		v := r.policy.Judge(inside.call(one))
		verdicts, shown = append(verdicts, v), append(shown, one.Name+" "+v.Preview)
	}
	all := policy.Together(verdicts...)
	outer := from.call(c)
	if reading.Kind == wrapped.Carrier || outer.Unoffered != "" {
		own := r.policy.Judge(outer)
		switch {
		case outer.Unoffered != "":
			all = policy.Together(append(verdicts, own)...)
			all.Unoffered = outer.Unoffered
		case own.ByDefault:
		case own.Said() == policy.Allow && all.Said() != policy.Deny:
			return own
		default:
			all = policy.Together(append(verdicts, own)...)
		}
	}
	flag := "It wraps a call; the rule is the one for that."
	if len(reading.Calls) > 1 {
		flag = fmt.Sprintf("It wraps %d calls; the rule is the one for the most critical of them.", len(reading.Calls))
	}
	all.Flags = append(all.Flags, flag)
	all.Suggested, all.AllowRemember, all.Folder, all.Files = nil, false, "", nil // a grant is compared with the call itself
	if all.Said() == policy.Ask {
		all.Commands = shown
	}
	return all
}

// doubts returns a reason to doubt a call that the provider runs: policy does not list its
// MCP server. The name of the tool contains the label of the server, which the agent chooses.
func (r *Rules) doubts(who approvals.Principal, c intercept.Call) []string {
	if c.Hosted == "" || r.policy.JudgeHosted(who, c.Hosted).Listed {
		return nil
	}
	return []string{fmt.Sprintf("An MCP server that only the agent has named will run it; hosted_tools does not list %s.", c.Hosted)}
}

// Questions returns the names of the tools by which the model may ask people: see
// [policy.Policy.Questions].
func (r *Rules) Questions() (offer []string, always bool) { return r.policy.Questions() }

// AsksPeople reports whether the calls of an agent's own tool are questions to people.
func (r *Rules) AsksPeople(tool string) bool { return r.policy.AsksPeople(tool) }

// QuestionTimeout returns how long people have to answer a question, by whether its call may be parked.
func (r *Rules) QuestionTimeout(parks bool) time.Duration { return r.policy.QuestionTimeout(parks) }

// Name returns the name of the policy: see [approvals.Details].
func (r *Rules) Name() string { return r.name }

// JudgeHosted returns the verdict on a hosted tool, which the provider runs.
func (r *Rules) JudgeHosted(who approvals.Principal, name string) policy.Verdict {
	return r.policy.JudgeHosted(who, name)
}
