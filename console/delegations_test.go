package console

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/console/problem"
)

func (g *scriptedGate) Delegate(_ context.Context, d approvals.Delegation) (approvals.Delegation, error) {
	g.delegation = d
	return d, g.err
}

func (g *scriptedGate) Delegation(context.Context, string) (approvals.Delegation, error) {
	return g.delegation, g.err
}

func (g *scriptedGate) Delegations() []approvals.Delegation {
	return []approvals.Delegation{g.delegation}
}

func (g *scriptedGate) RevokeDelegation(_ context.Context, _, by string) (approvals.Delegation, error) {
	g.delegation.RevokedBy = by
	return g.delegation, g.err
}

// GET /api/v1/me lists the delegators of a reviewer with their groups.
func TestMeListsDelegators(t *testing.T) {
	gate := &scriptedGate{}
	url, tokens := startStaffed(t, gate)
	gate.delegation = approvals.Delegation{From: "ada", To: "rob"}
	for role, want := range map[reviewers.Role]string{
		reviewers.RoleReviewer: `{"decides_for":[{"groups":["night"],"name":"ada"}],"groups":["night"],"name":"rob","role":"reviewer","self_approval":false,"user":"rob","via":"token"}`,
		reviewers.RoleAdmin:    `{"groups":["night"],"name":"ada","role":"admin","self_approval":false,"user":"ada","via":"token"}`,
	} {
		if _, _, body := ask(t, "GET", url+"/api/v1/me", "", "Authorization", "Bearer "+tokens[role]); !sameJSON(t, body, want) {
			t.Errorf("%s is %s", role, body)
		}
	}
}

// Reviewers delegate for themselves, admins for everyone.
func TestDelegate(t *testing.T) {
	gate := &scriptedGate{}
	url, tokens := startStaffed(t, gate)
	as := func(role reviewers.Role) []string { return []string{"Authorization", "Bearer " + tokens[role]} }
	const path = "/api/v1/delegations"
	until := time.Date(2199, 1, 1, 0, 0, 0, 0, time.UTC)
	status, _, body := ask(t, "POST", url+path, `{"to":"ada","until":"2199-01-01T00:00:00Z","note":"n"}`, as(reviewers.RoleReviewer)...)
	if want := (approvals.Delegation{From: "rob", To: "ada", Until: until, Note: "n", CreatedBy: "rob", CreatorUser: "rob"}); status != 200 || cmp.Diff(want, gate.delegation) != "" {
		t.Errorf("answer is %d %s, asked %+v", status, body, gate.delegation)
	}
	status, _, body = ask(t, "POST", url+path, `{"from":"rob","to":"ada","until":"2199-01-01T00:00:00Z"}`, as(reviewers.RoleAdmin)...)
	if status != 200 || gate.delegation.From != "rob" || gate.delegation.CreatedBy != "ada" {
		t.Errorf("answer is %d %s, asked %+v", status, body, gate.delegation)
	}
	before := gate.delegation
	for _, refused := range []struct {
		role   reviewers.Role
		body   string
		status int
		code   string
	}{
		{reviewers.RoleViewer, `{"to":"ada","until":"2199-01-01T00:00:00Z"}`, 403, problem.CodeForbidden},
		{reviewers.RoleReviewer, `{"from":"ada","to":"rob","until":"2199-01-01T00:00:00Z"}`, 403, problem.CodeForbidden},
		{reviewers.RoleReviewer, `{"to":"vic","until":"2199-01-01T00:00:00Z"}`, 422, problem.CodeInvalid},
		{reviewers.RoleReviewer, `{"to":"ada","until":"tomorrow"}`, 422, problem.CodeInvalid},
		{reviewers.RoleReviewer, `{"to":"ada","until":"2199-01-01T00:00:00Z","created_by":"x"}`, 422, problem.CodeInvalid},
	} {
		status, header, body := ask(t, "POST", url+path, refused.body, as(refused.role)...)
		wantProblem(t, status, header, body, refused.status, refused.code)
	}
	if diff := cmp.Diff(before, gate.delegation); diff != "" {
		t.Errorf("the gate was asked: %s", diff)
	}

	gate.delegation = approvals.Delegation{ID: "01A", From: "ada", To: "rob"}
	status, header, body := ask(t, "DELETE", url+path+"/01A", "", as(reviewers.RoleReviewer)...)
	wantProblem(t, status, header, body, 403, problem.CodeForbidden)
	if status, _, body = ask(t, "DELETE", url+path+"/01A", "", as(reviewers.RoleAdmin)...); status != 200 || gate.delegation.RevokedBy != "ada" {
		t.Errorf("answer is %d %s", status, body)
	}
	gate.err = approvals.ErrUnknownDelegation
	for _, id := range []string{"01B", "a.b"} {
		status, header, body = ask(t, "DELETE", url+path+"/"+id, "", as(reviewers.RoleAdmin)...)
		wantProblem(t, status, header, body, 404, problem.CodeNotFound)
	}

	local := start(t, &scriptedGate{}, nil)
	status, header, body = ask(t, "POST", local+path, `{"to":"ada","until":"2199-01-01T00:00:00Z"}`)
	wantProblem(t, status, header, body, 400, problem.CodeBadRequest)
}
