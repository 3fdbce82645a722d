package approvals_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
)

// by is a decision of a reviewer in groups.
func by(reviewer string, action approvals.Action, groups ...string) approvals.Decision {
	return approvals.Decision{Action: action, ReviewerID: reviewer, ReviewerGroups: groups}
}

func TestOnlyTheGroupsOfARequestDecideIt(t *testing.T) {
	g := runGate(t, approvals.GateOptions{Store: openStore(t, t.TempDir())})
	limited := request("x")
	limited.Reviewers = []string{"finance", "oncall"}
	h := open(t, g, limited, limited, limited, request("y"))
	held := h.Requests()
	decide := func(i int, d approvals.Decision) (approvals.Request, error) {
		d.RequestID = held[i].ID
		return g.Decide(t.Context(), d)
	}
	for _, action := range []approvals.Action{approvals.ActionApprove, approvals.ActionDeny, approvals.ActionAbortRun} {
		for _, groups := range [][]string{nil, {"sales"}, {"Finance"}, {""}} {
			_, err := decide(0, by("bob", action, groups...))
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
		by("ann", approvals.ActionApprove, "sales", "oncall"),
		by("ann", approvals.ActionDeny, "finance"),
		by("local", approvals.ActionApprove, approvals.EveryGroup),
		by("bob", approvals.ActionApprove),
	} {
		r, err := decide(i, d)
		if err != nil || !r.Status.Final() || !slices.Equal(r.Decisions[0].ReviewerGroups, d.ReviewerGroups) {
			t.Errorf("decision %d: %+v, %v", i, r.Decisions, err)
		}
	}
	await(t, h.Done(), "the hold")
}

func TestNobodyApprovesWhatTheirOwnAgentAsks(t *testing.T) {
	g := runGate(t, approvals.GateOptions{Store: openStore(t, t.TempDir()), NoSelfApproval: true})
	own := request("x")
	own.Principal.User = "ann"
	nobodys := request("y")
	nobodys.Principal.User = ""
	h := open(t, g, own, own, nobodys)
	held := h.Requests()
	alias := by("reviewer-7", approvals.ActionApprove)
	alias.ReviewerUser = "ann"
	edit := by("ann", approvals.ActionModifyArgs)
	edit.ModifiedArgs = []byte(`{"command":"ls"}`)
	for _, d := range []approvals.Decision{by("ann", approvals.ActionApprove), by("Ann", approvals.ActionApprove), alias, edit} {
		d.RequestID = held[0].ID
		_, err := g.Decide(t.Context(), d)
		if forbidden := (*approvals.ForbiddenError)(nil); !errors.As(err, &forbidden) {
			t.Errorf("%s by %s (%s): %v", d.Action, d.ReviewerID, d.ReviewerUser, err)
		}
	}
	for i, d := range []approvals.Decision{by("bob", approvals.ActionApprove), by("ann", approvals.ActionDeny), by("ann", approvals.ActionApprove)} {
		d.RequestID = held[i].ID
		if r, err := g.Decide(t.Context(), d); err != nil || !r.Status.Final() {
			t.Errorf("%s by %s: %s, %v", d.Action, d.ReviewerID, r.Status, err)
		}
	}
	await(t, h.Done(), "the hold")
}

// One person under two names is one of the approvals that are required.
func TestPromise5_DecidedOnce_QuorumCountsPeople(t *testing.T) {
	g := runGate(t, approvals.GateOptions{Store: openStore(t, t.TempDir())})
	r := request("x")
	r.RequiredApprovals = 2
	h := open(t, g, r)
	id := h.Requests()[0].ID
	first := by("ann-phone", approvals.ActionApprove)
	first.RequestID, first.ReviewerUser = id, "ann"
	if r, err := g.Decide(t.Context(), first); err != nil || r.Status != approvals.StatusPending {
		t.Fatalf("%s, %v", r.Status, err)
	}
	other := by("ann-laptop", approvals.ActionApprove)
	other.RequestID, other.ReviewerUser = id, "ann"
	self := by("ann", approvals.ActionApprove)
	self.RequestID = id
	for _, again := range []approvals.Decision{first, other, self} {
		var invalid *approvals.InvalidError
		if _, err := g.Decide(t.Context(), again); !errors.As(err, &invalid) {
			t.Errorf("%s approves too: %v", again.ReviewerID, err)
		}
	}
	second := by("bob", approvals.ActionApprove)
	second.RequestID = id
	if r, err := g.Decide(t.Context(), second); err != nil || r.Status != approvals.StatusApproved || len(r.Decisions) != 2 {
		t.Errorf("%s with %d decisions, %v", r.Status, len(r.Decisions), err)
	}
	await(t, h.Done(), "the hold")
}
