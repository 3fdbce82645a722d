package gate_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/approvalstest"
	"github.com/heldcall/heldcall/approvals/gate"
)

// Decisions are counted by channel, action and group of the request, holds by tool. A
// deadline is not a decision of a reviewer.
func TestMetricsOfDecisions(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	g := approvalstest.RunGate(t, gate.Options{Store: approvalstest.OpenStore(), Registerer: registry})
	first, second := approvalstest.Request("bash"), approvalstest.Request("bash")
	first.Rule, second.Rule = "default", "policy.yaml:3"
	second.Reviewers = []string{"finance", "ops", "finance"}
	h := approvalstest.Open(t, g, first, second)
	for i, d := range []approvals.Decision{
		{Action: approvals.ActionApprove, ReviewerID: "bob", Channel: "rest"},
		{Action: approvals.ActionDeny, ReviewerID: "ann", Channel: "nats", ReviewerGroups: []string{"ops"}},
	} {
		d.RequestID = h.Requests()[i].ID
		if _, err := g.Decide(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if _, err := g.Decide(t.Context(), d); err == nil {
			t.Fatal("decided twice")
		}
	}
	approvalstest.Await(t, h.Done(), "the hold")
	late := approvalstest.Request("bash")
	late.Rule = "default"
	late.ExpiresAt, late.OnTimeout = time.Now().Add(time.Millisecond), approvals.OnTimeoutApprove
	approvalstest.Await(t, approvalstest.Open(t, g, late).Done(), "the deadline")

	got := counted(t, registry, "heldcall_decisions_total", "heldcall_group_decisions_total", "heldcall_holds_total", "heldcall_rule_holds_total", "heldcall_reviewer_decisions_total", "heldcall_time_to_decision_seconds")
	want := map[string]float64{
		"heldcall_decisions_total action=approve channel=rest":          1,
		"heldcall_decisions_total action=deny channel=nats":             1,
		"heldcall_group_decisions_total action=approve group=any":       1,
		"heldcall_group_decisions_total action=deny group=finance":      1,
		"heldcall_group_decisions_total action=deny group=ops":          1,
		"heldcall_holds_total outcome=approved tool=bash":               2,
		"heldcall_holds_total outcome=denied tool=bash":                 1,
		"heldcall_rule_holds_total outcome=approved rule=default":       2,
		"heldcall_rule_holds_total outcome=denied rule=policy.yaml:3":   1,
		"heldcall_reviewer_decisions_total action=approve reviewer=bob": 1,
		"heldcall_reviewer_decisions_total action=deny reviewer=ann":    1,
		"heldcall_time_to_decision_seconds tool=bash":                   2,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Metrics whose readers may see some tenants only have no names of tools and reviewers.
func TestMetricsWithoutNames(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	g := approvalstest.RunGate(t, gate.Options{Store: approvalstest.OpenStore(), Registerer: registry, HideTools: true})
	h := approvalstest.Open(t, g, approvalstest.Request("bash"))
	if _, err := g.Decide(t.Context(), approvals.Decision{RequestID: h.Requests()[0].ID, Action: approvals.ActionApprove, ReviewerID: "bob", Channel: "rest"}); err != nil {
		t.Fatal(err)
	}
	approvalstest.Await(t, h.Done(), "the hold")
	want := map[string]float64{
		"heldcall_holds_total outcome=approved tool=other":                1,
		"heldcall_reviewer_decisions_total action=approve reviewer=other": 1,
		"heldcall_time_to_decision_seconds tool=other":                    1,
	}
	if diff := cmp.Diff(want, counted(t, registry, "heldcall_holds_total", "heldcall_reviewer_decisions_total", "heldcall_time_to_decision_seconds")); diff != "" {
		t.Error(diff)
	}
}

// What waits is reported with the time until the first request expires, and as no number if nothing waits.
func TestMetricsOfWhatWaits(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	g := approvalstest.RunGate(t, gate.Options{Store: approvalstest.OpenStore(), Registerer: registry})
	const left = "heldcall_request_next_expiry_seconds"
	if got := counted(t, registry, left)[left]; !math.IsNaN(got) {
		t.Errorf("while nothing waits: %v", got)
	}
	long, short := approvalstest.Request("bash"), approvalstest.Request("bash")
	long.ExpiresAt, short.ExpiresAt = time.Now().Add(time.Hour), time.Now().Add(10*time.Minute)
	approvalstest.Open(t, g, long, short)
	if got := counted(t, registry, left)[left]; got <= 0 || got > 600 {
		t.Errorf("the first expires in %v s", got)
	}
}

// Tool names that a model invents create few series.
func TestToolsInMetricsAreFew(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	g := approvalstest.RunGate(t, gate.Options{Store: approvalstest.OpenStore(), Registerer: registry})
	undescribed := approvalstest.Request("made_up")
	undescribed.Tool = approvals.Tool{}
	requests := []approvals.Request{undescribed, approvalstest.Request("not a name"), approvalstest.Request(strings.Repeat("x", 65)), approvalstest.Request("")}
	for i := range 60 {
		r := approvalstest.Request(fmt.Sprintf("tool_%d", i))
		r.Tool = approvals.Tool{Parameters: json.RawMessage(`{}`)}
		requests = append(requests, r)
	}
	h := approvalstest.Open(t, g, requests...)
	for _, r := range h.Requests() {
		if _, err := g.Decide(t.Context(), approvals.Decision{RequestID: r.ID, Action: approvals.ActionDeny, ReviewerID: "bob"}); err != nil {
			t.Fatal(err)
		}
	}
	approvalstest.Await(t, h.Done(), "the hold")
	got := counted(t, registry, "heldcall_holds_total")
	if len(got) != 51 || got["heldcall_holds_total outcome=denied tool=other"] != 14 || got["heldcall_holds_total outcome=denied tool=tool_49"] != 1 {
		t.Errorf("%d series: %v", len(got), got)
	}
}

// counted returns the series of some metrics: the values of counters and gauges, and the
// number of observations of histograms.
func counted(t *testing.T, registry *prometheus.Registry, names ...string) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	series := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			name := family.GetName()
			for _, label := range metric.GetLabel() {
				name += " " + label.GetName() + "=" + label.GetValue()
			}
			series[name] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + float64(metric.GetHistogram().GetSampleCount())
		}
	}
	maps.DeleteFunc(series, func(name string, _ float64) bool {
		for _, wanted := range names {
			if strings.HasPrefix(name+" ", wanted+" ") {
				return false
			}
		}
		return true
	})
	return series
}
