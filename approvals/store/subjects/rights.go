package subjects

import (
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

// ReadingServices returns the subjects by which every client may read.
func ReadingServices() []string { return []string{"heldcall.v1.svc.>", "$SRV.>"} }

// ConsumerServices returns the subjects by which an existing durable pull consumer is read.
func ConsumerServices(stream, consumer string) []string {
	return []string{
		"$JS.API.CONSUMER.INFO." + stream + "." + consumer,
		"$JS.API.CONSUMER.MSG.NEXT." + stream + "." + consumer,
		"$JS.ACK." + stream + "." + consumer + ".>",
	}
}

// Feeds returns the subjects that every client may subscribe to.
func Feeds() []string { return []string{All(Request), All(Event)} }
