package turn

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/notice"
)

// insertSecrets gives the calls that the agent gets the values of their secrets: those that
// policy or the approval of the call permits. Other handles stay. A call whose value would
// change more than one literal is denied.
func (r *review) insertSecrets() {
	if len(r.calls) == 0 {
		return // and the history is not read
	}
	rules, from := r.rules(), originOf(r.conversation)
	for _, j := range r.calls {
		if j.ruling.Released, j.secrets = "", nil; !j.released() || j.left {
			continue
		}
		c := j.call
		if j.ruling.Action == intercept.Edit {
			c.Arguments = j.ruling.Arguments
		}
		for _, name := range rules.Secrets(from, c) {
			if rules.PermitsSecret(from, c, name) || j.consented(name) {
				j.secrets = append(j.secrets, name)
			}
		}
		if len(j.secrets) == 0 {
			continue
		}
		text, err := rules.InsertSecrets(from, c, j.secrets)
		if j.ruling.Released = text; err != nil {
			refused := notice.SecretRefused(j.call.Name, strings.Join(j.secrets, ", "), err)
			j.secrets, j.ruling.Released, j.verdict.Rule, j.verdict.Denial = nil, "", policy.RuleSecrets, nil
			j.deny(approvals.OutcomeDeniedByRule, "", refused)
		}
	}
}

// consented reports whether a person has approved that the call gets a secret: they were
// shown its name, or have written its handle.
func (j *judgedCall) consented(name string) bool {
	d, decided := j.decision()
	if !decided || approvals.Automatic(d.ReviewerID) {
		return false
	}
	return slices.Contains(j.request.Details.Secrets, name) ||
		(d.Action == approvals.ActionModifyArgs && !slices.Contains(policy.SecretNames(j.call.Arguments, j.call.FreeText), name))
}

// showSecrets names the secrets of a call in the request about it. Approval gives the call
// their values, so that silence does not approve it. Refused is why it will not get them, nil if it
// will.
func showSecrets(q *approvals.Request, names []string, refused error) {
	q.Details.Secrets, q.OnTimeout = names, approvals.OnTimeoutDeny
	list := strings.Join(names, ", ")
	flag := fmt.Sprintf("If it is approved, the agent gets the value of the secret %s in place of its handle.", list)
	if refused != nil {
		flag = fmt.Sprintf("As it is, it does not run even if it is approved: it does not get the value of the secret %s. Reason: %v.", list, refused)
	}
	q.Details.Flags = append(slices.Clip(q.Details.Flags), flag)
}
