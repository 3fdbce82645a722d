package subjects

import (
	"github.com/heldcall/heldcall/approvals/reviewers"
)

// Rights are the subjects of NATS that one client has.
type Rights struct {
	Publish   []string `json:"publish"`
	Subscribe []string `json:"subscribe"`
}

// ReviewerServices are the subjects that only heldcall answers, and a reviewer
// alone may publish on: theirs carry their name, as [Token] writes it.
func ReviewerServices(who reviewers.Reviewer) []string {
	token, subjects := Token(who.Name), []string{}
	if who.Role.Includes(reviewers.RoleReviewer) {
		subjects = append(subjects, "heldcall.v1.decide."+token+".*")
	}
	if who.Role.Includes(reviewers.RoleAdmin) {
		subjects = append(subjects, "heldcall.v1.signal."+token+".*", "heldcall.v1.grants."+token+".*")
	}
	return subjects
}

// EveryReviewersServices are those of all reviewers there could be.
func EveryReviewersServices() []string {
	return []string{"heldcall.v1.decide.*.*", "heldcall.v1.signal.*.*", "heldcall.v1.grants.*.*"}
}

// ReadingServices are the subjects on which every client asks for what there is.
func ReadingServices() []string { return []string{"heldcall.v1.svc.>", "$SRV.>"} }

// ConsumerServices are the subjects on which the durable pull consumer of a name
// is read; making it is not among them.
func ConsumerServices(stream, consumer string) []string {
	return []string{
		"$JS.API.CONSUMER.INFO." + stream + "." + consumer,
		"$JS.API.CONSUMER.MSG.NEXT." + stream + "." + consumer,
		"$JS.ACK." + stream + "." + consumer + ".>",
	}
}

// Feeds are the subjects that every client may subscribe to.
func Feeds() []string { return []string{All(Request), All(Event)} }
