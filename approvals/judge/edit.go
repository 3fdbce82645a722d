package judge

import (
	"encoding/json"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/intercept/wrapped"
)

// Edit judges the call of a request with the arguments of a reviewer, by the policy of the
// client that made the call. It returns the demands of the rules that ask about it, and
// fails with [*approvals.InvalidError] if policy denies it. The call is not judged again
// before its release.
func (j *Judge) Edit(r approvals.Request, args json.RawMessage) ([]approvals.Demand, error) {
	from, edited := requested(&r)
	from.At, edited.Arguments = j.now(), ArgumentsText(args)
	if reading := wrapped.Read(edited, nil); reading.Kind == wrapped.Parallel && len(reading.Calls) == 0 {
		return nil, approvals.Invalid("modified_args", "they wrap other calls in a way that cannot be read with certainty")
	}
	all := j.ofRequest(&r)
	if len(all) == 0 {
		return nil, approvals.Invalid("modified_args", "the policy %s of this client is not configured here; use approve or deny", r.Details.Policy)
	}
	var demands []approvals.Demand
	for _, one := range all {
		rules := Rules{policy: one.With(j.grants.current())}
		v := rules.Verdict(from, edited)
		if v.Action == policy.Deny {
			return nil, approvals.Invalid("modified_args", "%s denies them: %s", v.Rule, v.Reason)
		}
		if v.Passkey && !r.Details.Passkey {
			return nil, approvals.Invalid("modified_args", "an approval of such arguments needs a passkey (%s): deny, and let the agent make that call", v.Rule)
		}
		if text := v.Confirmation(edited.Name); text != "" && text != r.Details.Confirm {
			return nil, approvals.Invalid("modified_args", "an approval of such arguments needs %q to be typed (%s): deny, and let the agent make that call", text, v.Rule)
		}
		demands = append(demands, v.Wants()...)
	}
	return demands, nil
}
