package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals/policy/rule"
)

// RuleSecrets is the Rule of a verdict on a call because of a secret that it uses.
const RuleSecrets = "secrets"

// PermitsSecret reports whether a rule of secrets lets a call get the value of a secret.
func (p *Policy) PermitsSecret(c Call, name string) bool {
	index := p.rules.Secrets[name]
	if index == nil {
		return false
	}
	_, ok := p.evaluate(c).findAllow(index)
	return ok
}

// askAboutSecrets asks about an allowed call with the handle of a stored secret that no rule
// of secrets lets it have.
func (q *question) askAboutSecrets(v Verdict) Verdict {
	c := q.c.Call
	if v.Action != Allow || len(c.Secrets) == 0 {
		return v
	}
	used := SecretNames(c.Arguments, c.FreeText)
	refused := slices.DeleteFunc(slices.Clone(c.Secrets), func(name string) bool {
		return !slices.Contains(used, name) || q.e.policy.PermitsSecret(c, name)
	})
	if len(refused) == 0 {
		return v
	}
	asked := q.ask(rule.Basis{Rule: RuleSecrets, Risk: v.Risk, Reason: fmt.Sprintf("The call uses the secret %s, which secrets of the policy do not let it have.", strings.Join(refused, ", "))})
	asked.AllowRemember, asked.Suggested = false, nil // a grant gives no secret
	return asked
}
