package gate_test

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/approvalstest"
	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/approvals/grants"
)

// directory is who ann, bob, cid and fay are; ann and fay are in finance.
func directory(name string) (approvals.ReviewerProfile, bool) {
	groups, known := map[string][]string{"ann": {"finance"}, "bob": {"sales"}, "cid": nil, "fay": {"finance"}}[name]
	return approvals.ReviewerProfile{User: name + "@example.com", Groups: groups}, known
}

func TestDelegatesDecideInAnothersPlace(t *testing.T) {
	t.Parallel()
	s := approvalstest.OpenStore()
	var later atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	g := approvalstest.RunGate(t, gate.Options{Store: s, Now: now, Profile: directory, NoSelfApproval: true})
	beside := approvalstest.RunGate(t, gate.Options{Store: s, Now: now, Profile: directory, NoSelfApproval: true})
	limited := approvalstest.Request("x")
	limited.Reviewers, limited.Principal.User = []string{"finance"}, "somebody"
	limited.ExpiresAt = time.Now().Add(5 * time.Hour)
	quorum, own := limited, limited
	quorum.RequiredApprovals = 2
	own.Principal.User = "ann@example.com"
	h := approvalstest.Open(t, g, limited, quorum, own, limited, limited)
	defer h.Detach()
	held := h.Requests()
	decide := func(gate *gate.Gate, i int, d approvals.Decision) (approvals.Request, error) {
		d.RequestID = held[i].ID
		return gate.Decide(t.Context(), d)
	}
	refused := func(what string, i int, d approvals.Decision) {
		t.Helper()
		forbidden := (*approvals.ForbiddenError)(nil)
		if _, err := decide(beside, i, d); !errors.As(err, &forbidden) {
			t.Errorf("%s: %v", what, err)
		}
	}
	bob := approvalstest.DecisionBy("bob", approvals.ActionApprove, "sales")
	refused("bob without a delegation", 0, bob)

	d, err := g.Delegate(t.Context(), approvals.Delegation{From: "ann", To: "bob", Until: time.Now().Add(time.Hour), Note: "holiday", CreatedBy: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Delegate(t.Context(), approvals.Delegation{From: "bob", To: "cid", Until: time.Now().Add(time.Hour), CreatedBy: "bob"}); err != nil {
		t.Fatal(err)
	}
	approvalstest.Eventually(t, "the other gate knows", func() bool { return len(beside.Delegations()) == 2 })
	refused("cid, for bob who is here for ann", 0, approvalstest.DecisionBy("cid", approvals.ActionApprove))
	refused("bob for ann, on what ann's agent asks", 2, bob)
	r, err := decide(beside, 0, bob)
	if err != nil || r.Status != approvals.StatusApproved || r.Decisions[0].OnBehalfOf != "ann" || r.Decisions[0].ReviewerID != "bob" {
		t.Errorf("bob for ann: %+v, %v", r.Decisions, err)
	}
	events := approvalstest.EventsOf(t, s, held[0].ID)
	if last := events[len(events)-1]; last.OnBehalfOf != "ann" || last.ReviewerID != "bob" {
		t.Errorf("the event has %s for %q", last.ReviewerID, last.OnBehalfOf)
	}
	// Ann and the reviewer in her place count as one approval.
	if _, err := decide(g, 1, bob); err != nil {
		t.Fatal(err)
	}
	invalid := (*approvals.InvalidError)(nil)
	if _, err := decide(g, 1, approvalstest.DecisionBy("ann", approvals.ActionApprove, "finance")); !errors.As(err, &invalid) {
		t.Errorf("ann beside bob for ann: %v", err)
	}
	if r, err := decide(g, 1, approvalstest.DecisionBy("fay", approvals.ActionApprove, "finance")); err != nil || r.Status != approvals.StatusApproved {
		t.Errorf("fay beside bob for ann: %s, %v", r.Status, err)
	}

	if _, err := g.RevokeDelegation(t.Context(), d.ID, "ann"); err != nil {
		t.Fatal(err)
	}
	approvalstest.Eventually(t, "the other gate knows", func() bool { return len(beside.Delegations()) == 1 })
	refused("bob, after ann took it back", 3, bob)
	if _, err := g.Delegate(t.Context(), approvals.Delegation{From: "fay", To: "bob", Until: time.Now().Add(2 * time.Hour), CreatedBy: "fay"}); err != nil {
		t.Fatal(err)
	}
	approvalstest.Eventually(t, "the other gate knows", func() bool { return len(beside.Delegations()) == 2 })
	later.Store(int64(3 * time.Hour))
	refused("bob, after fay's day", 4, bob)
	if left := g.Delegations(); len(left) != 0 {
		t.Errorf("%+v are in force", left)
	}
}

// alices is a directory in which alice has two names, one of them an admin's; ann
// and the phone are in finance.
func alices(name string) (approvals.ReviewerProfile, bool) {
	standing, known := map[string]approvals.ReviewerProfile{
		"alice-phone": {User: "alice", Groups: []string{"finance"}}, "alice-laptop": {User: "Alice"},
		"ann": {User: "ann", Groups: []string{"finance"}}, "bob": {User: "bob"},
	}[name]
	return standing, known
}

// A decision in the place of alice and one of alice count as one approval, under each of
// her names.
func TestPromise5_DecidedOnce_QuorumCountsDelegators(t *testing.T) {
	t.Parallel()
	g := approvalstest.RunGate(t, gate.Options{Store: approvalstest.OpenStore(), Profile: alices})
	if _, err := g.Delegate(t.Context(), approvals.Delegation{From: "alice-phone", To: "bob", Until: time.Now().Add(time.Hour), CreatedBy: "alice-phone"}); err != nil {
		t.Fatal(err)
	}
	r := approvalstest.Request("x")
	r.Reviewers, r.RequiredApprovals = []string{"finance", "oncall"}, 2
	h := approvalstest.Open(t, g, r, r)
	held := h.Requests()
	bob, alice := approvalstest.DecisionBy("bob", approvals.ActionApprove), approvalstest.DecisionBy("alice-laptop", approvals.ActionApprove, "oncall")
	alice.ReviewerUser = "Alice"
	alice.OnBehalfOf = "ann" // that is for the gate to say
	for i, pair := range [][2]approvals.Decision{{bob, alice}, {alice, bob}} {
		pair[0].RequestID, pair[1].RequestID = held[i].ID, held[i].ID
		if r, err := g.Decide(t.Context(), pair[0]); err != nil || r.Status != approvals.StatusPending {
			t.Fatalf("%s: %s, %v", pair[0].ReviewerID, r.Status, err)
		}
		invalid := (*approvals.InvalidError)(nil)
		if r, err := g.Decide(t.Context(), pair[1]); !errors.As(err, &invalid) {
			t.Errorf("%s beside %s: %s, %v", pair[1].ReviewerID, pair[0].ReviewerID, r.Status, err)
		} else if want := pair[0].ReviewerID + " has approved already, and " + pair[1].ReviewerID + " counts as the same person"; !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
		ann := approvalstest.DecisionBy("ann", approvals.ActionApprove, "finance")
		ann.RequestID = held[i].ID
		if r, err := g.Decide(t.Context(), ann); err != nil || r.Status != approvals.StatusApproved {
			t.Errorf("ann beside %s: %s, %v", pair[0].ReviewerID, r.Status, err)
		}
	}
	approvalstest.Await(t, h.Done(), "the hold")
}

// A reviewer who may decide for several decides for one who still may.
func TestDelegateOfSeveralReviewers(t *testing.T) {
	t.Parallel()
	g := approvalstest.RunGate(t, gate.Options{Store: approvalstest.OpenStore(), Profile: alices, NoSelfApproval: true})
	for _, from := range []string{"alice-phone", "ann", "alice-phone"} { // ann is neither the first nor the last
		if _, err := g.Delegate(t.Context(), approvals.Delegation{From: from, To: "bob", Until: time.Now().Add(time.Hour), CreatedBy: from}); err != nil {
			t.Fatal(err)
		}
	}
	own, others, quorum := approvalstest.Request("x"), approvalstest.Request("x"), approvalstest.Request("x")
	own.Principal.User, others.Principal.User, quorum.Principal.User = "alice", "ann", "somebody"
	quorum.RequiredApprovals = 2
	requests := []approvals.Request{own, others, quorum}
	for i := range requests {
		requests[i].Reviewers = []string{"finance"}
	}
	h := approvalstest.Open(t, g, requests...)
	alice := approvalstest.DecisionBy("alice-phone", approvals.ActionApprove, "finance")
	alice.RequestID, alice.ReviewerUser = h.Requests()[2].ID, "alice"
	if _, err := g.Decide(t.Context(), alice); err != nil {
		t.Fatal(err)
	}
	for i, forWhom := range []string{"ann", "alice-phone", "ann"} {
		bob := approvalstest.DecisionBy("bob", approvals.ActionApprove)
		bob.RequestID = h.Requests()[i].ID
		r, err := g.Decide(t.Context(), bob)
		if err != nil || r.Status != approvals.StatusApproved || r.Decisions[len(r.Decisions)-1].OnBehalfOf != forWhom {
			t.Errorf("request %d: %+v, %v", i, r.Decisions, err)
		}
	}
	approvalstest.Await(t, h.Done(), "the hold")
}

// A grant names the reviewer in whose place it was made, unless it was made by hand.
func TestGrantsOfDelegates(t *testing.T) {
	t.Parallel()
	s := approvalstest.OpenStore()
	book, _ := approvalstest.RunGrants(t, grants.Options{Store: s})
	g := approvalstest.RunGate(t, gate.Options{Store: s, Profile: alices, Grants: book})
	if _, err := g.Delegate(t.Context(), approvals.Delegation{From: "ann", To: "bob", Until: time.Now().Add(time.Hour), CreatedBy: "ann"}); err != nil {
		t.Fatal(err)
	}
	r := approvalstest.Rememberable("x")
	r.Reviewers = []string{"finance"}
	h := approvalstest.Open(t, g, r)
	bob := approvalstest.DecisionBy("bob", approvals.ActionAllowAlways)
	bob.RequestID = h.Requests()[0].ID
	if _, err := g.Decide(t.Context(), bob); err != nil {
		t.Fatal(err)
	}
	approvalstest.Eventually(t, "the grant is there", func() bool { return len(book.Grants(approvals.GrantFilter{}).Items) == 1 })
	if grant := book.Grants(approvals.GrantFilter{}).Items[0]; grant.GrantedBy != "bob" || grant.OnBehalfOf != "ann" {
		t.Errorf("the grant is %+v", grant)
	}
	byHand := approvalstest.Grant("y")
	byHand.OnBehalfOf = "ann"
	if grant, err := book.Add(t.Context(), byHand); err != nil || grant.OnBehalfOf != "" {
		t.Errorf("made by hand is %+v, %v", grant, err)
	}
}

// An admin may let others decide in the place of a reviewer, but not themselves: an admin
// would get the rights of every group.
func TestAdminsDoNotDelegateToThemselves(t *testing.T) {
	t.Parallel()
	g := approvalstest.RunGate(t, gate.Options{Store: approvalstest.OpenStore(), Profile: alices})
	for _, tt := range []struct {
		from, to, by string
		refused      bool
	}{
		{"ann", "alice-laptop", "alice-laptop", true},
		{"ann", "alice-phone", "alice-laptop", true},
		{"ann", "bob", "alice-laptop", false},
		{"alice-phone", "alice-laptop", "alice-laptop", false},
		{"alice-laptop", "bob", "alice-laptop", false},
	} {
		_, err := g.Delegate(t.Context(), approvals.Delegation{From: tt.from, To: tt.to, CreatedBy: tt.by, Until: time.Now().Add(time.Hour)})
		forbidden := (*approvals.ForbiddenError)(nil)
		if errors.As(err, &forbidden) != tt.refused || (!tt.refused && err != nil) {
			t.Errorf("%s lets %s decide for %s: %v", tt.by, tt.to, tt.from, err)
		}
	}
}

func TestInvalidDelegations(t *testing.T) {
	t.Parallel()
	g := approvalstest.RunGate(t, gate.Options{Store: approvalstest.OpenStore(), Profile: directory})
	soon := time.Now().Add(time.Hour)
	for field, wrong := range map[string][]approvals.Delegation{
		"from":  {{From: "mallory", To: "bob", Until: soon}, {To: "bob", Until: soon}},
		"to":    {{From: "ann", To: "mallory", Until: soon}, {From: "ann", To: "ann", Until: soon}},
		"until": {{From: "ann", To: "bob"}, {From: "ann", To: "bob", Until: soon.Add(-2 * time.Hour)}, {From: "ann", To: "bob", Until: soon.AddDate(2, 0, 0)}},
	} {
		for _, d := range wrong {
			invalid := (*approvals.InvalidError)(nil)
			if _, err := g.Delegate(t.Context(), d); !errors.As(err, &invalid) || invalid.Field != field {
				t.Errorf("%+v: %v", d, err)
			}
		}
	}
	if _, err := g.RevokeDelegation(t.Context(), "01ARZ3NDEKTSV4RRFFQ69G5FAV", "ann"); !errors.Is(err, approvals.ErrUnknownDelegation) {
		t.Errorf("an unknown delegation: %v", err)
	}
	if !slices.Equal(g.Delegations(), []approvals.Delegation{}) {
		t.Errorf("%+v are in force", g.Delegations())
	}
}

// Finding 15: the error for a reviewer who has approved already, and may decide for the
// agent's user, names the approval.
func TestSecondApprovalBesideADelegation(t *testing.T) {
	t.Parallel()
	g := approvalstest.RunGate(t, gate.Options{Store: approvalstest.OpenStore(), Profile: directory, NoSelfApproval: true})
	asked := approvalstest.Request("x")
	asked.Reviewers, asked.RequiredApprovals, asked.Principal.User = []string{"finance"}, 2, "ann@example.com"
	h := approvalstest.Open(t, g, asked)
	defer h.Detach()
	if _, err := g.Delegate(t.Context(), approvals.Delegation{From: "ann", To: "fay", Until: time.Now().Add(time.Hour), CreatedBy: "ann"}); err != nil {
		t.Fatal(err)
	}
	fay := approvalstest.DecisionBy("fay", approvals.ActionApprove, "finance")
	fay.RequestID = h.Requests()[0].ID
	if _, err := g.Decide(t.Context(), fay); err != nil {
		t.Fatal(err)
	}
	invalid := (*approvals.InvalidError)(nil)
	if _, err := g.Decide(t.Context(), fay); !errors.As(err, &invalid) || !strings.Contains(err.Error(), "fay has approved already") {
		t.Errorf("second approval of fay: %v", err)
	}
}

// A decision of a channel whose users are not known, such as a link, has no rights that others have delegated.
func TestOwnRightsOnly(t *testing.T) {
	s := approvalstest.OpenStore()
	g := approvalstest.RunGate(t, gate.Options{Store: s, Profile: func(name string) (approvals.ReviewerProfile, bool) {
		groups := map[string][]string{"ann": {"ops"}, "bob": {"finance"}}[name]
		return approvals.ReviewerProfile{Groups: groups, User: name}, groups != nil
	}})
	if _, err := g.Delegate(t.Context(), approvals.Delegation{From: "bob", To: "ann", Until: time.Now().Add(time.Hour), CreatedBy: "bob"}); err != nil {
		t.Fatal(err)
	}
	asked := approvalstest.Request("x")
	asked.Reviewers = []string{"finance"}
	h := approvalstest.Open(t, g, asked)
	d := approvals.Decision{RequestID: h.Requests()[0].ID, Action: approvals.ActionApprove, ReviewerID: "ann", ReviewerGroups: []string{"ops"}, OwnRightsOnly: true}
	if _, err := g.Decide(t.Context(), d); !errors.As(err, new(*approvals.ForbiddenError)) {
		t.Errorf("by a link: %v", err)
	}
	d.OwnRightsOnly = false
	if r, err := g.Decide(t.Context(), d); err != nil || r.Decisions[0].OnBehalfOf != "bob" {
		t.Errorf("by ann: %+v, %v", r, err)
	}
}
