package judge

import (
	"fmt"
	"slices"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/intercept"
)

// Client judges the calls of one client, by the policy and the grants that were in force
// when it was made.
type Client struct {
	rules   rules
	policy  string // name of its source
	counter *policy.Counter
}

// rules are a policy, or one that is only tried out.
type rules interface {
	Judge(policy.Call) policy.Verdict
	JudgeHosted(approvals.Principal, string) policy.Verdict
	AllowsByName(approvals.Principal, string) (policy.Verdict, bool)
}

// NewClient makes a judge by one policy alone, without grants. It counts limits by
// itself.
func NewClient(p *policy.Policy) *Client {
	return &Client{rules: p, counter: policy.NewCounter(maxCounts)}
}

// Case is a call that was judged.
type Case struct {
	Verdict policy.Verdict
	Policy  string // that judged it: see [approvals.Details]
	// DeniedBefore is true where a person has denied an equal call. Note is that of the
	// person.
	DeniedBefore bool
	Note         string
	// Charge is what the call has used up of the limits of rules. The caller returns it
	// if the call is not released.
	Charge policy.Charge
}

// Judge judges a call that a model makes. Denied are the notes of the reviewers who have
// denied calls before, by [Key]; such a call counts for no limit.
func (c *Client) Judge(from Origin, call intercept.Call, denied map[string]string) Case {
	one := Case{Verdict: c.Verdict(from, call), Policy: c.policy}
	if len(denied) > 0 {
		one.Note, one.DeniedBefore = denied[Key(call)]
	}
	if one.DeniedBefore {
		return one
	}
	charge, exceeded := c.counter.Take(one.Verdict.Limits)
	if exceeded != nil {
		one.Verdict = one.Verdict.Beyond(exceeded)
	}
	one.Charge = charge
	return one
}

// Verdict returns the verdict on a call, counted for no limit. A call that wraps others
// gets the strictest verdict on them; people are asked about one that cannot be read.
func (c *Client) Verdict(from Origin, call intercept.Call) policy.Verdict {
	call.Ambiguous = append(slices.Clip(call.Ambiguous), c.doubts(from.Principal, call)...)
	wrapped, wraps := call.Wrapped()
	switch {
	case !wraps:
		return c.rules.Judge(from.call(call))
	case len(wrapped) == 0:
		call.Ambiguous = append(call.Ambiguous, "It wraps other calls in a way that cannot be read with certainty.")
		return c.rules.Judge(from.call(call))
	}
	verdicts := make([]policy.Verdict, len(wrapped))
	for i, inner := range wrapped {
		inner.Fixed = true
		verdicts[i] = c.rules.Judge(from.call(inner))
	}
	all := policy.Together(verdicts...)
	all.Flags = append(all.Flags, fmt.Sprintf("It wraps %d calls; the rule is the one for the most critical of them.", len(wrapped)))
	return all
}

// doubts returns why a call that the provider runs is in doubt: policy does not list its
// MCP server. The name of the tool contains the server's label, which the agent chooses.
func (c *Client) doubts(who approvals.Principal, call intercept.Call) []string {
	if call.Hosted == "" || c.rules.JudgeHosted(who, call.Hosted).Listed {
		return nil
	}
	return []string{fmt.Sprintf("An MCP server that the agent alone has named will run it; hosted_tools does not list %s.", call.Hosted)}
}

// AllowsByName returns the verdict on every call of the tool of a call, whatever its
// arguments, if that is one that allows them. It is false for a call that wraps others.
func (c *Client) AllowsByName(who approvals.Principal, call intercept.Call) (policy.Verdict, bool) {
	if _, wraps := call.Wrapped(); wraps {
		return policy.Verdict{}, false
	}
	return c.rules.AllowsByName(who, call.Name)
}

// JudgeHosted returns the verdict on the offer of a tool that the provider runs.
func (c *Client) JudgeHosted(who approvals.Principal, name string) policy.Verdict {
	return c.rules.JudgeHosted(who, name)
}
