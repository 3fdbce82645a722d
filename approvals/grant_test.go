package approvals_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/approvalstest"
)

func TestCoversPrincipal(t *testing.T) {
	ann := approvals.Principal{Tenant: "acme", User: "ann", Agent: "coder"}
	for name, tt := range map[string]struct {
		who     approvals.Principal
		session string
		want    []approvals.GrantScope // that cover the call
	}{
		"the same session": {ann, "s1", []approvals.GrantScope{"session", "agent", "user", "tenant"}},
		"another session":  {ann, "s2", []approvals.GrantScope{"agent", "user", "tenant"}},
		"another agent":    {approvals.Principal{Tenant: "acme", User: "ann", Agent: "mail"}, "s1", []approvals.GrantScope{"user", "tenant"}},
		"another user":     {approvals.Principal{Tenant: "acme", User: "bob", Agent: "coder"}, "s1", []approvals.GrantScope{"tenant"}},
		"no user":          {approvals.Principal{Tenant: "acme", Agent: "coder"}, "s1", []approvals.GrantScope{"tenant"}},
		"another tenant":   {approvals.Principal{Tenant: "other", User: "ann", Agent: "coder"}, "s1", nil},
	} {
		for _, scope := range approvals.GrantScopes() {
			g := approvals.Grant{Scope: scope, Principal: ann, SessionID: "s1"}
			g.Narrow()
			if got := g.CoversPrincipal(tt.who, tt.session); got != slices.Contains(tt.want, scope) {
				t.Errorf("%s: a grant of the scope %s covers it: %t", name, scope, got)
			}
		}
	}
}

func TestCheckGrants(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, tt := range map[string]struct {
		change func(*approvals.Grant)
		field  string // of the error, "" for none
	}{
		"a grant":                 {func(*approvals.Grant) {}, ""},
		"no effect":               {func(g *approvals.Grant) { g.Effect = "" }, "effect"},
		"an unknown effect":       {func(g *approvals.Grant) { g.Effect = "perhaps" }, "effect"},
		"an unknown scope":        {func(g *approvals.Grant) { g.Scope = "world" }, "scope"},
		"no session":              {func(g *approvals.Grant) { g.Scope = approvals.GrantSession }, "session_id"},
		"no tenant":               {func(g *approvals.Grant) { g.Principal.Tenant = "" }, "principal"},
		"an end at this time":     {func(g *approvals.Grant) { g.ExpiresAt = &now }, "expires_at"},
		"no patterns":             {func(g *approvals.Grant) { g.Patterns = nil }, "patterns"},
		"100 patterns":            {func(g *approvals.Grant) { g.Patterns = slices.Repeat([]string{"x"}, 100) }, ""},
		"101 patterns":            {func(g *approvals.Grant) { g.Patterns = slices.Repeat([]string{"x"}, 101) }, "patterns"},
		"a pattern of 4 KiB":      {func(g *approvals.Grant) { g.Patterns = []string{strings.Repeat("x", 4<<10)} }, ""},
		"a pattern above 4 KiB":   {func(g *approvals.Grant) { g.Patterns = []string{strings.Repeat("x", 4<<10+1)} }, "patterns"},
		"patterns above 64 KiB":   {func(g *approvals.Grant) { g.Patterns = slices.Repeat([]string{strings.Repeat("x", 4<<10)}, 17) }, "patterns"},
		"a note above 64 KiB":     {func(g *approvals.Grant) { g.Note = strings.Repeat("x", 64<<10+1) }, "note"},
		"a name above 64 KiB":     {func(g *approvals.Grant) { g.Principal.Agent = strings.Repeat("x", 64<<10) }, "principal"},
		"a session above 64 KiB":  {func(g *approvals.Grant) { g.SessionID = strings.Repeat("x", 64<<10+1) }, "session_id"},
		"an end a second from it": {func(g *approvals.Grant) { at := now.Add(time.Second); g.ExpiresAt = &at }, ""},
	} {
		g := approvalstest.Grant("x")
		g.Scope = approvals.GrantUser
		tt.change(&g)
		err := g.CheckGiven(now)
		if err == nil {
			err = g.CheckWhole()
		}
		field := ""
		if invalid := (*approvals.InvalidError)(nil); errors.As(err, &invalid) {
			field = invalid.Field
		}
		if field != tt.field || (err == nil) != (tt.field == "") {
			t.Errorf("%s: %v, want an error of %q", name, err, tt.field)
		}
	}
}

func TestGrantFilter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	g := approvalstest.Grant("x")
	g.ID, g.SessionID, g.ExpiresAt = "B", "s1", &now
	before := now.Add(-time.Second)
	for _, tt := range []struct {
		filter approvals.GrantFilter
		at     time.Time
		want   bool
	}{
		{approvals.GrantFilter{}, before, true},
		{approvals.GrantFilter{}, now, false},
		{approvals.GrantFilter{Expired: true}, now, true},
		{approvals.GrantFilter{Tenant: "acme", User: "ann", Agent: "coder", SessionID: "s1", Cursor: "C"}, before, true},
		{approvals.GrantFilter{Tenant: "other"}, before, false},
		{approvals.GrantFilter{User: "bob"}, before, false},
		{approvals.GrantFilter{Agent: "mail"}, before, false},
		{approvals.GrantFilter{SessionID: "s2"}, before, false},
		{approvals.GrantFilter{Cursor: "B"}, before, false},
	} {
		if got := tt.filter.Matches(&g, tt.at); got != tt.want {
			t.Errorf("%+v at %s: %t", tt.filter, tt.at, got)
		}
	}
}
