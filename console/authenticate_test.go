package console

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/console/problem"
)

// staff are one reviewer of each role; tokens are theirs.
func staff(t *testing.T) (directory *reviewers.Directory, tokens map[reviewers.Role]string) {
	t.Helper()
	tokens = map[reviewers.Role]string{}
	var entries []reviewers.Entry
	for name, role := range map[string]reviewers.Role{"vic": reviewers.RoleViewer, "rob": reviewers.RoleReviewer, "ada": reviewers.RoleAdmin} {
		token, hash := reviewers.NewToken()
		tokens[role] = token
		entries = append(entries, reviewers.Entry{Reviewer: reviewers.Reviewer{Name: name, Role: role, Groups: []string{"night"}}, TokenSHA256: hash})
	}
	directory, err := reviewers.NewDirectory(entries)
	if err != nil {
		t.Fatal(err)
	}
	return directory, tokens
}

// startStaffed is start with staff.
func startStaffed(t *testing.T, gate Gate) (url string, tokens map[reviewers.Role]string) {
	t.Helper()
	directory, tokens := staff(t)
	return start(t, gate, func(o *Options) { o.Reviewers = directory }), tokens
}

// Routes with data or decisions need a role: a new public route changes this list.
func TestEveryRouteOfTheAPIAsksWhoItIs(t *testing.T) {
	directory, _ := staff(t)
	c, err := New(Options{Listen: "127.0.0.1:0", Gate: &scriptedGate{}, Reviewers: directory})
	if err != nil {
		t.Fatal(err)
	}
	open := map[string]bool{
		"GET /api/v1/session": true, "POST /api/v1/session": true, "POST /api/v1/session/oidc": true, "POST /api/v1/session/oidc/code": true,
	}
	asked := 0
	for _, route := range c.handlers.routes() {
		if !strings.HasPrefix(route.path, "/api/") || open[route.method+" "+route.path] {
			continue
		}
		asked++
		request := httptest.NewRequest(route.method, "http://127.0.0.1"+strings.ReplaceAll(route.path, "{id}", "01A"), strings.NewReader("{}"))
		request.Header.Set("Content-Type", "application/json")
		recorder := httptest.NewRecorder()
		c.handler.ServeHTTP(recorder, request)
		wantProblem(t, recorder.Code, recorder.Header(), recorder.Body.String(), 401, problem.CodeUnauthenticated)
		if recorder.Header().Get("WWW-Authenticate") == "" {
			t.Errorf("%s %s answers without a way to authenticate", route.method, route.path)
		}
	}
	if asked < 8 {
		t.Errorf("only %d routes were tried", asked)
	}
}

func TestTokensOpenWhatTheirRoleMay(t *testing.T) {
	gate := &scriptedGate{}
	url, tokens := startStaffed(t, gate)
	for _, attempt := range []struct {
		method, path, body string
		needs              reviewers.Role
	}{
		{"GET", "/api/v1/requests", "", reviewers.RoleViewer},
		{"GET", "/api/v1/requests/01A", "", reviewers.RoleViewer},
		{"POST", "/api/v1/requests/01A/decision", `{"action":"approve","reviewer_id":"mallory"}`, reviewers.RoleReviewer},
		{"POST", "/api/v1/decisions", `{"decisions":[{"request_id":"01A","action":"deny"}]}`, reviewers.RoleReviewer},
		{"POST", "/api/v1/runs/r/signal", `{"action":"pause_run"}`, reviewers.RoleAdmin},
	} {
		for role, token := range tokens {
			gate.decision, gate.signal = approvals.Decision{}, approvals.Signal{}
			status, header, body := ask(t, attempt.method, url+attempt.path, attempt.body, "Authorization", "Bearer "+token)
			if role.Includes(attempt.needs) {
				if status != 200 {
					t.Errorf("%s %s as %s: %d %s", attempt.method, attempt.path, role, status, body)
				}
				continue
			}
			wantProblem(t, status, header, body, 403, problem.CodeForbidden)
			if gate.decision.Action != "" || gate.signal.Action != "" {
				t.Fatalf("%s %s as %s reached the gate", attempt.method, attempt.path, role)
			}
		}
	}
	status, _, body := ask(t, "POST", url+"/api/v1/requests/01A/decision", `{"action":"approve","reviewer_id":"mallory"}`, "Authorization", "bearer "+tokens[reviewers.RoleReviewer])
	if status != 200 || gate.decision.ReviewerID != "rob" {
		t.Errorf("the reviewer of the decision is %q (%d %s)", gate.decision.ReviewerID, status, body)
	}
}

func TestWrongTokensAreRefused(t *testing.T) {
	url, tokens := startStaffed(t, &scriptedGate{})
	admin := tokens[reviewers.RoleAdmin]
	for _, header := range []string{"Bearer ", "Bearer", "Bearer x" + admin, "Bearer " + admin[:20], "Basic " + admin, admin, ""} {
		status, headers, body := ask(t, "GET", url+"/api/v1/me", "", "Authorization", header)
		wantProblem(t, status, headers, body, 401, problem.CodeWrongToken)
		if strings.Contains(body, admin) {
			t.Error("the answer shows the token")
		}
	}
	// A wrong token is not made good by a session.
	page, _ := signIn(t, url, admin)
	status, headers, body := ask(t, "GET", url+"/api/v1/me", "", append(page, "Authorization", "Bearer wrong")...)
	wantProblem(t, status, headers, body, 401, problem.CodeWrongToken)
}

func TestMe(t *testing.T) {
	url, tokens := startStaffed(t, &scriptedGate{})
	status, _, body := ask(t, "GET", url+"/api/v1/me", "", "Authorization", "Bearer "+tokens[reviewers.RoleViewer])
	if want := `{"groups":["night"],"name":"vic","role":"viewer","self_approval":false,"user":"vic","via":"token"}`; status != 200 || !sameJSON(t, body, want) {
		t.Errorf("vic is %d %s", status, body)
	}
	local := start(t, &scriptedGate{}, nil)
	status, _, body = ask(t, "GET", local+"/api/v1/me", "")
	if want := `{"groups":["*"],"name":"local","role":"admin","self_approval":true,"user":"","via":"local"}`; status != 200 || !sameJSON(t, body, want) {
		t.Errorf("local is %d %s", status, body)
	}
}

// With reviewers the console may be reached from elsewhere, under any name.
func TestReviewersOpenTheConsoleToOthers(t *testing.T) {
	directory, tokens := staff(t)
	c, err := New(Options{Listen: "0.0.0.0:0", Gate: &scriptedGate{}, Reviewers: directory})
	if err != nil {
		t.Fatal(err)
	}
	request := httptest.NewRequest("GET", "http://heldcall.example/api/v1/me", http.NoBody)
	request.Header.Set("Authorization", "Bearer "+tokens[reviewers.RoleViewer])
	recorder := httptest.NewRecorder()
	c.handler.ServeHTTP(recorder, request)
	if recorder.Code != 200 {
		t.Errorf("another name answers %d %s", recorder.Code, recorder.Body)
	}
}
