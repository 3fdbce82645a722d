package asking

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals"
)

// ShowSecrets names the secrets of a call in the request about it. Approval gives the call
// their values, so that silence does not approve it.
func ShowSecrets(q *approvals.Request, names []string) {
	q.Details.Secrets, q.OnTimeout = names, approvals.OnTimeoutDeny
	q.Details.Flags = append(slices.Clip(q.Details.Flags), fmt.Sprintf("If it is approved, the agent gets the value of the secret %s in place of its handle.", strings.Join(names, ", ")))
}
