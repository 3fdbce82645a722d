package gate_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/approvalstest"
	"github.com/heldcall/heldcall/approvals/gate"
)

func TestOnlyTheGroupsOfARequestDecideIt(t *testing.T) {
	t.Parallel()
	g := approvalstest.RunGate(t, gate.Options{Store: approvalstest.OpenStore()})
	limited := approvalstest.Request("x")
	limited.Reviewers = []string{"finance", "oncall"}
	h := approvalstest.Open(t, g, limited, limited, limited, approvalstest.Request("y"))
	held := h.Requests()
	decide := func(i int, d approvals.Decision) (approvals.Request, error) {
		d.RequestID = held[i].ID
		return g.Decide(t.Context(), d)
	}
	for _, action := range []approvals.Action{approvals.ActionApprove, approvals.ActionDeny, approvals.ActionAbortRun} {
		for _, groups := range [][]string{nil, {"sales"}, {"Finance"}, {""}} {
			_, err := decide(0, approvalstest.DecisionBy("bob", action, groups...))
			forbidden := (*approvals.ForbiddenError)(nil)
			if !errors.As(err, &forbidden) || !strings.Contains(err.Error(), "members of finance or oncall") {
				t.Errorf("%s by a member of %q: %v", action, groups, err)
			}
		}
	}
	if r, err := g.Request(t.Context(), held[0].ID); err != nil || r.Status != approvals.StatusPending || len(r.Decisions) != 0 {
		t.Fatalf("after refusals the request is %s with %d decisions, %v", r.Status, len(r.Decisions), err)
	}
	for i, d := range []approvals.Decision{
		approvalstest.DecisionBy("ann", approvals.ActionApprove, "sales", "oncall"),
		approvalstest.DecisionBy("ann", approvals.ActionDeny, "finance"),
		approvalstest.DecisionBy("local", approvals.ActionApprove, approvals.EveryGroup),
		approvalstest.DecisionBy("bob", approvals.ActionApprove),
	} {
		r, err := decide(i, d)
		if err != nil || !r.Status.Final() || !slices.Equal(r.Decisions[0].ReviewerGroups, d.ReviewerGroups) {
			t.Errorf("decision %d: %+v, %v", i, r.Decisions, err)
		}
	}
	approvalstest.Await(t, h.Done(), "the hold")
}

func TestReviewersDoNotApproveForTheirOwnAgent(t *testing.T) {
	t.Parallel()
	g := approvalstest.RunGate(t, gate.Options{Store: approvalstest.OpenStore(), NoSelfApproval: true})
	own := approvalstest.Request("x")
	own.Principal.User = "ann"
	anonymous := approvalstest.Request("y")
	anonymous.Principal.User = ""
	h := approvalstest.Open(t, g, own, own, anonymous)
	held := h.Requests()
	alias := approvalstest.DecisionBy("reviewer-7", approvals.ActionApprove)
	alias.ReviewerUser = "ann"
	edit := approvalstest.DecisionBy("ann", approvals.ActionModifyArgs)
	edit.ModifiedArgs = []byte(`{"command":"ls"}`)
	for _, d := range []approvals.Decision{approvalstest.DecisionBy("ann", approvals.ActionApprove), approvalstest.DecisionBy("Ann", approvals.ActionApprove), alias, edit} {
		d.RequestID = held[0].ID
		_, err := g.Decide(t.Context(), d)
		if forbidden := (*approvals.ForbiddenError)(nil); !errors.As(err, &forbidden) {
			t.Errorf("%s by %s (%s): %v", d.Action, d.ReviewerID, d.ReviewerUser, err)
		}
	}
	for i, d := range []approvals.Decision{approvalstest.DecisionBy("bob", approvals.ActionApprove), approvalstest.DecisionBy("ann", approvals.ActionDeny), approvalstest.DecisionBy("ann", approvals.ActionApprove)} {
		d.RequestID = held[i].ID
		if r, err := g.Decide(t.Context(), d); err != nil || !r.Status.Final() {
			t.Errorf("%s by %s: %s, %v", d.Action, d.ReviewerID, r.Status, err)
		}
	}
	approvalstest.Await(t, h.Done(), "the hold")
}

// One person under two names counts as one approval.
func TestPromise5_DecidedOnce_QuorumCountsPeople(t *testing.T) {
	t.Parallel()
	g := approvalstest.RunGate(t, gate.Options{Store: approvalstest.OpenStore()})
	r := approvalstest.Request("x")
	r.RequiredApprovals = 2
	h := approvalstest.Open(t, g, r)
	id := h.Requests()[0].ID
	first := approvalstest.DecisionBy("ann-phone", approvals.ActionApprove)
	first.RequestID, first.ReviewerUser = id, "ann"
	if r, err := g.Decide(t.Context(), first); err != nil || r.Status != approvals.StatusPending {
		t.Fatalf("%s, %v", r.Status, err)
	}
	other := approvalstest.DecisionBy("ann-laptop", approvals.ActionApprove)
	other.RequestID, other.ReviewerUser = id, "ann"
	self := approvalstest.DecisionBy("ann", approvals.ActionApprove)
	self.RequestID = id
	for _, again := range []approvals.Decision{first, other, self} {
		var invalid *approvals.InvalidError
		if _, err := g.Decide(t.Context(), again); !errors.As(err, &invalid) {
			t.Errorf("second approval by %s: %v", again.ReviewerID, err)
		}
	}
	second := approvalstest.DecisionBy("bob", approvals.ActionApprove)
	second.RequestID = id
	if r, err := g.Decide(t.Context(), second); err != nil || r.Status != approvals.StatusApproved || len(r.Decisions) != 2 {
		t.Errorf("%s with %d decisions, %v", r.Status, len(r.Decisions), err)
	}
	approvalstest.Await(t, h.Done(), "the hold")
}

// To a reviewer of other tenants a request does not exist, before and after its decision.
func TestDecisionsOfOtherTenants(t *testing.T) {
	t.Parallel()
	g := approvalstest.RunGate(t, gate.Options{Store: approvalstest.OpenStore()})
	r := approvalstest.Open(t, g, approvalstest.Request("bash")).Requests()[0]
	decide := func(tenants ...string) error {
		_, err := g.Decide(t.Context(), approvals.Decision{RequestID: r.ID, Action: approvals.ActionApprove, ReviewerID: "bob", Tenants: tenants})
		return err
	}
	for _, tenants := range []approvals.TenantScope{{"globex"}, {"acm", "acme "}, {"*"}, {""}} {
		if err := decide(tenants...); !errors.Is(err, approvals.ErrUnknownRequest) {
			t.Errorf("%q decide: %v", tenants, err)
		}
		if g.CanApprove(&r, approvals.Decision{ReviewerID: "bob", Tenants: tenants}) {
			t.Errorf("%q can approve", tenants)
		}
	}
	if !g.CanApprove(&r, approvals.Decision{ReviewerID: "bob", Tenants: approvals.TenantScope{"globex", "acme"}}) {
		t.Error("a reviewer of its tenant cannot approve")
	}
	if err := decide("globex", "acme"); err != nil {
		t.Fatal(err)
	}
	if err := decide("globex"); !errors.Is(err, approvals.ErrUnknownRequest) {
		t.Errorf("a late decision: %v", err)
	}
}
