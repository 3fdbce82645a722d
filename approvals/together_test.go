package approvals_test

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
)

// joint is a call that may be answered together with others.
func joint(change func(*approvals.Request)) approvals.Request {
	r := approvals.Request{
		ID: "01A", Kind: approvals.KindPermission, Status: approvals.StatusPending, Principal: approvals.Principal{Tenant: "acme", User: "ann", Agent: "coder"},
		SessionID: "s", RunID: "r", RiskLevel: approvals.RiskMedium, Rule: "default", RequiredApprovals: 1, OnTimeout: approvals.OnTimeoutDeny,
		Effects: []approvals.Effect{{Kind: approvals.EffectWrite, Target: "a.go", Place: approvals.PlaceWorkspace}},
		Details: approvals.Details{ByDefault: true},
	}
	if change != nil {
		change(&r)
	}
	return r
}

// TestTogetherKey: which call is part of one question with another one, of itself, or with calls like it only.
func TestTogetherKey(t *testing.T) {
	const same, alone, apart = "same", "alone", "apart"
	for name, tt := range map[string]struct {
		change func(*approvals.Request)
		want   string
	}{
		"another call":    {func(r *approvals.Request) { r.ID, r.TurnID, r.ToolName = "01B", "t2", "bash" }, same},
		"other effects":   {func(r *approvals.Request) { r.Effects[0].Kind = approvals.EffectCheck }, same},
		"another default": {func(r *approvals.Request) { r.Rule = "tool bash (policy.yaml:4)" }, same},
		"the flag of a tainted run": {func(r *approvals.Request) {
			r.Details.Tainted, r.Details.Flags = "x", []string{approvals.TaintFlag("x")}
		}, apart},
		"another run":                   {func(r *approvals.Request) { r.RunID = "r2" }, apart},
		"another session":               {func(r *approvals.Request) { r.SessionID = "s2" }, apart},
		"another user":                  {func(r *approvals.Request) { r.Principal.User = "bob" }, apart},
		"an ask rule":                   {func(r *approvals.Request) { r.Details.ByDefault, r.Rule = false, "policy.yaml:4" }, apart},
		"a rule named like the default": {func(r *approvals.Request) { r.Details.ByDefault = false }, apart},
		"low risk":                      {func(r *approvals.Request) { r.RiskLevel = approvals.RiskLow }, apart},
		"high risk":                     {func(r *approvals.Request) { r.RiskLevel = approvals.RiskHigh }, apart},
		"other reviewers":               {func(r *approvals.Request) { r.Reviewers = []string{"finance"} }, apart},
		"silence approves":              {func(r *approvals.Request) { r.OnTimeout = approvals.OnTimeoutApprove }, apart},
		"critical":                      {func(r *approvals.Request) { r.RiskLevel = approvals.RiskCritical }, alone},
		"of no known risk":              {func(r *approvals.Request) { r.RiskLevel = "" }, alone},
		"of a newer risk":               {func(r *approvals.Request) { r.RiskLevel = "extreme" }, alone},
		"a result":                      {func(r *approvals.Request) { r.Kind = approvals.KindResult }, alone},
		"a question":                    {func(r *approvals.Request) { r.Kind = approvals.KindClarification }, alone},
		"of no kind":                    {func(r *approvals.Request) { r.Kind = "" }, alone},
		"a quorum":                      {func(r *approvals.Request) { r.RequiredApprovals = 2 }, alone},
		"demands":                       {func(r *approvals.Request) { r.Demands = []approvals.Demand{{}} }, alone},
		"a decision":                    {func(r *approvals.Request) { r.Decisions = []approvals.Decision{{}} }, alone},
		"a text to type":                {func(r *approvals.Request) { r.Details.Confirm = "a.go" }, alone},
		"a passkey":                     {func(r *approvals.Request) { r.Details.Passkey = true }, alone},
		"a secret":                      {func(r *approvals.Request) { r.Details.Secrets = []string{"TOKEN"} }, alone},
		"a doubt":                       {func(r *approvals.Request) { r.Details.Doubts = []string{"two names"} }, alone},
		"a flag":                        {func(r *approvals.Request) { r.Details.Flags = []string{"May match the deny pattern x."} }, alone},
		"a flag beside the taint": {func(r *approvals.Request) {
			r.Details.Tainted, r.Details.Flags = "x", []string{approvals.TaintFlag("x"), "May match the deny pattern x."}
		}, alone},
		"a forged flag of taint": {func(r *approvals.Request) { r.Details.Flags = []string{approvals.TaintFlag("x")} }, alone},
		"no known effects":       {func(r *approvals.Request) { r.Effects = nil }, alone},
		"unknown effects": {func(r *approvals.Request) {
			r.Effects = append(r.Effects, approvals.Effect{Kind: approvals.EffectUnknown})
		}, alone},
		"effects of a newer kind": {func(r *approvals.Request) { r.Effects[0].Kind = "new" }, alone},
		"of no run":               {func(r *approvals.Request) { r.RunID = "" }, alone},
		"ended":                   {func(r *approvals.Request) { r.Status = approvals.StatusDenied }, alone},
	} {
		first, one := joint(nil), joint(tt.change)
		twin := joint(tt.change)
		key := one.TogetherKey()
		got := apart
		switch {
		case key == "":
			got = alone
		case key == first.TogetherKey():
			got = same
		}
		if got != tt.want || key != twin.TogetherKey() {
			t.Errorf("%s: it is %s, want %s", name, got, tt.want)
		}
	}
}

// TestMoreThanEditsIsJoinedWithItsLike: calls at high risk, those that do more than edits and checks, and scripts are of one
// question only if they do the same.
func TestMoreThanEditsIsJoinedWithItsLike(t *testing.T) {
	const high, medium = approvals.RiskHigh, approvals.RiskMedium
	of := func(risk approvals.Risk, does ...string) string {
		r := joint(func(r *approvals.Request) {
			r.RiskLevel, r.Effects = risk, nil
			for _, one := range does {
				kind, target, _ := strings.Cut(one, " ")
				r.Effects = append(r.Effects, approvals.Effect{Kind: approvals.EffectKind(kind), Target: target})
			}
		})
		return r.TogetherKey()
	}
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{of(high, "send a"), of(high, "send a", "send a"), true},
		{of(high, "send a"), of(high, "send a", "send b"), false},
		{of(high, "send origin"), of(high, "send evil"), false},
		{of(high, "run a_test.py"), of(high, "run evil.py"), false},
		{of(medium, "run a"), of(medium, "run b"), false},
		{of(medium, "check npm run test"), of(medium, "check npm run wipe"), false},
		{of(medium, "check make"), of(medium, "check just wipe-db"), false},
		{of(medium, "check make"), of(medium, "check npm run test:wipe"), false},
		{of(medium, "write"), of(medium, "check npm run test:unit", "check go test", "check npx jest", "check cargo check"), true},
		{of(high, "install", "send"), of(high, "send", "install"), true},
		{of(high, "send"), of(high, "install"), false},
		{of(high, "write"), of(high, "write", "read"), false},
		{of(medium, "write"), of(medium, "check make", "read", "fetch", "none"), true},
		{of(medium, "write"), of(medium, "fetch", "write"), false},
		{of(medium, "write"), of(medium, "fetch"), true},
		{of(medium, "write"), of(medium, "install"), false},
		{of(medium, "install a"), of(medium, "install b"), true},
		{of(medium, "check ./deploy.sh"), of(medium, "check make"), false},
		{of(medium, `check .\deploy`), of(medium, "check make"), false},
		{of(medium, "check ./deploy.sh"), of(medium, "check ./test.sh"), false},
		{of(medium, "check ./test.sh"), of(medium, "check ./test.sh", "write"), true},
	} {
		if tt.a == "" || tt.b == "" || (tt.a == tt.b) != tt.same {
			t.Errorf("%+v", tt)
		}
	}
}

func TestJointQuestions(t *testing.T) {
	r := func(id, together string, status approvals.Status) approvals.Request {
		return approvals.Request{ID: id, Together: together, Status: status}
	}
	const pending = approvals.StatusPending
	text := ""
	for _, question := range approvals.JointQuestions([]approvals.Request{
		r("a", "x", pending), r("b", "", pending), r("c", "y", pending), r("d", "x", pending), r("e", "", pending), r("f", "x", approvals.StatusDenied), r("g", "y", pending),
	}) {
		for _, one := range question {
			text += one.ID
		}
		text += " "
	}
	if text != "ad b cg e " {
		t.Errorf("the questions are %s", text)
	}
}
