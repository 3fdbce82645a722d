package console

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/console/live"
	"github.com/heldcall/heldcall/console/problem"
)

// codeOf is the code of a problem, "" without an error.
func codeOf(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	var p *problem.Problem
	if !errors.As(err, &p) {
		t.Fatalf("%v is no problem", err)
	}
	return p.Code
}

func request(method, target string, headers ...string) *http.Request {
	r := httptest.NewRequest(method, target, http.NoBody)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

func TestNewBindPolicy(t *testing.T) {
	for _, tt := range []struct {
		listen, url string
		reviewers   bool
		fails       bool
	}{
		{listen: "127.0.0.1:0"},
		{listen: "localhost:1"},
		{listen: "[::1]:1"},
		{listen: "127.0.0.1", fails: true},
		{listen: "0.0.0.0:1", fails: true},
		{listen: ":1", fails: true},
		{listen: "0.0.0.0:1", reviewers: true},
		{listen: "0.0.0.0:1", reviewers: true, url: "https://inbox.example"},
		{listen: "0.0.0.0:1", reviewers: true, url: "https://inbox.example/path", fails: false},
		{listen: "127.0.0.1:1", url: "%", fails: true},
	} {
		if _, err := newBindPolicy(tt.listen, tt.url, tt.reviewers); (err != nil) != tt.fails {
			t.Errorf("%s, %q, reviewers %v: %v", tt.listen, tt.url, tt.reviewers, err)
		}
	}
}

func TestGuard(t *testing.T) {
	const json = "application/json"
	local, err := newBindPolicy("127.0.0.1:4142", "", false)
	if err != nil {
		t.Fatal(err)
	}
	remote, err := newBindPolicy("0.0.0.0:4142", "https://Inbox.example:443", true)
	if err != nil {
		t.Fatal(err)
	}
	if got := remote.Origin(); got != "https://inbox.example" {
		t.Errorf("the origin is %s", got)
	}
	for _, tt := range []struct {
		name    string
		policy  bindPolicy
		request *http.Request
		want    string // code of the problem
	}{
		{"loopback", local, request("GET", "http://127.0.0.1:4142/"), ""},
		{"localhost", local, request("GET", "http://localhost/"), ""},
		{"rebound name", local, request("GET", "http://attacker.example/"), problem.CodeForeignHost},
		{"any name with reviewers", remote, request("GET", "http://other.example/"), ""},
		{"program writes", local, request("POST", "http://127.0.0.1/", "Content-Type", json), ""},
		{"form", local, request("POST", "http://127.0.0.1/", "Content-Type", "application/x-www-form-urlencoded"), problem.CodeUnsupportedType},
		{"no type", local, request("POST", "http://127.0.0.1/"), problem.CodeUnsupportedType},
		{"own page writes", local, request("POST", "http://127.0.0.1/", "Content-Type", json, "Origin", "http://127.0.0.1"), ""},
		{"foreign page writes", local, request("POST", "http://127.0.0.1/", "Content-Type", json, "Origin", "http://evil.example"), problem.CodeForeignOrigin},
		{"foreign page deletes", local, request("DELETE", "http://127.0.0.1/", "Sec-Fetch-Site", "cross-site"), problem.CodeForeignOrigin},
		{"foreign page reads", local, request("GET", "http://127.0.0.1/", "Sec-Fetch-Site", "cross-site"), problem.CodeForeignOrigin},
		{"foreign page reads, another port", local, request("GET", "http://127.0.0.1/", "Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "no-cors"), problem.CodeForeignOrigin},
		{"foreign page of an old browser reads", local, request("GET", "http://127.0.0.1/", "Origin", "http://evil.example"), problem.CodeForeignOrigin},
		{"a sandboxed frame reads", local, request("GET", "http://127.0.0.1/", "Origin", "null"), problem.CodeForeignOrigin},
		{"foreign page navigates with an origin", local, request("GET", "http://127.0.0.1/", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Origin", "http://evil.example"), problem.CodeForeignOrigin},
		{"a link", local, request("GET", "http://127.0.0.1/", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"), ""},
		{"own page reads", local, request("GET", "http://127.0.0.1/", "Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "cors"), ""},
		{"own page of an old browser reads", local, request("GET", "http://127.0.0.1/", "Origin", "http://127.0.0.1"), ""},
		{"foreign page opens a WebSocket", local, request("GET", "http://127.0.0.1/", "Sec-Fetch-Site", "cross-site", "Upgrade", "websocket"), problem.CodeForeignOrigin},
		{"page of console.url writes", remote, request("POST", "http://10.0.0.1/", "Content-Type", json, "Origin", "https://inbox.example"), ""},
	} {
		if got := codeOf(t, tt.policy.Guard(tt.request)); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestAdmit(t *testing.T) {
	token, hash := reviewers.NewToken()
	directory, err := reviewers.NewDirectory([]reviewers.Entry{{Reviewer: reviewers.Reviewer{Name: "rob", Role: reviewers.RoleReviewer}, TokenSHA256: hash}})
	if err != nil {
		t.Fatal(err)
	}
	a := &authenticator{Reviewers: directory, Sessions: newSessions(time.Hour)}
	defer a.Sessions.closeAll()
	opened, secrets := a.Sessions.open(proof{who: reviewers.Reviewer{Name: "ann", Role: reviewers.RoleViewer}, by: viaOIDC})
	cookie := a.Cookie(secrets.Cookie, opened.Expires)
	page := []string{"Cookie", cookie.Name + "=" + cookie.Value, sessionKeyHeader, secrets.Key}
	bearer := []string{"Authorization", "Bearer " + token}
	for _, tt := range []struct {
		name    string
		request *http.Request
		needed  reviewers.Role
		want    string // name and way, "" if refused
		code    string
	}{
		{"public", request("GET", "/"), public, " ", ""},
		{"nobody", request("GET", "/"), reviewers.RoleViewer, "", problem.CodeUnauthenticated},
		{"token", request("POST", "/", bearer...), reviewers.RoleReviewer, "rob token", ""},
		{"token without the role", request("POST", "/", bearer...), reviewers.RoleAdmin, "", problem.CodeForbidden},
		{"wrong token with a session", request("GET", "/", append(page, "Authorization", "Bearer x")...), reviewers.RoleViewer, "", problem.CodeWrongToken},
		{"session", request("GET", "/", page...), reviewers.RoleViewer, "ann session", ""},
		{"cookie without the key", request("GET", "/", page[:2]...), reviewers.RoleViewer, "", problem.CodeUnauthenticated},
		{"cookie with another key", request("GET", "/", append(page[:2:2], sessionKeyHeader, "x")...), reviewers.RoleViewer, "", problem.CodeUnauthenticated},
		{"write by cookie without an origin", request("POST", "/", page...), reviewers.RoleViewer, "", problem.CodeForeignOrigin},
		{"write by cookie of a page", request("POST", "/", append(page, "Origin", "http://127.0.0.1")...), reviewers.RoleViewer, "ann session", ""},
		{"key as a subprotocol", request("GET", live.Path, append(page[:2:2], "Sec-WebSocket-Protocol", live.Subprotocol+", "+live.KeyProtocol+secrets.Key)...), reviewers.RoleViewer, "ann session", ""},
		{"key as a subprotocol elsewhere", request("GET", "/", append(page[:2:2], "Sec-WebSocket-Protocol", live.KeyProtocol+secrets.Key)...), reviewers.RoleViewer, "", problem.CodeUnauthenticated},
	} {
		admitted, err := a.Admit(tt.request, tt.needed)
		if got := codeOf(t, err); got != tt.code {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.code)
		}
		if tt.want == "" {
			continue
		}
		if who := reviewerOf(admitted); who.Name+" "+who.Via != tt.want {
			t.Errorf("%s: %s by %s, want %s", tt.name, who.Name, who.Via, tt.want)
		}
	}
}

// Without reviewers every sender is the local reviewer, whatever they send.
func TestAdmitWithoutReviewers(t *testing.T) {
	a := &authenticator{}
	r, err := a.Admit(request("GET", "/", "Authorization", "Bearer x"), reviewers.RoleAdmin)
	if who := reviewerOf(r); err != nil || who.Name != reviewers.LocalName || who.Via != viaLocal {
		t.Errorf("%+v, %v", who, err)
	}
}

func TestCookieIsBoundToHTTPS(t *testing.T) {
	for secure, name := range map[bool]string{false: "heldcall_session", true: "__Host-heldcall_session"} {
		c := (&authenticator{Secure: secure}).Cookie("x", time.Now())
		if c.Name != name || c.Secure != secure || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.MaxAge != 0 {
			t.Errorf("secure %v: %+v", secure, c)
		}
	}
	if c := (&authenticator{}).Cookie("", time.Unix(0, 0)); c.MaxAge != -1 {
		t.Errorf("a cookie that is deleted: %+v", c)
	}
}
