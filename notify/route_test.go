package notify

import (
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	when, err := time.Parse("2006-01-02 15:04 MST", text)
	if err != nil {
		t.Fatal(err)
	}
	return when
}

func TestRoutes(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	to := func(target string) []Destination { return []Destination{{"chat", target}, {"other", "elsewhere"}} }
	routes := Routes{
		{To: to("night"), Hours: &Hours{From: 22 * time.Hour, To: 6 * time.Hour, Zone: berlin, Days: []time.Weekday{time.Friday}}},
		{To: to("acme"), Tenants: []string{"acme*"}},
		{To: to("deploy"), Tools: []string{"deploy", "release_*"}},
		{To: to("finance"), Groups: []string{"finance"}},
		{To: to("rule"), Rules: []string{"policy.yaml:7"}},
		{To: to("risky"), Risk: approvals.RiskHigh},
		{To: to("quiet"), Tools: []string{"read"}, Quiet: &Quiet{Hours: Hours{From: 20 * time.Hour, To: 8 * time.Hour}, Except: approvals.RiskLow}},
		{To: to("digest"), Tools: []string{"list"}, Digest: 15 * time.Minute},
	}
	f := func(when, tick string, want string, requests ...approvals.Request) {
		t.Helper()
		var ticked time.Time
		if tick != "" {
			ticked = at(t, tick)
		}
		v := routes.of("chat", requests, at(t, when), ticked)
		got := strings.Join(v.targets, " ")
		if v.later {
			got += " later"
		}
		if strings.TrimSpace(got) != want {
			t.Errorf("%s: to %q, want %q", when, got, want)
		}
	}
	tool := func(name string, risk approvals.Risk) approvals.Request {
		return approvals.Request{Status: approvals.StatusPending, ToolName: name, RiskLevel: risk}
	}
	const noon = "2026-11-20 12:00 UTC" // a Friday
	f(noon, "", "", tool("other", approvals.RiskMedium))
	f(noon, "", "risky", tool("other", approvals.RiskCritical))
	f(noon, "", "deploy", tool("release_all", approvals.RiskCritical))
	f(noon, "", "acme", approvals.Request{Status: approvals.StatusPending, Principal: approvals.Principal{Tenant: "acme-eu"}})
	f(noon, "", "finance", approvals.Request{Status: approvals.StatusPending, Reviewers: []string{"it", "finance"}})
	f(noon, "", "rule", approvals.Request{Status: approvals.StatusPending, Rule: "policy.yaml:7"})
	f(noon, "", "", approvals.Request{Status: approvals.StatusDenied, Rule: "policy.yaml:7"})
	f(noon, "", "deploy risky", tool("deploy", ""), tool("other", approvals.RiskHigh), tool("deploy", ""))

	f("2026-11-20 20:59 UTC", "", "deploy", tool("deploy", "")) // 21:59 in Berlin
	f("2026-11-20 21:00 UTC", "", "night", tool("deploy", ""))
	f("2026-11-21 04:59 UTC", "", "night", tool("deploy", ""))
	f("2026-11-21 05:00 UTC", "", "deploy", tool("deploy", ""))
	f("2026-11-21 22:00 UTC", "", "deploy", tool("deploy", "")) // a Saturday

	f("2026-11-17 20:00 UTC", "", "later", tool("read", approvals.RiskLow))
	f("2026-11-17 20:00 UTC", "", "quiet", tool("read", approvals.RiskMedium))
	f("2026-11-18 07:59 UTC", "", "later", tool("read", ""))
	f("2026-11-18 08:00 UTC", "2026-11-18 08:00 UTC", "quiet", tool("read", ""))

	list := func(created, escalated string) approvals.Request {
		r := tool("list", "")
		r.CreatedAt = at(t, created)
		if escalated != "" {
			when := at(t, escalated)
			r.Details.Escalation = &approvals.Escalation{To: []string{"oncall"}, EscalatedAt: &when}
		}
		return r
	}
	f("2026-11-18 08:01 UTC", "", "later", list("2026-11-18 08:00 UTC", ""))
	f("2026-11-18 08:15 UTC", "2026-11-18 08:15 UTC", "digest", list("2026-11-18 08:00 UTC", ""))
	f("2026-11-18 08:20 UTC", "2026-11-18 08:20 UTC", "later", list("2026-11-18 08:16 UTC", ""))
	f("2026-11-18 08:20 UTC", "", "digest", list("2026-11-18 08:10 UTC", "")) // nobody was there at its tick
	f("2026-11-18 08:20 UTC", "", "later", list("2026-11-18 08:10 UTC", "2026-11-18 08:18 UTC"))

	demands := list("2026-11-18 08:10 UTC", "")
	demands.Demands = []approvals.Demand{{Escalation: list("2026-11-18 08:10 UTC", "2026-11-18 08:18 UTC").Details.Escalation}, {Escalation: &approvals.Escalation{}}, {}}
	f("2026-11-18 08:20 UTC", "", "later", demands)

	escalated := func(asked []string, to ...string) approvals.Request {
		r := tool("transfer", approvals.RiskCritical)
		r.Reviewers = append(asked, to...)
		when := at(t, noon)
		r.Details.Escalation = &approvals.Escalation{To: to, EscalatedAt: &when}
		return r
	}
	routes = Routes{
		{To: to("finance"), Groups: []string{"finance"}},
		{To: to("oncall"), Groups: []string{"oncall"}},
		{To: to("both"), Tools: []string{"transfer"}, Groups: []string{"board"}},
		{To: to("all")},
	}
	f(noon, "", "finance oncall", escalated([]string{"finance"}, "oncall"))
	f(noon, "", "finance oncall both", escalated([]string{"finance"}, "oncall", "board"))
	f(noon, "", "all oncall", escalated([]string{"dba"}, "oncall"))
	f(noon, "", "finance all", escalated([]string{"finance"}, "dba")) // a group that no route names
	ahead := escalated([]string{"finance"}, "oncall")
	ahead.Reviewers, ahead.Details.Escalation.EscalatedAt = []string{"finance"}, nil
	f(noon, "", "finance", ahead)

	f(noon, "", "all oncall", escalated([]string{"dba"}, "oncall", "oncall"))
	f(noon, "", "finance oncall", escalated(nil, "finance", "oncall")) // asked before, and named once more
	each := tool("transfer", approvals.RiskCritical)
	each.Reviewers = []string{"finance", "dba", "oncall"}
	each.Demands = []approvals.Demand{{Reviewers: []string{"finance"}}, {Reviewers: []string{"dba", "oncall"}}}
	f(noon, "", "finance oncall", each) // each of its demands has to be met
	each.Demands[0].Reviewers, each.Demands[0].Escalation = []string{"finance", "board"}, escalated(nil, "board").Details.Escalation
	f(noon, "", "finance both oncall", each)
	routes = Routes{{To: to("rule"), Rules: []string{"policy.yaml:7"}}, {To: to("first"), Rules: []string{"policy.yaml:1"}}, {To: to("all")}}
	each.Rule, each.Demands[1].Rule = "policy.yaml:5", "policy.yaml:9, policy.yaml:7"
	f(noon, "", "all rule", each)
	each.Rule = "policy.yaml:1"
	f(noon, "", "first rule", each)

	if v := Routes(nil).of("chat", []approvals.Request{tool("x", "")}, at(t, noon), time.Time{}); len(v.targets) != 1 || v.targets[0] != "" {
		t.Errorf("without routes: to %q", v.targets)
	}
}

func TestNextTick(t *testing.T) {
	f := func(now, want string, routes ...Route) {
		t.Helper()
		got := Routes(routes).tick(at(t, now))
		if want == "" && got.IsZero() {
			return
		}
		if want == "" || !got.Equal(at(t, want)) {
			t.Errorf("after %s: %s, want %s", now, got, want)
		}
	}
	f("2026-11-18 08:01 UTC", "", Route{})
	f("2026-11-18 08:01 UTC", "2026-11-18 08:15 UTC", Route{Digest: 15 * time.Minute})
	f("2026-11-18 08:15 UTC", "2026-11-18 08:30 UTC", Route{Digest: 15 * time.Minute})
	night := &Quiet{Hours: Hours{From: 20 * time.Hour, To: 8 * time.Hour}}
	f("2026-11-18 03:00 UTC", "2026-11-18 08:00 UTC", Route{Quiet: night})
	f("2026-11-18 12:00 UTC", "2026-11-19 08:00 UTC", Route{Quiet: night})
	f("2026-11-18 12:00 UTC", "2026-11-18 13:00 UTC", Route{Quiet: night}, Route{Digest: time.Hour})
	weekend := &Quiet{Hours: Hours{From: 0, To: 0, Days: []time.Weekday{time.Saturday, time.Sunday}}}
	f("2026-11-18 12:00 UTC", "2026-11-22 00:00 UTC", Route{Quiet: weekend})
	if !weekend.include(at(t, "2026-11-22 12:00 UTC")) || weekend.include(at(t, "2026-11-23 00:00 UTC")) {
		t.Error("a weekend is not Saturday and Sunday")
	}
}

// Clocks that change do not shift the hours.
func TestHoursKeepToTheClock(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	work := &Hours{From: 8 * time.Hour, To: 18 * time.Hour, Zone: berlin}
	for when, want := range map[string]bool{
		"2026-10-25 06:59 UTC": false, // 07:59, winter begins at 03:00
		"2026-10-25 07:00 UTC": true,
		"2026-10-25 16:59 UTC": true,
		"2026-10-25 17:00 UTC": false,
		"2026-10-24 06:00 UTC": true, // 08:00 in summer
	} {
		if got := work.include(at(t, when)); got != want {
			t.Errorf("%s: within the hours is %t", when, got)
		}
	}
}

func TestPauseGrowsAndIsBounded(t *testing.T) {
	for attempts := range 70 {
		most := maxPause
		if attempts <= 8 {
			most = min(firstPause<<max(attempts-1, 0), maxPause)
		}
		if got := pause(attempts); got < most/2 || got > most {
			t.Errorf("after %d attempts: %s, want %s to %s", attempts, got, most/2, most)
		}
	}
}
