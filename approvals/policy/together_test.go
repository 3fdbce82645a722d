package policy

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/rule"
)

const partsPolicy = `default: ask
rules:
  - deny: [wipe]
  - allow: [ls]
    limit: {per_run: 1}
  - allow: [cat]
  - ask: [note]
    timeout: 10s
    on_timeout: approve
    remember: true
  - ask: [memo]
    timeout: 10m
    on_timeout: approve
  - ask: [transfer]
    risk: critical
    reviewers: [finance]
    required_approvals: 2
    timeout: 30s
  - ask: [pay]
    reviewers: [finance]
    escalate: {after: 10s, to: [oncall]}
  - ask: [deploy]
    reviewers: [ops]
  - ask: [tip]
    reviewers: [finance]
`

// TestTogether: parts that are released as one get the verdict of the strictest, in any order.
func TestTogether(t *testing.T) {
	p := mustParse(t, partsPolicy)
	type said struct {
		Action    Action
		Risk      approvals.Risk
		Reviewers []string
		Required  int
		Timeout   time.Duration
		OnTimeout string
		Escalates bool
		Limits    int
	}
	finance := []string{"finance"}
	for _, tt := range []struct {
		tools []string
		want  said
	}{
		{[]string{"ls", "cat"}, said{Action: Allow, Risk: "medium", Limits: 1}},
		{[]string{"cat", "wipe"}, said{Action: Deny, Risk: "medium"}},
		{[]string{"wipe", "transfer"}, said{Action: Deny, Risk: "critical"}},
		{[]string{"ls", "note"}, said{Ask, "medium", nil, 1, 10 * time.Second, "approve", false, 1}},
		{[]string{"note", "memo"}, said{Ask, "medium", nil, 1, 10 * time.Minute, "approve", false, 0}},
		{[]string{"tip", "transfer"}, said{Ask, "critical", finance, 2, 30 * time.Second, "deny", false, 0}},
		{[]string{"note", "transfer"}, said{Ask, "critical", finance, 2, 10 * time.Second, "deny", false, 0}},
		{[]string{"draw", "note"}, said{Ask, "medium", nil, 1, 10 * time.Second, "deny", false, 0}}, // draw is asked about by default
		{[]string{"pay"}, said{Ask, "critical", finance, 1, rule.DefaultTimeout, "deny", true, 0}},
		{[]string{"note", "pay"}, said{Ask, "critical", finance, 1, 10 * time.Second, "deny", true, 0}},
		{[]string{"transfer", "pay"}, said{Ask, "critical", finance, 2, 30 * time.Second, "deny", false, 0}}, // two demands: oncall meets one of them
	} {
		for range 2 {
			var parts []Verdict
			for _, tool := range tt.tools {
				parts = append(parts, p.Judge(Call{Tool: tool, Arguments: `{"of":"` + tool + `"}`}))
			}
			v := Together(parts...)
			got := said{v.Action, v.Risk, v.Reviewers, v.RequiredApprovals, v.Timeout, v.OnTimeout, v.Escalate.After > 0, len(v.Limits)}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%v (-want +got):\n%s", tt.tools, diff)
			}
			if v.ByDefault {
				t.Errorf("%v: rules ask, not the default", tt.tools)
			}
			if len(parts) > 1 && v.AllowRemember {
				t.Errorf("%v: a grant would cover a part only", tt.tools)
			}
			last := len(tt.tools) - 1
			tt.tools[0], tt.tools[last] = tt.tools[last], tt.tools[0]
		}
	}
}

// TestTogetherOfDifferentReviewers: each group decides its part.
func TestTogetherOfDifferentReviewers(t *testing.T) {
	p := mustParse(t, partsPolicy)
	parts := []Verdict{p.Judge(Call{Tool: "transfer"}), p.Judge(Call{Tool: "deploy"}), p.Judge(Call{Tool: "note"}), p.Judge(Call{Tool: "transfer"})}
	v := Together(parts...)
	want := []Demand{{Rule: "policy.yaml:14", Reviewers: []string{"finance"}, RequiredApprovals: 2}, {Rule: "policy.yaml:22", Reviewers: []string{"ops"}, RequiredApprovals: 1}}
	if diff := cmp.Diff(want, v.Demands); diff != "" || v.Action != Ask || !cmp.Equal(v.Reviewers, []string{"finance", "ops"}) || v.RequiredApprovals != 2 {
		t.Errorf("%s of %d of %q: %s", v.Action, v.RequiredApprovals, v.Reviewers, diff)
	}
	for i := range parts {
		parts[i] = shadowed(parts[i])
	}
	if v := Together(parts...); v.Action != Allow || v.Said() != Ask || len(v.Demands) != 2 {
		t.Errorf("in shadow mode: %s, %s, %+v", v.Action, v.Said(), v.Demands)
	}
}
