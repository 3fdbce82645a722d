package gate_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/approvalstest"
	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/approvals/grants"
)

// A call that several rules ask about needs approvals of the groups of every rule. A person
// counts once for each rule.
func TestPromise5_DecidedOnce_EveryRuleHasItsApprovals(t *testing.T) {
	t.Parallel()
	s := approvalstest.OpenStore()
	g := approvalstest.RunGate(t, gate.Options{Store: s})
	taken, forbidden, invalid := "", "forbidden", "invalid"
	type step struct {
		d     approvals.Decision
		says  string
		fills []int
	}
	yes := func(who string, says string, fills []int, groups ...string) step {
		return step{approvalstest.DecisionBy(who, approvals.ActionApprove, groups...), says, fills}
	}
	for name, steps := range map[string][]step{
		"one after another": {
			yes("dan", taken, []int{0}, "dba"), yes("dan", invalid, nil, "dba"), yes("dora", forbidden, nil, "dba"), yes("olaf", forbidden, nil, "oncall"),
			yes("sam", taken, []int{1}, "security"), yes("Sam", invalid, nil, "security"), yes("sue", taken, []int{1}, "security"),
		},
		"in both groups": {
			yes("bo", taken, []int{0, 1}, "dba", "security"), yes("bo", invalid, nil, "dba", "security"), yes("sue", taken, []int{1}, "security"),
		},
		"in every group": {yes("local", taken, []int{0, 1}, "*"), yes("dan", forbidden, nil, "dba"), yes("sue", taken, []int{1}, "security")},
	} {
		h := approvalstest.Open(t, g, approvalstest.Demanding())
		id := h.Requests()[0].ID
		for i, step := range steps {
			step.d.RequestID = id
			step.d.Fills = []int{0, 1} // a value of the channel is ignored
			r, err := g.Decide(t.Context(), step.d)
			if got := approvalstest.KindOf(err); got != step.says {
				t.Fatalf("%s, %d: %s: %v", name, i, step.d.ReviewerID, err)
			}
			if last := i == len(steps)-1; err == nil && r.Status.Final() != last {
				t.Fatalf("%s, %d: after %s it is %s", name, i, step.d.ReviewerID, r.Status)
			}
			if err == nil && !slices.Equal(r.Decisions[len(r.Decisions)-1].Fills, step.fills) {
				t.Errorf("%s, %d: %s counts for %v", name, i, step.d.ReviewerID, r.Decisions)
			}
		}
		approvalstest.Await(t, h.Done(), "the hold")
		r, err := g.Request(t.Context(), id)
		if err != nil || r.Status != approvals.StatusApproved || r.RequiredApprovals != 2 || !slices.Equal(r.Reviewers, []string{"dba", "security"}) {
			t.Errorf("%s: %s by %q, %v", name, r.Status, r.Reviewers, err)
		}
		for i, e := range approvalstest.EventsOf(t, s, id) {
			if i == 0 && !cmp.Equal(e.Demands, approvalstest.Demanding().Demands) {
				t.Errorf("the event of the request has %+v", e.Demands)
			}
			if i > 0 && len(e.Demands) != len(r.Decisions[i-1].Fills) {
				t.Errorf("the event of the approval of %s has %+v", e.ReviewerID, e.Demands)
			}
		}
	}
}

// One denial by a member of any group ends the request. Only a member of all groups may
// edit it or remember the decision.
func TestDemandsLeaveRoomForTheOthers(t *testing.T) {
	t.Parallel()
	s := approvalstest.OpenStore()
	book, _ := approvalstest.RunGrants(t, grants.Options{Store: s})
	g := approvalstest.RunGate(t, gate.Options{Store: s, Grants: book})
	one := approvalstest.Demanding()
	one.Demands[1].RequiredApprovals, one.AllowRemember, one.SuggestedPatterns = 1, true, []string{"x"}
	h := approvalstest.Open(t, g, one, one, one, one)
	held := h.Requests()
	decide := func(i int, d approvals.Decision) (approvals.Request, error) {
		d.RequestID = held[i].ID
		return g.Decide(t.Context(), d)
	}
	edit := func(groups ...string) approvals.Decision {
		d := approvalstest.DecisionBy("dan", approvals.ActionModifyArgs, groups...)
		d.ModifiedArgs = []byte(`{"path":"b"}`)
		return d
	}
	if r, err := decide(0, approvalstest.DecisionBy("dan", approvals.ActionApprove, "dba")); err != nil || r.Status != approvals.StatusPending {
		t.Fatalf("%s, %v", r.Status, err)
	}
	for _, d := range []approvals.Decision{edit("dba"), approvalstest.DecisionBy("dan", approvals.ActionAllowAlways, "dba"), approvalstest.DecisionBy("dan", approvals.ActionDenyAlways, "security")} {
		if _, err := decide(1, d); approvalstest.KindOf(err) != "forbidden" || !strings.Contains(err.Error(), "decide this request too") {
			t.Errorf("%s by one of the groups: %v", d.Action, err)
		}
	}
	for i, tt := range []struct {
		d    approvals.Decision
		want approvals.Status
	}{
		{approvalstest.DecisionBy("sue", approvals.ActionDeny, "security"), approvals.StatusDenied},
		{edit("dba", "security"), approvals.StatusApproved},
		{approvalstest.DecisionBy("bo", approvals.ActionAllowAlways, "*"), approvals.StatusApproved},
		{approvalstest.DecisionBy("dan", approvals.ActionAbortRun, "dba"), approvals.StatusCancelled},
	} {
		if r, err := decide(i, tt.d); err != nil || r.Status != tt.want {
			t.Errorf("%s by %q: %s, %v", tt.d.Action, tt.d.ReviewerGroups, r.Status, err)
		}
	}
	approvalstest.Await(t, h.Done(), "the hold")
}

// A decision in the place of another reviewer counts for the demands of their groups.
func TestDemandsByDelegation(t *testing.T) {
	t.Parallel()
	team := map[string]approvals.ReviewerProfile{"dan": {Groups: []string{"dba"}, User: "dan"}, "sue": {Groups: []string{"security"}, User: "sue"}}
	g := approvalstest.RunGate(t, gate.Options{Store: approvalstest.OpenStore(), Profile: func(name string) (approvals.ReviewerProfile, bool) {
		who, known := team[name]
		return who, known
	}})
	if _, err := g.Delegate(t.Context(), approvals.Delegation{From: "sue", To: "dan", Until: time.Now().Add(time.Hour), CreatedBy: "sue"}); err != nil {
		t.Fatal(err)
	}
	h := approvalstest.Open(t, g, approvalstest.Demanding())
	id := h.Requests()[0].ID
	for i, want := range []struct {
		who, forWhom, says string
		fills              []int
	}{
		{"dan", "", "", []int{0}}, {"dan", "sue", "", []int{1}}, {"dan", "", "invalid", nil}, {"sue", "", "invalid", nil}, {"sam", "", "", []int{1}},
	} {
		d := approvalstest.DecisionBy(want.who, approvals.ActionApprove, team[want.who].Groups...)
		if d.RequestID = id; want.who == "sam" {
			d.ReviewerGroups = []string{"security"}
		}
		r, err := g.Decide(t.Context(), d)
		if approvalstest.KindOf(err) != want.says {
			t.Fatalf("%d: %s: %v", i, want.who, err)
		}
		if err != nil {
			continue
		}
		if last := r.Decisions[len(r.Decisions)-1]; last.OnBehalfOf != want.forWhom || !slices.Equal(last.Fills, want.fills) {
			t.Errorf("%d: %s decides for %q and fills %v", i, want.who, last.OnBehalfOf, last.Fills)
		}
	}
	approvalstest.Await(t, h.Done(), "the hold")
}

// Replicas count concurrent approvals once each.
func TestPromise5_DecidedOnce_ReplicasCountEveryDemand(t *testing.T) {
	t.Parallel()
	s := approvalstest.OpenStore()
	replicas := []*gate.Gate{approvalstest.RunGate(t, gate.Options{Store: s}), approvalstest.RunGate(t, gate.Options{Store: s})}
	for range 20 {
		h := approvalstest.Open(t, replicas[0], approvalstest.Demanding())
		var all sync.WaitGroup
		for i, d := range []approvals.Decision{
			approvalstest.DecisionBy("dan", approvals.ActionApprove, "dba"), approvalstest.DecisionBy("dan", approvals.ActionApprove, "dba"), approvalstest.DecisionBy("sam", approvals.ActionApprove, "security"),
			approvalstest.DecisionBy("sam", approvals.ActionApprove, "security"), approvalstest.DecisionBy("sue", approvals.ActionApprove, "security"),
		} {
			d.RequestID = h.Requests()[0].ID
			all.Go(func() { _, _ = replicas[i%2].Decide(t.Context(), d) }) // the second of a pair is refused
		}
		all.Wait()
		approvalstest.Await(t, h.Done(), "the hold")
		r := h.Requests()[0]
		if len(r.Decisions) != 3 || len(r.Approvals(0)) != 1 || len(r.Approvals(1)) != 2 {
			t.Fatalf("approved by %+v", r.Decisions)
		}
	}
}

// Each demand has its own escalation: the added groups count for no other demand.
func TestDemandsEscalateEachForItself(t *testing.T) {
	t.Parallel()
	s := approvalstest.OpenStore()
	later := time.Now().Add(time.Hour).UTC()
	r := approvalstest.Demanding()
	r.ExpiresAt = later.Add(3 * time.Hour)
	r.Demands[0].Escalation = &approvals.Escalation{At: later, To: []string{"dba", "oncall"}}
	r.Demands[1].Escalation = &approvals.Escalation{At: later.Add(time.Hour), To: []string{"managers"}}
	before := approvalstest.RunGate(t, gate.Options{Store: s})
	h := approvalstest.Open(t, before, r)
	id := h.Requests()[0].ID
	decide := func(g *gate.Gate, d approvals.Decision) string {
		d.RequestID = id
		_, err := g.Decide(t.Context(), d)
		return approvalstest.KindOf(err)
	}
	if got := decide(before, approvalstest.DecisionBy("olaf", approvals.ActionApprove, "oncall")); got != "forbidden" {
		t.Fatalf("oncall decides before the escalation: %q", got)
	}
	at := func(past time.Duration) *gate.Gate {
		return approvalstest.RunGate(t, gate.Options{Store: s, Now: func() time.Time { return time.Now().Add(past) }})
	}
	first := at(61 * time.Minute)
	approvalstest.Eventually(t, "oncall is asked", func() bool { return len(approvalstest.EventsOf(t, s, id)) == 2 })
	for _, d := range []struct{ who, group, says string }{{"mia", "managers", "forbidden"}, {"olaf", "oncall", ""}, {"oona", "oncall", "forbidden"}} {
		if got := decide(first, approvalstest.DecisionBy(d.who, approvals.ActionApprove, d.group)); got != d.says {
			t.Errorf("%s: %q, want %q", d.who, got, d.says)
		}
	}
	second := at(121 * time.Minute)
	approvalstest.Eventually(t, "managers are asked", func() bool { return len(approvalstest.EventsOf(t, s, id)) == 4 })
	for _, d := range []struct{ who, group string }{{"mia", "managers"}, {"sue", "security"}} {
		if got := decide(second, approvalstest.DecisionBy(d.who, approvals.ActionApprove, d.group)); got != "" {
			t.Errorf("%s: %q", d.who, got)
		}
	}
	approvalstest.Await(t, h.Done(), "the hold")
	final, err := second.Request(t.Context(), id)
	if want := []string{"dba", "security", "oncall", "managers"}; err != nil || final.Status != approvals.StatusApproved || !slices.Equal(final.Reviewers, want) {
		t.Errorf("%s by %q, %v", final.Status, final.Reviewers, err)
	}
	if got := final.RequiredEvent().Demands[0]; !slices.Equal(got.Reviewers, []string{"dba"}) || got.Escalation.EscalatedAt != nil {
		t.Errorf("the first event has %+v", got)
	}
}

// A demand that has its approvals does not escalate.
func TestCompleteDemandsDoNotEscalate(t *testing.T) {
	t.Parallel()
	s := approvalstest.OpenStore()
	later := time.Now().Add(time.Hour).UTC()
	r := approvalstest.Demanding()
	r.ExpiresAt = later.Add(time.Hour)
	r.Demands[0].Escalation = &approvals.Escalation{At: later, To: []string{"oncall"}}
	r.Demands[1].Escalation = &approvals.Escalation{At: later, To: []string{"managers"}}
	g := approvalstest.RunGate(t, gate.Options{Store: s})
	id := approvalstest.Open(t, g, r).Requests()[0].ID
	d := approvalstest.DecisionBy("dan", approvals.ActionApprove, "dba")
	d.RequestID = id
	approved, err := g.Decide(t.Context(), d)
	if err != nil || strings.Contains(approved.DemandLines()[0], "oncall") || !strings.Contains(approved.DemandLines()[1], "managers") {
		t.Fatalf("%q, %v", approved.DemandLines(), err)
	}
	approvalstest.RunGate(t, gate.Options{Store: s, Now: func() time.Time { return time.Now().Add(61 * time.Minute) }})
	approvalstest.Eventually(t, "managers are asked", func() bool { return len(approvalstest.EventsOf(t, s, id)) > 2 })
	now, err := g.Request(t.Context(), id)
	if want := []string{"dba", "security", "managers"}; err != nil || !slices.Equal(now.Reviewers, want) || now.Demands[0].Escalation.EscalatedAt != nil {
		t.Errorf("reviewers are %q, %v", now.Reviewers, err)
	}
}

// The lines of demands name the approvals that each rule has and needs.
func TestDemandLines(t *testing.T) {
	t.Parallel()
	r := approvalstest.Demanding()
	r.Status = approvals.StatusPending
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r.Demands[0].Escalation, r.Demands[0].RequiredApprovals = &approvals.Escalation{At: at, To: []string{"oncall", "ops"}}, 2
	r.Decisions = []approvals.Decision{{ReviewerID: "sam", Fills: []int{1}}, {ReviewerID: "bo", OnBehalfOf: "sue", Fills: []int{0, 1}}}
	want := []string{
		"1 of 2 approvals by members of dba (policy.yaml:1): bo for sue; members of oncall or ops too from 2026-01-02T03:04:05Z",
		"2 of 2 approvals by members of security (policy.yaml:2): sam, bo for sue",
	}
	if diff := cmp.Diff(want, r.DemandLines()); diff != "" {
		t.Error(diff)
	}
	if got := r.ApprovalCount(); got != "1 of 2 approvals of dba and 2 of 2 approvals of security" {
		t.Error(got)
	}
	r.Status = approvals.StatusApproved
	if got := r.DemandLines()[0]; strings.Contains(got, "oncall") {
		t.Errorf("of an ended request: %s", got)
	}
	r.Demands, r.RequiredApprovals = nil, 3
	if got := r.ApprovalCount(); got != "2 of 3 approvals" || len(r.DemandLines()) != 0 {
		t.Error(got)
	}
}
