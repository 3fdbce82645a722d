package approvals_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/approvalstest"
)

func TestDefaultGrant(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*approvals.Request)
		scope  approvals.GrantScope // "": there are no terms
	}{
		"a request":                   {func(*approvals.Request) {}, approvals.GrantSession},
		"without a session":           {func(r *approvals.Request) { r.SessionID = "" }, approvals.GrantAgent},
		"with scopes of its rules":    {func(r *approvals.Request) { r.RememberScopes = []approvals.GrantScope{"tenant", "user"} }, approvals.GrantUser},
		"without a permitted scope":   {func(r *approvals.Request) { r.SessionID, r.RememberScopes = "", []approvals.GrantScope{"session"} }, ""},
		"that is not remembered":      {func(r *approvals.Request) { r.AllowRemember = false }, ""},
		"that needs two approvals":    {func(r *approvals.Request) { r.RequiredApprovals = 2 }, ""},
		"that needs one approval too": {func(r *approvals.Request) { r.RequiredApprovals = 1 }, approvals.GrantSession},
	} {
		r := approvalstest.Rememberable("bash")
		r.SuggestedPatterns = []string{"bash(ls -l)", "bash(ls *)"}
		tt.change(&r)
		terms := r.DefaultGrant()
		switch {
		case terms == nil && tt.scope == "":
		case terms == nil || terms.Scope != tt.scope || !slices.Equal(terms.Patterns, []string{"bash(ls -l)"}) || terms.Expires != "8h0m0s":
			t.Errorf("%s: %+v, want the scope %q", name, terms, tt.scope)
		}
	}
}

func TestFillGrant(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	later, end := now.Add(time.Minute), now.Add(approvals.DefaultGrantTime)
	r := approvalstest.Rememberable("bash")
	r.SuggestedPatterns = []string{"bash(ls)"}
	for name, tt := range map[string]struct {
		given, want approvals.Decision
		refused     bool
	}{
		"nothing":            {given: approvals.Decision{}, want: approvals.Decision{Patterns: []string{"bash(ls)"}, Scope: "session", GrantExpiresAt: &end}},
		"all":                {given: approvals.Decision{Patterns: []string{"x"}, Scope: "user", GrantExpiresAt: &later}, want: approvals.Decision{Patterns: []string{"x"}, Scope: "user", GrantExpiresAt: &later}},
		"no end":             {given: approvals.Decision{GrantExpiresAt: approvals.NeverExpires()}, want: approvals.Decision{Patterns: []string{"bash(ls)"}, Scope: "session"}},
		"a template":         {given: approvals.Decision{Template: "t"}, want: approvals.Decision{Template: "t"}},
		"a template, no end": {given: approvals.Decision{Template: "t", GrantExpiresAt: approvals.NeverExpires()}, refused: true},
	} {
		d := tt.given
		err := d.FillGrant(&r, now)
		if tt.refused {
			if err == nil {
				t.Errorf("%s: accepted", name)
			}
			continue
		}
		sameEnd := (d.GrantExpiresAt == nil) == (tt.want.GrantExpiresAt == nil) && (d.GrantExpiresAt == nil || d.GrantExpiresAt.Equal(*tt.want.GrantExpiresAt))
		if err != nil || !slices.Equal(d.Patterns, tt.want.Patterns) || d.Scope != tt.want.Scope || !sameEnd {
			t.Errorf("%s: %+v, %v; want %+v", name, d, err, tt.want)
		}
	}
}

func TestGrantEnd(t *testing.T) {
	for _, text := range []string{`"never"`, `"2026-01-02T03:04:05Z"`} {
		var end approvals.GrantEnd
		err := json.Unmarshal([]byte(text), &end)
		if again, encodeErr := json.Marshal(end); err != nil || encodeErr != nil || string(again) != text || end.Time.IsZero() != (text == `"never"`) {
			t.Errorf("%s is decoded as %s and encoded as %s: %v, %v", text, end.Time, again, err, encodeErr)
		}
	}
	if err := json.Unmarshal([]byte(`"tomorrow"`), new(approvals.GrantEnd)); err == nil {
		t.Error("tomorrow is accepted")
	}
}

func TestWhose(t *testing.T) {
	for scope, want := range map[approvals.GrantScope][2]string{
		approvals.GrantSession: {"this session", "this session"},
		approvals.GrantAgent:   {"the agent coder of the user ann", "each agent without a name without a user"},
		approvals.GrantUser:    {"every agent of the user ann", "every agent without a user"},
		approvals.GrantTenant:  {"all agents of the tenant acme", "all agents of the tenant acme"},
	} {
		known := approvalstest.Request("x")
		unknown := approvals.Request{Principal: approvals.Principal{Tenant: "acme"}}
		if got := [2]string{known.Whose(scope), unknown.Whose(scope)}; got != want {
			t.Errorf("%s: %q, want %q", scope, got, want)
		}
	}
}
