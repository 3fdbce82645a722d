package console

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/problem"
)

// scriptedGrants returns the results of a test, and records its inputs.
type scriptedGrants struct {
	filter  approvals.GrantFilter
	added   approvals.Grant
	revoked []string
	err     error
}

func (g *scriptedGrants) Grant(id string) (approvals.Grant, error) {
	return approvals.Grant{ID: id}, g.err
}

func (g *scriptedGrants) Grants(f approvals.GrantFilter) approvals.GrantPage {
	g.filter = f
	return approvals.GrantPage{Items: []approvals.Grant{{ID: "G", Patterns: []string{"bash(a && <b>)"}}}, NextCursor: "G"}
}

func (g *scriptedGrants) Add(_ context.Context, one approvals.Grant) (approvals.Grant, error) {
	g.added = one
	return one, g.err
}

func (g *scriptedGrants) Preview(_ context.Context, one approvals.Grant) (approvals.GrantPreview, error) {
	return approvals.GrantPreview{Grant: one, Calls: 2, Covered: 1, Items: []approvals.GrantCall{{ToolName: "bash", Arguments: []byte(`{"a":"<\u0041>"}`)}}}, g.err
}

func (g *scriptedGrants) Suggestions(_ context.Context, r *approvals.Request) ([]approvals.Suggestion, error) {
	return []approvals.Suggestion{{Pattern: "bash(go vet:*)", Allows: r.ID, Covered: 1, Of: 2}}, g.err
}

func (g *scriptedGrants) Revoke(_ context.Context, id, reviewer, channel string) (approvals.Grant, error) {
	g.revoked = []string{id, reviewer, channel}
	return approvals.Grant{ID: id}, g.err
}

func startWithGrants(t *testing.T) (*scriptedGrants, string) {
	t.Helper()
	grants := &scriptedGrants{}
	return grants, start(t, &scriptedGate{}, func(o *Options) {
		o.Grants = grants
		o.Templates = []approvals.GrantTemplate{{Name: "node", Title: "Run scripts", Effect: approvals.GrantAllow, Patterns: []string{"bash(npm run *)"}, Scope: approvals.GrantUser, Expires: "8h0m0s"}}
	})
}

func TestListGrants(t *testing.T) {
	grants, url := startWithGrants(t)
	_, _, body := ask(t, "GET", url+"/api/v1/grants?tenant=a&user=b&agent=c&session_id=d&tool=e&expired=true&cursor=01ARZ3NDEKTSV4RRFFQ69G5FAV&limit=7", "")
	want := approvals.GrantFilter{Tenant: "a", User: "b", Agent: "c", SessionID: "d", Tool: "e", Expired: true, Cursor: "01ARZ3NDEKTSV4RRFFQ69G5FAV", Limit: 7}
	if diff := cmp.Diff(want, grants.filter); diff != "" {
		t.Error(diff)
	}
	for _, part := range []string{`"next_cursor":"G"`, `"patterns":["bash(a && <b>)"]`, `"uses":0`} {
		if !strings.Contains(body, part) {
			t.Errorf("the list lacks %s: %s", part, body)
		}
	}
	for _, query := range []string{"tennant=a", "expired=maybe", "cursor=x", "limit=0", "limit=501", "user=a&user=b", "a=%zz"} {
		status, header, body := ask(t, "GET", url+"/api/v1/grants?"+query, "")
		wantProblem(t, status, header, body, 400, problem.CodeBadRequest)
	}
	if _, _, body := ask(t, "GET", url+"/api/v1/grant-templates", ""); !strings.Contains(body, `{"items":[{"name":"node","title":"Run scripts","effect":"allow","patterns":["bash(npm run *)"],"scope":"user","expires":"8h0m0s"}]`) {
		t.Errorf("the templates are %s", body)
	}
}

func TestWriteGrants(t *testing.T) {
	grants, url := startWithGrants(t)
	const body = `{"effect":"allow","scope":"session","principal":{"tenant":"a","user":"b"},"session_id":"s","patterns":["bash(ls)"],"note":"n","expires_at":"2999-01-01T00:00:00Z"}`
	if status, _, answer := ask(t, "POST", url+"/api/v1/grants", body); status != 200 || !strings.Contains(answer, `"granted_by":"local"`) {
		t.Errorf("answer is %d %s", status, answer)
	}
	ends := time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC)
	want := approvals.Grant{
		Effect: approvals.GrantAllow, Scope: approvals.GrantSession, Principal: approvals.Principal{Tenant: "a", User: "b"}, SessionID: "s",
		Patterns: []string{"bash(ls)"}, Note: "n", ExpiresAt: &ends, GrantedBy: "local", Channel: "rest",
	}
	if diff := cmp.Diff(want, grants.added); diff != "" {
		t.Error(diff)
	}
	if status, _, answer := ask(t, "POST", url+"/api/v1/grants/preview", body); status != 200 || !strings.Contains(answer, `"arguments":{"a":"<\u0041>"}`) || !strings.Contains(answer, `"covered":1`) {
		t.Errorf("the preview is %d %s", status, answer)
	}
	if status, _, _ := ask(t, "DELETE", url+"/api/v1/grants/G1", ""); status != 200 || !cmp.Equal(grants.revoked, []string{"G1", "local", "rest"}) {
		t.Errorf("revoked: %d %v", status, grants.revoked)
	}
	for _, bad := range []string{``, `{"effect":"allow","granted_by":"rita"}`, `{"uses":7}`, `{"effect":"allow","effect":"deny"}`} {
		status, header, answer := ask(t, "POST", url+"/api/v1/grants", bad)
		wantProblem(t, status, header, answer, 422, problem.CodeInvalid)
	}
	grants.err = &approvals.InvalidError{Field: "patterns", Reason: "too wide"}
	status, header, answer := ask(t, "POST", url+"/api/v1/grants", body)
	if p := wantProblem(t, status, header, answer, 422, problem.CodeInvalid); p.Field != "patterns" {
		t.Errorf("the problem is %+v", p)
	}
	grants.err = approvals.ErrUnknownGrant
	for _, method := range []string{"GET", "DELETE"} {
		status, header, answer := ask(t, method, url+"/api/v1/grants/G1", "")
		wantProblem(t, status, header, answer, 404, problem.CodeNotFound)
	}
}

// Methods of one path have their own handlers, also where {id} could be a name.
func TestMethodsOfGrants(t *testing.T) {
	_, url := startWithGrants(t)
	status, header, _ := ask(t, "PUT", url+"/api/v1/grants", `{}`)
	if status != http.StatusMethodNotAllowed || header.Get("Allow") != "GET, POST" {
		t.Errorf("PUT answers %d, Allow %q", status, header.Get("Allow"))
	}
	status, header, _ = ask(t, "GET", url+"/api/v1/grants/preview", "")
	if status != http.StatusMethodNotAllowed || header.Get("Allow") != "POST" {
		t.Errorf("GET of preview answers %d, Allow %q", status, header.Get("Allow"))
	}
	if status, _, _ = ask(t, "HEAD", url+"/api/v1/grants", ""); status != 200 {
		t.Errorf("HEAD answers %d", status)
	}
	page := map[string]string{"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"}
	for name, value := range page {
		if status, _, _ := ask(t, "DELETE", url+"/api/v1/grants/G1", "", name, value); status != http.StatusForbidden {
			t.Errorf("a page of another site revokes: %d", status)
		}
	}
}
