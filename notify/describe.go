package notify

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals"
)

var risks = []approvals.Risk{approvals.RiskLow, approvals.RiskMedium, approvals.RiskHigh, approvals.RiskCritical}

// RiskRank returns the place of a risk among all, 0 for low; -1: it is unknown.
func RiskRank(risk approvals.Risk) int { return slices.Index(risks, risk) }

// HighestRisk returns the highest known risk of requests, low if none is known.
func HighestRisk(requests []*approvals.Request) approvals.Risk {
	highest := 0
	for _, r := range requests {
		highest = max(highest, RiskRank(r.RiskLevel))
	}
	return risks[highest]
}

// AllEnded reports whether none of the requests is pending.
func AllEnded(requests []approvals.Request) bool {
	return !slices.ContainsFunc(requests, func(r approvals.Request) bool { return !r.Status.Final() })
}

// Expiry describes the end of a pending request, which is at a time.
func Expiry(r *approvals.Request, at string) string {
	if r.OnTimeout == approvals.OnTimeoutApprove {
		return approvals.WordsFor(r.Kind).Automatic + " at " + at
	}
	return "expires at " + at + " (" + r.IfExpired() + ")"
}

// Origin joins labels with the names of those that make a call, such as "agent", its name,
// "user", its name. Empty names are left out; write formats the others.
func Origin(separator string, write func(name string) string, labelled ...string) string {
	var parts []string
	for pair := range slices.Chunk(labelled, 2) {
		if pair[1] != "" {
			parts = append(parts, pair[0]+" "+write(pair[1]))
		}
	}
	if len(parts) == 0 {
		return "an unnamed agent"
	}
	return strings.Join(parts, separator)
}

// InboxURL returns the address of a request in the inbox, below the console's URL; "" is
// the list.
func InboxURL(console, id string) string {
	url := strings.TrimRight(console, "/") + "/#/"
	if id != "" {
		url += "requests/" + id
	}
	return url
}
