package nats_test

import (
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
