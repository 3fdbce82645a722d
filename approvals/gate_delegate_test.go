package approvals_test

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// directory is who ann, bob, cid and fay are; ann and fay are in finance.
func directory(name string) (approvals.Standing, bool) {
	groups, known := map[string][]string{"ann": {"finance"}, "bob": {"sales"}, "cid": nil, "fay": {"finance"}}[name]
	return approvals.Standing{User: name + "@example.com", Groups: groups}, known
}

func TestDelegatesDecideInAnothersPlace(t *testing.T) {
	s := openStore(t, t.TempDir())
	var later atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	g := runGate(t, approvals.GateOptions{Store: s, Now: now, Standing: directory, NoSelfApproval: true})
	beside := runGate(t, approvals.GateOptions{Store: s, Now: now, Standing: directory, NoSelfApproval: true})
	limited := request("x")
	limited.Reviewers, limited.Principal.User = []string{"finance"}, "somebody"
	limited.ExpiresAt = time.Now().Add(5 * time.Hour)
	quorum, own := limited, limited
	quorum.RequiredApprovals = 2
	own.Principal.User = "ann@example.com"
	h := open(t, g, limited, quorum, own, limited, limited)
	defer h.Detach()
	held := h.Requests()
	decide := func(gate *approvals.Gate, i int, d approvals.Decision) (approvals.Request, error) {
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
	bob := by("bob", approvals.ActionApprove, "sales")
	refused("bob, for nobody", 0, bob)

	d, err := g.Delegate(t.Context(), approvals.Delegation{From: "ann", To: "bob", Until: time.Now().Add(time.Hour), Note: "holiday", CreatedBy: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Delegate(t.Context(), approvals.Delegation{From: "bob", To: "cid", Until: time.Now().Add(time.Hour), CreatedBy: "bob"}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the other gate knows", func() bool { return len(beside.Delegations()) == 2 })
	refused("cid, for bob who is here for ann", 0, by("cid", approvals.ActionApprove))
	refused("bob for ann, on what ann's agent asks", 2, bob)
	r, err := decide(beside, 0, bob)
	if err != nil || r.Status != approvals.StatusApproved || r.Decisions[0].OnBehalfOf != "ann" || r.Decisions[0].ReviewerID != "bob" {
		t.Errorf("bob for ann: %+v, %v", r.Decisions, err)
	}
	events := eventsOf(t, s, held[0].ID)
	if last := events[len(events)-1]; last.OnBehalfOf != "ann" || last.ReviewerID != "bob" {
		t.Errorf("the log says %s for %q", last.ReviewerID, last.OnBehalfOf)
	}
	// Ann and who decides for her are one approval.
	if _, err := decide(g, 1, bob); err != nil {
		t.Fatal(err)
	}
	invalid := (*approvals.InvalidError)(nil)
	if _, err := decide(g, 1, by("ann", approvals.ActionApprove, "finance")); !errors.As(err, &invalid) {
		t.Errorf("ann beside bob for ann: %v", err)
	}
	if r, err := decide(g, 1, by("fay", approvals.ActionApprove, "finance")); err != nil || r.Status != approvals.StatusApproved {
		t.Errorf("fay beside bob for ann: %s, %v", r.Status, err)
	}

	if _, err := g.RevokeDelegation(t.Context(), d.ID, "ann"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the other gate knows", func() bool { return len(beside.Delegations()) == 1 })
	refused("bob, after ann took it back", 3, bob)
	if _, err := g.Delegate(t.Context(), approvals.Delegation{From: "fay", To: "bob", Until: time.Now().Add(2 * time.Hour), CreatedBy: "fay"}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the other gate knows", func() bool { return len(beside.Delegations()) == 2 })
	later.Store(int64(3 * time.Hour))
	refused("bob, after fay's day", 4, bob)
	if left := g.Delegations(); len(left) != 0 {
		t.Errorf("in force are %+v", left)
	}
}

func TestDelegationsThatSayNothing(t *testing.T) {
	g := runGate(t, approvals.GateOptions{Store: openStore(t, t.TempDir()), Standing: directory})
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
		t.Errorf("in force are %+v", g.Delegations())
	}
}
