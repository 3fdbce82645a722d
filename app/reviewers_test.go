package app_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/console/client"
	"github.com/heldcall/heldcall/console/problem"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// team is a configuration with reviewers, and what it takes to act as each.
type team map[string]string // name -> token

// with adds a reviewer to a configuration.
func (m team) with(name, role string, groups ...string) func(*app.Config) {
	return func(c *app.Config) {
		token, hash := reviewers.NewToken()
		m[name] = token
		c.Console.Reviewers = append(c.Console.Reviewers, app.Reviewer{Name: name, TokenSHA256: hash, Role: role, Groups: groups})
	}
}

// as is the console for one of the team.
func (w *world) as(token string) *client.Client { return w.console.WithToken(token) }

// staffed is a world with a viewer, two reviewers and an admin; the harness reads
// as the admin.
func staffed(t *testing.T, policy string, script fakemodel.Script, configure ...func(*app.Config)) (*world, team) {
	t.Helper()
	m := team{}
	w := build(t, policy, script, append(configure, m.with("vic", "viewer"), m.with("ann", "reviewer", "finance"), m.with("bob", "reviewer"), m.with("ada", "admin"))...)
	w.console = w.as(m["ada"])
	return w, m
}

func approve(id string) approvals.Decision {
	return approvals.Decision{RequestID: id, Action: approvals.ActionApprove}
}

// wantCode checks that an error is a problem of the console with a code.
func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	if p := (*problem.Problem)(nil); !errors.As(err, &p) || p.Code != code {
		t.Errorf("the error is %v, want a problem of code %s", err, code)
	}
}

func TestOnlyReviewersRelease(t *testing.T) {
	t.Parallel()
	w, m := staffed(t, askAll, callThenText)
	agent := w.post("/v1/chat/completions", streamedRequest)
	id := w.pending(1)[0].ID

	nobody, err := client.New(w.app.ConsoleURL())
	if err != nil {
		t.Fatal(err)
	}
	_, err = nobody.Decide(t.Context(), approve(id))
	wantCode(t, err, problem.CodeUnauthenticated)
	_, err = nobody.Request(t.Context(), id)
	wantCode(t, err, problem.CodeUnauthenticated)
	_, err = w.as("heldcall_GUESSED").Decide(t.Context(), approve(id))
	wantCode(t, err, problem.CodeWrongToken)
	_, err = w.as(m["vic"]).Decide(t.Context(), approve(id))
	wantCode(t, err, problem.CodeForbidden)
	if who, err := w.as(m["vic"]).Me(t.Context()); err != nil || who.Name != "vic" || who.Role != reviewers.RoleViewer {
		t.Errorf("the viewer is %+v, %v", who, err)
	}
	if r, err := w.as(m["vic"]).Request(t.Context(), id); err != nil || r.Status != approvals.StatusPending {
		t.Errorf("the viewer sees %s, %v", r.Status, err)
	}
	_, err = w.as(m["ann"]).Runs().Signal(t.Context(), approvals.Signal{RunID: "r", Action: approvals.SignalAbort})
	wantCode(t, err, problem.CodeForbidden)

	r, err := w.as(m["ann"]).Decide(t.Context(), approvals.Decision{RequestID: id, Action: approvals.ActionApprove, ReviewerID: "ada"})
	if err != nil || len(r.Decisions) != 1 || r.Decisions[0].ReviewerID != "ann" {
		t.Fatalf("ann's decision is %+v, %v", r.Decisions, err)
	}
	if answer := agent.rest(); !strings.Contains(answer, lsCall.ID) {
		t.Errorf("the agent got %q", answer)
	}
}

// Two people answer at once: one decides, the other gets an error that names the first.
func TestTheSlowerReviewerIsToldWhoDecided(t *testing.T) {
	t.Parallel()
	w, m := staffed(t, askAll, callThenText)
	agent := w.post("/v1/chat/completions", streamedRequest)
	id := w.pending(1)[0].ID
	names := []string{"ann", "bob"}
	errs := make([]error, len(names))
	var both sync.WaitGroup
	for i, name := range names {
		both.Go(func() { _, errs[i] = w.as(m[name]).Decide(t.Context(), approve(id)) })
	}
	both.Wait()
	winner, loser := 0, 1
	if errs[0] != nil {
		winner, loser = 1, 0
	}
	decided := (*approvals.DecidedError)(nil)
	if errs[winner] != nil || !errors.As(errs[loser], &decided) {
		t.Fatalf("ann gets %v, bob %v", errs[0], errs[1])
	}
	if d, ok := decided.Request.FinalDecision(); !ok || d.ReviewerID != names[winner] {
		t.Errorf("%s gets that %q decided; it was %s", names[loser], d.ReviewerID, names[winner])
	}
	agent.rest()
}

// A browser signs in with the token once; another site's page gains nothing by
// the cookie.
func TestSignInDecidesAndForeignPagesDoNot(t *testing.T) {
	t.Parallel()
	w, m := staffed(t, askAll, callThenText)
	agent := w.post("/v1/chat/completions", streamedRequest)
	id := w.pending(1)[0].ID
	url := w.app.ConsoleURL()
	send := func(path, body string, header ...string) *http.Response {
		t.Helper()
		request, err := http.NewRequest(http.MethodPost, url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		for i := 0; i+1 < len(header); i += 2 {
			request.Header.Set(header[i], header[i+1])
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { response.Body.Close() })
		return response
	}
	signedIn := send("/api/v1/session", `{"token":"`+m["bob"]+`"}`, "Origin", url)
	if signedIn.StatusCode != http.StatusOK || len(signedIn.Cookies()) != 1 {
		t.Fatalf("sign-in answers %s", signedIn.Status)
	}
	var given struct{ Key string }
	if err := json.NewDecoder(signedIn.Body).Decode(&given); err != nil {
		t.Fatal(err)
	}
	cookie := signedIn.Cookies()[0].Name + "=" + signedIn.Cookies()[0].Value
	decide := "/api/v1/requests/" + id + "/decision"
	for _, origin := range []string{"https://attacker.example", "http://127.0.0.1:1", "null"} {
		if got := send(decide, `{"action":"approve"}`, "Cookie", cookie, "X-Heldcall-Session-Key", given.Key, "Origin", origin); got.StatusCode != http.StatusForbidden {
			t.Errorf("a page of %s gets %s", origin, got.Status)
		}
	}
	// What listens on another port of this host has the cookie, and no browser.
	if got := send(decide, `{"action":"approve"}`, "Cookie", cookie, "Origin", url); got.StatusCode != http.StatusUnauthorized {
		t.Errorf("the cookie alone gets %s", got.Status)
	}
	if r := w.pending(1)[0]; len(r.Decisions) != 0 {
		t.Fatalf("somebody decided: %+v", r.Decisions)
	}
	if got := send(decide, `{"action":"approve"}`, "Cookie", cookie, "X-Heldcall-Session-Key", given.Key, "Origin", url); got.StatusCode != http.StatusOK {
		t.Errorf("the inbox gets %s", got.Status)
	}
	if r := w.status(id, approvals.StatusApproved); r.Decisions[0].ReviewerID != "bob" {
		t.Errorf("the reviewer is %q", r.Decisions[0].ReviewerID)
	}
	agent.rest()
	if log := w.log.String(); strings.Contains(log, m["bob"]) || !strings.Contains(log, "reviewer=bob") {
		t.Error("the log lacks the sign-in, or shows the token")
	}
}

// Other machines must not reach a console without reviewers.
func TestConsoleForOthersNeedsReviewers(t *testing.T) {
	c := app.DefaultConfig(func(string) (string, bool) { return "", false })
	c.Proxy.Listen, c.Console.Listen, c.NATS.Listen, c.NATS.Dir = "127.0.0.1:0", "0.0.0.0:0", "", t.TempDir()
	a, err := app.New(app.Options{Config: c})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "there are no reviewers") {
		t.Errorf("it ended with %v", err)
	}
}
