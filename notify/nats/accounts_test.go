package nats_test

import (
	"slices"
	"testing"

	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/notify/nats"
)

// Each reviewer has a password of their own.
func TestEveryReviewerHasAPasswordOfTheirOwn(t *testing.T) {
	var all []reviewers.Reviewer
	for _, name := range []string{"ann.b", "ann-b", "ann b 2", "ANN_B", "ann b 3", "\u00e4nn", "\u00f6nn"} {
		all = append(all, reviewers.Reviewer{Name: name, Role: reviewers.RoleReviewer})
	}
	whose := map[string]string{}
	for _, user := range nats.AccountsOf(all).Reviewers {
		if other, twice := whose[user.Password]; twice {
			t.Errorf("%s and %s have one password, %s", other, user.Name, user.Password)
		}
		whose[user.Password] = user.Name
	}
}

// A reviewer of some tenants has no lists, no consumer and no feed of others.
func TestAccountsOfReviewersOfTenants(t *testing.T) {
	user := nats.AccountsOf([]reviewers.Reviewer{{Name: "ann", Role: reviewers.RoleAdmin, Tenants: []string{"acme"}}}).Reviewers[0]
	publish := []string{"heldcall.v1.decide.ann.*", "heldcall.v1.signal.ann.*", "heldcall.v1.signals.ann", "heldcall.v1.grants.ann.*"}
	subscribe := []string{"heldcall.v1.requests.acme.>", "heldcall.v1.events.acme.>", "_INBOX_ann.>"}
	if user.Consumer != "" || !slices.Equal(user.Publish, publish) || !slices.Equal(user.Subscribe, subscribe) {
		t.Errorf("ann is %+v", user)
	}
}
