package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/console/problem"
)

// signIn gives a token and returns what the page of a browser sends from then
// on, the cookie first, and the cookie as it was set.
func signIn(t *testing.T, url, token string) (page []string, cookie *http.Cookie) {
	t.Helper()
	status, headers, body := ask(t, "POST", url+"/api/v1/session", fmt.Sprintf(`{"token":%q}`, token))
	cookies := (&http.Response{Header: headers}).Cookies()
	if status != 200 || len(cookies) != 1 {
		t.Fatalf("sign-in answers %d %s with %d cookies", status, body, len(cookies))
	}
	var given struct{ Key string }
	if err := json.Unmarshal([]byte(body), &given); err != nil || given.Key == "" || strings.Contains(body, cookies[0].Value) {
		t.Fatalf("sign-in answers %s (%v)", body, err)
	}
	return []string{"Cookie", cookies[0].Name + "=" + cookies[0].Value, sessionKeyHeader, given.Key}, cookies[0]
}

func sameJSON(t *testing.T, got, want string) bool {
	t.Helper()
	var a, b any
	if json.Unmarshal([]byte(got), &a) != nil || json.Unmarshal([]byte(want), &b) != nil {
		return false
	}
	return reflect.DeepEqual(a, b)
}

func TestSignInAndOut(t *testing.T) {
	gate := &scriptedGate{}
	url, tokens := startStaffed(t, gate)
	if _, _, body := ask(t, "GET", url+"/api/v1/session", ""); !sameJSON(t, body, `{"methods":["token"]}`) {
		t.Errorf("one signs in by %s", body)
	}
	page, cookie := signIn(t, url, tokens[reviewers.RoleReviewer])
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "/" || cookie.Secure || time.Until(cookie.Expires) < 11*time.Hour {
		t.Errorf("the cookie is %+v", cookie)
	}
	if strings.Contains(strings.Join(page, " "), tokens[reviewers.RoleReviewer]) {
		t.Error("the cookie or the key is the token")
	}
	status, _, body := ask(t, "GET", url+"/api/v1/me", "", page...)
	if status != 200 || !strings.Contains(body, `"via":"session"`) || !strings.Contains(body, `"expires_at":"`) {
		t.Errorf("me is %d %s", status, body)
	}
	decide := url + "/api/v1/requests/01A/decision"
	if status, _, body = ask(t, "POST", decide, `{"action":"deny"}`, append(page, "Origin", url)...); status != 200 || gate.decision.ReviewerID != "rob" {
		t.Errorf("a decision in the inbox answers %d %s, by %q", status, body, gate.decision.ReviewerID)
	}
	if status, _, _ = ask(t, "DELETE", url+"/api/v1/session", "", append(page, "Origin", url)...); status != 204 {
		t.Errorf("sign-out answers %d", status)
	}
	status, headers, body := ask(t, "GET", url+"/api/v1/me", "", page...)
	wantProblem(t, status, headers, body, 401, problem.CodeUnauthenticated)
}

// A server on another port of this host gets the cookie from the browser. The cookie
// alone permits nothing, and its use does not end the session.
func TestCookieAloneIsNoSession(t *testing.T) {
	gate := &scriptedGate{}
	url, tokens := startStaffed(t, gate)
	page, _ := signIn(t, url, tokens[reviewers.RoleAdmin])
	other, _ := signIn(t, url, tokens[reviewers.RoleAdmin])
	stolen := page[:2:2]
	for _, stranger := range [][]string{
		stolen,
		append(stolen, sessionKeyHeader, ""),
		append(stolen, sessionKeyHeader, "x"+page[3]),
		append(stolen, sessionKeyHeader, other[3]), // of another session
		page[2:], // the key alone
	} {
		for _, attempt := range [][2]string{
			{"GET", "/api/v1/me"},
			{"GET", "/api/v1/requests"},
			{"GET", "/api/v1/events"},
			{"POST", "/api/v1/requests/01A/decision"},
			{"DELETE", "/api/v1/session"},
		} {
			status, headers, body := ask(t, attempt[0], url+attempt[1], `{"action":"approve"}`, append([]string{"Origin", url}, stranger...)...)
			wantProblem(t, status, headers, body, 401, problem.CodeUnauthenticated)
		}
	}
	if gate.decision.Action != "" {
		t.Error("the gate was asked")
	}
	if status, _, body := ask(t, "GET", url+"/api/v1/me", "", page...); status != 200 {
		t.Errorf("the page itself gets %d %s", status, body)
	}
	if status, _, body := ask(t, "GET", url+"/inbox/app.js", ""); status != 200 {
		t.Errorf("a file of the inbox answers %d %s", status, body)
	}
}

// A page of another site has the browser's cookie on its side, where the browser
// is old or the page is on another port of this host.
func TestForeignPageDoesNotWriteByCookie(t *testing.T) {
	gate := &scriptedGate{}
	url, tokens := startStaffed(t, gate)
	page, _ := signIn(t, url, tokens[reviewers.RoleAdmin])
	for _, write := range [][2]string{
		{"POST", "/api/v1/requests/01A/decision"}, {"POST", "/api/v1/decisions"}, {"POST", "/api/v1/runs/r/signal"}, {"DELETE", "/api/v1/session"},
	} {
		for _, headers := range [][]string{
			{"Origin", "https://attacker.example"},
			{"Origin", "http://127.0.0.1:3000", "Sec-Fetch-Site", "same-site"},
			{"Sec-Fetch-Site", "cross-site"},
			{}, // no header of a browser
		} {
			status, header, body := ask(t, write[0], url+write[1], `{"action":"approve"}`, append(headers, page...)...)
			wantProblem(t, status, header, body, 403, problem.CodeForeignOrigin)
		}
	}
	if gate.decision.Action != "" || gate.signal.Action != "" {
		t.Error("the gate was asked")
	}
	status, header, body := ask(t, "POST", url+"/api/v1/session", `{"token":"x"}`, "Origin", "https://attacker.example")
	wantProblem(t, status, header, body, 403, problem.CodeForeignOrigin)
}

func TestSignOutEndsTheEventStream(t *testing.T) {
	url, tokens := startStaffed(t, &scriptedGate{})
	page, _ := signIn(t, url, tokens[reviewers.RoleViewer])
	ended := make(chan string)
	opened := make(chan struct{})
	go func() {
		request, _ := http.NewRequest("GET", url+"/api/v1/events", http.NoBody)
		request.Header.Set(page[0], page[1])
		request.Header.Set(page[2], page[3])
		response, err := http.DefaultClient.Do(request)
		close(opened)
		if err != nil {
			ended <- err.Error()
			return
		}
		defer response.Body.Close()
		block := make([]byte, 1<<10)
		for err == nil {
			_, err = response.Body.Read(block)
		}
		ended <- err.Error()
	}()
	<-opened
	ask(t, "DELETE", url+"/api/v1/session", "", append(page, "Origin", url)...)
	select {
	case how := <-ended:
		if how != "EOF" {
			t.Errorf("the stream ended with %s", how)
		}
	case <-time.After(patience):
		t.Error("the stream has not ended")
	}
}

func TestSignInIsLimited(t *testing.T) {
	url, tokens := startStaffed(t, &scriptedGate{})
	for range attemptsAtOnce {
		status, headers, body := ask(t, "POST", url+"/api/v1/session", `{"token":"wrong"}`)
		wantProblem(t, status, headers, body, 401, problem.CodeWrongToken)
	}
	status, headers, body := ask(t, "POST", url+"/api/v1/session", fmt.Sprintf(`{"token":%q}`, tokens[reviewers.RoleAdmin]))
	wantProblem(t, status, headers, body, 429, problem.CodeTooManyAttempts)
	if headers.Get("Retry-After") == "" || headers.Get("Set-Cookie") != "" {
		t.Errorf("the answer's head is %v", headers)
	}
	if status, _, _ := ask(t, "GET", url+"/api/v1/me", "", "Authorization", "Bearer "+tokens[reviewers.RoleAdmin]); status != 200 {
		t.Errorf("a token in a header answers %d", status)
	}
}

// With HTTPS the cookie is bound to it, and the host of console.url is accepted.
func TestCookieWithHTTPS(t *testing.T) {
	directory, tokens := staff(t)
	url := start(t, &scriptedGate{}, func(o *Options) { o.Reviewers, o.URL = directory, "https://inbox.example" })
	page, cookie := signIn(t, url, tokens[reviewers.RoleViewer])
	if !cookie.Secure || !strings.HasPrefix(cookie.Name, "__Host-") {
		t.Errorf("the cookie is %+v", cookie)
	}
	status, _, body := ask(t, "DELETE", url+"/api/v1/session", "", append(page, "Host", "inbox.example", "Origin", "https://inbox.example")...)
	if status != 204 {
		t.Errorf("a write under console.url answers %d %s", status, body)
	}
	status, header, body := ask(t, "GET", url+"/api/v1/session", "", "Host", "other.example")
	wantProblem(t, status, header, body, 403, problem.CodeForeignHost)
}
