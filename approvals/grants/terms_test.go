package grants_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/approvalstest"
	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/approvals/grants"
)

// Finding 29: "always" had another meaning on each channel. The defaults are the same for
// all of them now: the exact call, this session, 8 hours.
func TestFinding29_AlwaysIsThisCallInThisSessionForEightHours(t *testing.T) {
	now := time.Date(2026, 7, 1, 9, 0, 0, 0, time.UTC)
	later := now.Add(30 * 24 * time.Hour)
	eight := now.Add(8 * time.Hour)
	exactly := []string{"bash(npm run lint)", "bash(cat x)"}
	for name, c := range map[string]struct {
		session string
		scopes  []approvals.GrantScope
		d       approvals.Decision
		want    approvals.Grant
	}{
		"nothing is named":            {session: "s", want: approvals.Grant{Patterns: exactly, Scope: approvals.GrantSession, ExpiresAt: &eight}},
		"a session that is not known": {want: approvals.Grant{Patterns: exactly, Scope: approvals.GrantAgent, ExpiresAt: &eight}},
		"a rule permits wider ones only": {
			session: "s", scopes: []approvals.GrantScope{approvals.GrantTenant, approvals.GrantUser},
			want: approvals.Grant{Patterns: exactly, Scope: approvals.GrantUser, ExpiresAt: &eight},
		},
		"all is named": {
			session: "s", d: approvals.Decision{Patterns: []string{"bash(npm run *)"}, Scope: approvals.GrantTenant, GrantExpiresAt: &later},
			want: approvals.Grant{Patterns: []string{"bash(npm run *)"}, Scope: approvals.GrantTenant, ExpiresAt: &later},
		},
		"no end is named": {
			session: "s", d: approvals.Decision{GrantExpiresAt: approvals.NeverExpires()},
			want: approvals.Grant{Patterns: exactly, Scope: approvals.GrantSession},
		},
	} {
		t.Run(name, func(t *testing.T) {
			clock := func() time.Time { return now }
			s := approvalstest.OpenStore()
			book, _ := approvalstest.RunGrants(t, grants.Options{Store: s, Now: clock})
			g := gate.New(gate.Options{Store: s, Grants: book, Now: clock})
			r := approvalstest.Rememberable("bash")
			r.SessionID, r.RememberScopes = c.session, c.scopes
			r.SuggestedPatterns = []string{exactly[0], "bash(npm run *)", exactly[1]}
			id := approvalstest.Open(t, g, r).Requests()[0].ID
			c.d.RequestID, c.d.Action, c.d.ReviewerID = id, approvals.ActionAllowAlways, "rita"
			if _, err := g.Decide(t.Context(), c.d); err != nil {
				t.Fatal(err)
			}
			approvalstest.Eventually(t, "the grant is there", func() bool { return len(book.Grants(approvals.GrantFilter{}).Items) == 1 })
			grant := book.Grants(approvals.GrantFilter{}).Items[0]
			got := approvals.Grant{Patterns: grant.Patterns, Scope: grant.Scope, ExpiresAt: grant.ExpiresAt}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A request contains the default terms of its grant, so that every channel shows the same
// terms before a decision.
func TestFinding29_RequestsCarryWhatAlwaysMeans(t *testing.T) {
	g := approvalstest.RunGate(t, gate.Options{Store: approvalstest.OpenStore()})
	r := approvalstest.Rememberable("bash")
	r.SessionID, r.SuggestedPatterns = "s", []string{"bash(npm run lint)", "bash(npm run *)"}
	once := approvalstest.Request("bash")
	quorum := r
	quorum.RequiredApprovals = 2
	requests := approvalstest.Open(t, g, r, once, quorum).Requests()
	want := &approvals.GrantTerms{Patterns: []string{"bash(npm run lint)"}, Scope: approvals.GrantSession, Expires: "8h0m0s"}
	if diff := cmp.Diff(want, requests[0].Details.Remember); diff != "" {
		t.Error(diff)
	}
	if requests[1].Details.Remember != nil || requests[2].Details.Remember != nil {
		t.Errorf("requests without remembered decisions have terms: %+v, %+v", requests[1].Details.Remember, requests[2].Details.Remember)
	}
}

// The end of a grant is a time or "never"; without an end the default holds.
func TestFinding29_NeverIsWrittenOut(t *testing.T) {
	for text, want := range map[string]*time.Time{
		`{"action":"allow_always"}`:                                           nil,
		`{"action":"allow_always","grant_expires_at":null}`:                   nil,
		`{"action":"allow_always","grant_expires_at":"never"}`:                approvals.NeverExpires(),
		`{"action":"allow_always","grant_expires_at":"2026-07-01T09:00:00Z"}`: new(time.Date(2026, 7, 1, 9, 0, 0, 0, time.UTC)),
	} {
		d, err := approvals.ParseDecision([]byte(text))
		if err != nil || !cmp.Equal(d.GrantExpiresAt, want) {
			t.Errorf("%s: %v, %v", text, d.GrantExpiresAt, err)
		}
	}
	for _, text := range []string{`"soon"`, `""`, `5`, `{}`} {
		if d, err := approvals.ParseDecision([]byte(`{"action":"allow_always","grant_expires_at":` + text + `}`)); err == nil {
			t.Errorf("%s is accepted: %v", text, d.GrantExpiresAt)
		}
	}
}
