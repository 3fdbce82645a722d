package subjects

import (
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
)

// Rights are the subjects of NATS that one client may use.
type Rights struct {
	Publish   []string `json:"publish"`
	Subscribe []string `json:"subscribe"`
}

// ReviewerServices returns the subjects on which heldcall answers one reviewer. They contain
// the [Token] of the reviewer's name.
func ReviewerServices(who reviewers.Reviewer) []string {
	token, subjects := Token(who.Name), []string{}
	if who.Role.Includes(reviewers.RoleReviewer) {
		subjects = append(subjects, "heldcall.v1.decide."+token+".*")
	}
	if who.Role.Includes(reviewers.RoleAdmin) {
		subjects = append(subjects, "heldcall.v1.signal."+token+".*", "heldcall.v1.signals."+token, "heldcall.v1.grants."+token+".*")
	}
	return subjects
}

// EveryReviewersServices returns the [ReviewerServices] of all reviewers, with wildcards.
func EveryReviewersServices() []string {
	return []string{"heldcall.v1.decide.*.*", "heldcall.v1.signal.*.*", "heldcall.v1.signals.*", "heldcall.v1.grants.*.*"}
}

// ReadingServices returns the subjects by which every client that sees all tenants may read: who asks is not in them.
func ReadingServices() []string { return []string{"heldcall.v1.svc.>", "$SRV.>"} }

// ConsumerServices returns the subjects by which an existing durable pull consumer is read.
func ConsumerServices(stream, consumer string) []string {
	return []string{
		"$JS.API.CONSUMER.INFO." + stream + "." + consumer,
		"$JS.API.CONSUMER.MSG.NEXT." + stream + "." + consumer,
		"$JS.ACK." + stream + "." + consumer + ".>",
	}
}

// Feeds returns the subjects that every client that sees all tenants may subscribe to.
func Feeds() []string { return []string{All(Request), All(Event)} }

// FeedsOf returns the subjects of the requests and events of some tenants, and [Feeds] for none. Events of no tenant are
// on the subjects of the default one, so its events are left out.
func FeedsOf(tenants approvals.TenantScope) []string {
	if !tenants.Limited() {
		return Feeds()
	}
	var feeds []string
	for _, tenant := range tenants {
		token := tenantToken(tenant)
		feeds = append(feeds, strings.TrimSuffix(All(Request), ">")+token+".>")
		if token != tenantToken("") {
			feeds = append(feeds, strings.TrimSuffix(All(Event), ">")+token+".>")
		}
	}
	return feeds
}

// Inbox returns the prefix of the reply subjects of a reviewer who must not read the replies to others.
func Inbox(reviewer string) string { return "_INBOX_" + Token(reviewer) }
