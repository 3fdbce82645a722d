package app_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/console/oidc"
	"github.com/heldcall/heldcall/console/problem"
	"github.com/heldcall/heldcall/internal/testing/fakeidp"
)

// With a provider and no reviewer in the configuration, a person who signs in may decide
// what their groups permit, and no other person decides.
func TestSignInByProviderDecides(t *testing.T) {
	t.Parallel()
	o := organize(t)
	w := build(t, "default: ask\nrules: [{ask: [bash], reviewers: [finance]}]\n", callThenText, o.config)
	agent := w.post("/v1/chat/completions", streamedRequest)
	ann, bob, vic, stranger := w.browser(o), w.browser(o), w.browser(o), w.browser(o)
	ann.signIn("ann")
	bob.signIn("bob")
	vic.signIn("vic")

	status, text := stranger.finish(stranger.atProvider(stranger.begin(), "eve"))
	want(t, status, text, http.StatusForbidden, problem.CodeForbidden)
	status, text = stranger.page("GET", "/api/v1/requests", nil)
	want(t, status, text, http.StatusUnauthorized, problem.CodeUnauthenticated)

	id := pendingFor(t, ann)
	status, text = vic.decide(id, "approve")
	want(t, status, text, http.StatusForbidden, problem.CodeForbidden)
	status, text = bob.decide(id, "approve") // not in finance
	want(t, status, text, http.StatusForbidden, problem.CodeForbidden)
	if status, text = ann.decide(id, "approve"); status != http.StatusOK || !strings.Contains(text, `"reviewer_id":"ann@corp.example"`) {
		t.Fatalf("ann's decision is answered %d %s", status, text)
	}
	if answer := agent.rest(); !strings.Contains(answer, lsCall.ID) {
		t.Errorf("the agent got %q", answer)
	}
	if _, text = vic.page("GET", "/api/v1/audit", nil); !strings.Contains(text, `"reviewer_id":"ann@corp.example"`) {
		t.Errorf("the audit log has %s", text)
	}

	if status, text = ann.page("DELETE", "/api/v1/session", nil); status != http.StatusNoContent {
		t.Errorf("the sign-out answers %d %s", status, text)
	}
	status, text = ann.page("GET", "/api/v1/me", nil)
	want(t, status, text, http.StatusUnauthorized, problem.CodeUnauthenticated)
	if log := w.log.String(); strings.Contains(log, fakeidp.ClientSecret) {
		t.Error("the log has the client's secret")
	}
}

// What does not prove that this browser's own sign-in has ended well opens no
// session.
func TestSignInThatProvesNothing(t *testing.T) {
	t.Parallel()
	o := organize(t)
	w := build(t, askAll, callThenText, o.config)
	returned := func(b *browser) oidc.Returned { return b.atProvider(b.begin(), "ann") }
	tampered := func(change func(claims map[string]any)) func(*browser) oidc.Returned {
		return func(b *browser) oidc.Returned { o.Tamper(change); return returned(b) }
	}
	o.Tamper(func(map[string]any) {}) // signed again, otherwise unchanged
	w.browser(o).signIn("ann")
	o.Tamper(nil)
	for name, attempt := range map[string]func(*browser) oidc.Returned{
		"no such state": func(b *browser) oidc.Returned { r := returned(b); r.State += "x"; return r },
		"no state":      func(b *browser) oidc.Returned { r := returned(b); r.State = ""; return r },
		"no secret":     func(b *browser) oidc.Returned { r := returned(b); r.Secret = ""; return r },
		"the code of another browser": func(b *browser) oidc.Returned {
			theirs, own := returned(w.browser(o)), b.begin()
			return oidc.Returned{Code: theirs.Code, State: theirs.State, Secret: own.Secret}
		},
		"the code of another sign-in": func(b *browser) oidc.Returned {
			first, second := returned(b), returned(b)
			second.Code = first.Code
			return second
		},
		"a code that is none": func(b *browser) oidc.Returned { r := returned(b); r.Code = "x"; return r },
		"a code that was used": func(b *browser) oidc.Returned {
			r := returned(b)
			if status, text := b.finish(r); status != http.StatusOK {
				t.Fatalf("the first use answers %d %s", status, text)
			}
			return r
		},
		"another nonce":    tampered(func(c map[string]any) { c["nonce"] = "x" }),
		"no nonce":         tampered(func(c map[string]any) { delete(c, "nonce") }),
		"another audience": tampered(func(c map[string]any) { c["aud"] = "other" }),
		"another party":    tampered(func(c map[string]any) { c["azp"] = "other" }),
		"two audiences, no party": tampered(func(c map[string]any) {
			c["aud"] = []string{fakeidp.ClientID, "other"}
			delete(c, "azp")
		}),
		"another issuer":          tampered(func(c map[string]any) { c["iss"] = "http://127.0.0.1:1" }),
		"an expired token":        tampered(func(c map[string]any) { c["exp"] = time.Now().Add(-time.Hour).Unix() }),
		"token without a subject": tampered(func(c map[string]any) { delete(c, "sub") }),
		"a foreign key": func(b *browser) oidc.Returned {
			if err := o.Forge(); err != nil {
				t.Fatal(err)
			}
			return returned(b)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := w.browser(o)
			r := attempt(b)
			b.key = ""
			status, text := b.page("POST", "/api/v1/session/oidc/code", r)
			o.Tamper(nil)
			want(t, status, text, http.StatusUnauthorized, problem.CodeSignInFailed)
			if strings.Contains(text, r.Code) && len(r.Code) > 1 {
				t.Errorf("the answer holds the code: %s", text)
			}
		})
	}
	o.Tamper(func(map[string]any) {}) // signed again, otherwise unchanged
	w.browser(o).signIn("ann")
}

// The browser is sent to the provider with everything that binds the answer to
// it, and to nowhere else afterwards than the console.
func TestSignInAsksForOneAnswerAtOnePlace(t *testing.T) {
	t.Parallel()
	o := organize(t)
	w := build(t, askAll, callThenText, o.config)
	begun := w.browser(o).begin()
	to, err := url.Parse(begun.URL)
	if err != nil {
		t.Fatal(err)
	}
	q := to.Query()
	if q.Get("redirect_uri") != "http://"+o.addresses[0]+oidc.CallbackPath || q.Get("response_type") != "code" ||
		q.Get("code_challenge_method") != "S256" || len(q.Get("code_challenge")) < 43 || len(q.Get("state")) < 20 || len(q.Get("nonce")) < 20 ||
		strings.Contains(begun.URL, begun.Secret) {
		t.Errorf("the browser is sent to %s with the secret %s", begun.URL, begun.Secret)
	}
	r, _ := http.NewRequest("POST", "http://"+o.addresses[0]+"/api/v1/session/oidc", strings.NewReader("null"))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Origin", strings.Replace("http://"+o.addresses[0], "127.0.0.1", "localhost", 1))
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Host = strings.Replace(o.addresses[0], "127.0.0.1", "localhost", 1)
	status, text := w.browser(o).send(r)
	want(t, status, text, http.StatusForbidden, problem.CodeForeignOrigin)
}

// heldcall runs without its provider, and people with tokens sign in.
func TestProviderThatIsNotThere(t *testing.T) {
	t.Parallel()
	o, m := prepare(t), team{}
	w := build(t, askAll, callThenText, o.config, m.with("tom", "reviewer"))
	b := w.browser(o)
	status, text := b.page("POST", "/api/v1/session/oidc", nil)
	want(t, status, text, http.StatusBadGateway, problem.CodeProviderUnavailable)
	if status, text = b.page("POST", "/api/v1/session", map[string]string{"token": m["tom"]}); status != http.StatusOK {
		t.Errorf("a token is answered %d %s", status, text)
	}
	if _, text = b.page("GET", "/api/v1/session", nil); !strings.Contains(text, `["oidc","token"]`) {
		t.Errorf("one signs in by %s", text)
	}
	o.open(t)
	b.signIn("ann")

	begun := b.atProvider(b.begin(), "ann")
	o.Close()
	status, text = b.finish(begun)
	want(t, status, text, http.StatusBadGateway, problem.CodeProviderUnavailable)
}

func TestSessionOfSignInExpires(t *testing.T) {
	t.Parallel()
	o := organize(t)
	w := build(t, askAll, callThenText, o.config, func(c *app.Config) { c.Console.Session = 2 * time.Second })
	b := w.browser(o)
	b.signIn("ann")
	for deadline := time.Now().Add(soon); ; time.Sleep(50 * time.Millisecond) {
		status, text := b.page("GET", "/api/v1/me", nil)
		if status == http.StatusUnauthorized {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %s the session answers %d %s", soon, status, text)
		}
	}
}

func TestSignInsAreLimited(t *testing.T) {
	t.Parallel()
	o := organize(t)
	w := build(t, askAll, callThenText, o.config)
	b := w.browser(o)
	for range 200 {
		status, text := b.page("POST", "/api/v1/session/oidc", nil)
		if status == http.StatusTooManyRequests {
			want(t, status, text, http.StatusTooManyRequests, problem.CodeTooManyAttempts)
			return
		}
	}
	t.Error("one address began 200 sign-ins")
}

// One person is one approval, however they prove who they are, and approves
// nothing that their own agent asks.
func TestOnePersonTwoWaysIn(t *testing.T) {
	t.Parallel()
	o, m := organize(t), team{}
	o.Know("ann", fakeidp.Person{IDToken: map[string]any{"email": "Ann@corp.example", "email_verified": true, "groups": []string{"guests"}}})
	policy := "default: ask\nrules: [{ask: [bash], required_approvals: 2}]\n"
	w := build(t, policy, callThenText, o.config, m.with("ann@corp.example", "reviewer"), func(c *app.Config) {
		c.Proxy.Clients = []app.Client{{Key: "bobs", User: "bob@corp.example"}}
	})
	ann, bob := w.browser(o), w.browser(o)
	ann.signIn("ann") // a guest by the claims; the configuration says reviewer
	bob.signIn("bob")
	agent := w.post("/v1/chat/completions", streamedRequest)
	id := pendingFor(t, ann)
	if status, text := ann.decide(id, "approve"); status != http.StatusOK || !strings.Contains(text, `"status":"pending"`) {
		t.Fatalf("ann's approval is answered %d %s", status, text)
	}
	if _, err := w.as(m["ann@corp.example"]).Decide(t.Context(), approve(id)); err == nil {
		t.Error("ann has approved twice")
	}
	if status, text := bob.decide(id, "approve"); status != http.StatusOK {
		t.Fatalf("bob's approval is answered %d %s", status, text)
	}
	agent.rest()

	own := w.post("/v1/chat/completions", streamedRequest, "Authorization", "Bearer bobs")
	id = pendingFor(t, bob)
	status, text := bob.decide(id, "approve")
	want(t, status, text, http.StatusForbidden, problem.CodeForbidden)
	if status, text = bob.decide(id, "deny"); status != http.StatusOK {
		t.Errorf("bob's denial is answered %d %s", status, text)
	}
	own.rest()
}

// A name that is no e-mail address does not hide whose agent asks.
func TestSelfApprovalByAddress(t *testing.T) {
	t.Parallel()
	o := organize(t)
	w := build(t, askAll, callThenText, o.config, func(c *app.Config) {
		c.Console.OIDC.NameClaim = "sub"
		c.Console.OIDC.Memberships[0].Role = "admin"
		c.Proxy.Clients = []app.Client{{Key: "bobs", User: "bob@corp.example"}}
	})
	bob, ann := w.browser(o), w.browser(o)
	bob.signIn("bob")
	ann.signIn("ann")
	agent := w.post("/v1/chat/completions", streamedRequest, "Authorization", "Bearer bobs")
	id := pendingFor(t, bob)
	status, text := bob.decide(id, "approve")
	want(t, status, text, http.StatusForbidden, problem.CodeForbidden)
	grant := map[string]any{"effect": "allow", "principal": map[string]string{"tenant": "default", "user": "bob@corp.example"}, "patterns": []string{"bash(ls *)"}}
	status, text = bob.page("POST", "/api/v1/grants", grant)
	want(t, status, text, http.StatusForbidden, problem.CodeForbidden)
	if status, text = ann.decide(id, "approve"); status != http.StatusOK || !strings.Contains(text, fmt.Sprintf("%q:%q", "reviewer_id", "ann")) {
		t.Errorf("ann's approval is answered %d %s", status, text)
	}
	agent.rest()
}

// What the ID token leaves out is read with the access token.
func TestSignInByUserInfo(t *testing.T) {
	t.Parallel()
	o := organize(t)
	o.Know("tom", fakeidp.Person{UserInfo: map[string]any{"email": "tom@corp.example", "email_verified": true, "groups": []string{"engineers"}}})
	o.Know("mal", fakeidp.Person{
		IDToken:  map[string]any{"email": "ann@corp.example"},
		UserInfo: map[string]any{"email": "mal@corp.example", "email_verified": true, "groups": []string{"engineers"}},
	})
	w := build(t, askAll, callThenText, o.config)
	tom, mal := w.browser(o), w.browser(o)
	tom.signIn("tom")
	if _, text := tom.page("GET", "/api/v1/me", nil); !strings.Contains(text, `"name":"tom@corp.example"`) || !strings.Contains(text, `"role":"reviewer"`) {
		t.Errorf("tom is %s", text)
	}
	status, text := mal.finish(mal.atProvider(mal.begin(), "mal"))
	want(t, status, text, http.StatusForbidden, problem.CodeForbidden)
}

// An admin who is also a configured reviewer, by their address, cannot delegate another
// person's place to that reviewer.
func TestAdminTakesNoPlaceByAnotherName(t *testing.T) {
	t.Parallel()
	o, m := organize(t), team{}
	w := build(t, askAll, callThenText, o.config, m.with("ann-token", "reviewer"), m.with("tom", "reviewer"), func(c *app.Config) {
		c.Console.Reviewers[0].User = "ann@corp.example"
		c.Console.OIDC.NameClaim, c.Console.OIDC.Memberships[0].Role = "sub", "admin"
	})
	ann := w.browser(o)
	ann.signIn("ann")
	until := time.Now().Add(time.Hour).Format(time.RFC3339)
	status, text := ann.page("POST", "/api/v1/delegations", map[string]string{"from": "tom", "to": "ann-token", "until": until})
	want(t, status, text, http.StatusForbidden, problem.CodeForbidden)
	if status, text = ann.page("POST", "/api/v1/delegations", map[string]string{"from": "ann-token", "to": "tom", "until": until}); status != http.StatusOK {
		t.Errorf("her own place is given with %d %s", status, text)
	}
}
