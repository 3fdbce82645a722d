package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/oidc"
	"github.com/heldcall/heldcall/console/problem"
	"github.com/heldcall/heldcall/internal/idp"
	"github.com/heldcall/heldcall/internal/scripted"
)

// organization is a provider, and the configuration of a heldcall that trusts it.
type organization struct {
	*idp.Server
	addresses []string // of the console and the provider
	config    func(*app.Config)
}

// organize starts a provider at which ann and bob are reviewers, vic may look,
// and eve has an account.
func organize(t *testing.T) *organization {
	t.Helper()
	o := prepare(t)
	o.open(t)
	return o
}

// prepare is organize for a provider that is not there yet.
func prepare(t *testing.T) *organization {
	t.Helper()
	addresses, err := scripted.FreeAddresses(2)
	if err != nil {
		t.Fatal(err)
	}
	o := &organization{addresses: addresses}
	o.config = func(c *app.Config) {
		c.Console.Listen, c.Console.URL = addresses[0], "http://"+addresses[0]
		c.Console.OIDC = app.OIDCConfig{
			Issuer: "http://" + addresses[1], ClientID: idp.ClientID, ClientSecret: idp.ClientSecret,
			Scopes: []string{"openid", "email"}, NameClaim: "email", GroupsClaim: "groups", Role: "none",
			Memberships: []app.OIDCMembership{
				{Group: "engineers", Role: "reviewer"}, {Group: "money", Groups: []string{"finance"}}, {Group: "guests", Role: "viewer"},
			},
		}
	}
	return o
}

func (o *organization) open(t *testing.T) {
	t.Helper()
	server, err := idp.Start(o.addresses[1], "http://"+o.addresses[0]+oidc.CallbackPath)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	o.Server = server
	for name, groups := range map[string][]string{"ann": {"engineers", "money"}, "bob": {"engineers"}, "vic": {"guests"}, "eve": {"strangers"}} {
		server.Know(name, idp.Person{IDToken: map[string]any{"email": name + "@corp.example", "email_verified": true, "groups": groups}})
	}
}

// browser is a browser with the console's page open.
type browser struct {
	t       *testing.T
	console string // origin
	http    *http.Client
	log     *logged
	key     string // of the session, as the page keeps it
}

func (w *world) browser(o *organization) *browser {
	jar, _ := cookiejar.New(nil)
	b := &browser{t: w.t, console: "http://" + o.addresses[0], http: &http.Client{Jar: jar}, log: &w.log}
	b.http.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if r.URL.Path == oidc.CallbackPath {
			return http.ErrUseLastResponse
		}
		return nil
	}
	return b
}

// page sends what the console's page would and returns the answer.
func (b *browser) page(method, path string, body any) (status int, text string) {
	b.t.Helper()
	payload, _ := json.Marshal(body)
	r, err := http.NewRequest(method, b.console+path, strings.NewReader(string(payload)))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Origin", b.console)
	if b.key != "" {
		r.Header.Set("X-Heldcall-Session-Key", b.key)
	}
	return b.send(r)
}

func (b *browser) send(r *http.Request) (status int, text string) {
	b.t.Helper()
	resp, err := b.http.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return resp.StatusCode, string(content)
}

// begin presses the button of the sign-in.
func (b *browser) begin() oidc.Begun {
	b.t.Helper()
	status, text := b.page("POST", "/api/v1/session/oidc", nil)
	var begun oidc.Begun
	if err := json.Unmarshal([]byte(text), &begun); err != nil || status != http.StatusOK || begun.URL == "" || begun.Secret == "" {
		b.t.Fatalf("a sign-in begins with %d %s (%v)", status, text, err)
	}
	return begun
}

var formAction = regexp.MustCompile(`action="([^"]+)"`)

// atProvider follows the browser through the provider, where it gives a name, and
// returns what it comes back with.
func (b *browser) atProvider(begun oidc.Begun, name string) oidc.Returned {
	b.t.Helper()
	form, err := b.http.Get(begun.URL)
	if err != nil {
		b.t.Fatal(err)
	}
	defer form.Body.Close()
	content, _ := io.ReadAll(form.Body)
	action := formAction.FindSubmatch(content)
	if action == nil {
		b.t.Fatalf("the provider shows %d %s", form.StatusCode, content)
	}
	to, _ := form.Request.URL.Parse(string(action[1]))
	back, err := b.http.PostForm(to.String(), url.Values{"name": {name}})
	if err != nil {
		b.t.Fatal(err)
	}
	defer back.Body.Close()
	location, err := back.Location()
	if err != nil || !strings.HasPrefix(location.String(), b.console+oidc.CallbackPath+"?") {
		b.t.Fatalf("the provider answers %s and sends the browser to %v (%v)", back.Status, location, err)
	}
	page, err := http.Get(location.String())
	if err != nil || page.StatusCode != http.StatusOK || !strings.Contains(page.Header.Get("Content-Security-Policy"), "default-src 'none'") || page.Header.Get("Referrer-Policy") != "no-referrer" {
		b.t.Fatalf("the browser comes back to %v (%v)", page, err)
	}
	page.Body.Close()
	return oidc.Returned{Code: location.Query().Get("code"), State: location.Query().Get("state"), Secret: begun.Secret}
}

// finish gives the console what the browser came back with.
func (b *browser) finish(r oidc.Returned) (status int, text string) {
	b.t.Helper()
	status, text = b.page("POST", "/api/v1/session/oidc/code", r)
	var me struct{ Key string }
	if status == http.StatusOK {
		if err := json.Unmarshal([]byte(text), &me); err != nil || me.Key == "" {
			b.t.Fatalf("the sign-in ends with %s (%v)", text, err)
		}
		b.key = me.Key
	}
	return status, text
}

func (b *browser) signIn(name string) {
	b.t.Helper()
	if status, text := b.finish(b.atProvider(b.begin(), name)); status != http.StatusOK {
		b.t.Fatalf("%s signs in: %d %s\n%s", name, status, text, b.log.String())
	}
}

func (b *browser) decide(id, action string) (status int, text string) {
	b.t.Helper()
	return b.page("POST", "/api/v1/requests/"+id+"/decision", map[string]string{"action": action})
}

// want checks an answer's status and the code of its problem.
func want(t *testing.T, status int, text string, wantStatus int, code string) {
	t.Helper()
	var p problem.Problem
	_ = json.Unmarshal([]byte(text), &p)
	if status != wantStatus || p.Code != code {
		t.Errorf("the answer is %d %s, want %d %s", status, text, wantStatus, code)
	}
}

// With a provider and no reviewer in the configuration: who signs in decides what
// their groups may, and nobody else does.
func TestSignInByProviderDecides(t *testing.T) {
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
	if log := w.log.String(); strings.Contains(log, idp.ClientSecret) {
		t.Error("the log has the client's secret")
	}
}

// pendingFor waits until a browser sees one request that waits.
func pendingFor(t *testing.T, b *browser) (id string) {
	t.Helper()
	for deadline := time.Now().Add(soon); ; time.Sleep(5 * time.Millisecond) {
		_, text := b.page("GET", "/api/v1/requests?status=pending", nil)
		var page approvals.Page
		if err := json.Unmarshal([]byte(text), &page); err == nil && len(page.Items) == 1 {
			return page.Items[0].ID
		}
		if time.Now().After(deadline) {
			t.Fatalf("the browser sees %s", text)
		}
	}
}

// What does not prove that this browser's own sign-in has ended well opens no
// session.
func TestSignInThatProvesNothing(t *testing.T) {
	o := organize(t)
	w := build(t, askAll, callThenText, o.config)
	returned := func(b *browser) oidc.Returned { return b.atProvider(b.begin(), "ann") }
	tampered := func(change func(claims map[string]any)) func(*browser) oidc.Returned {
		return func(b *browser) oidc.Returned { o.Tamper(change); return returned(b) }
	}
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
			c["aud"] = []string{idp.ClientID, "other"}
			delete(c, "azp")
		}),
		"another issuer":   tampered(func(c map[string]any) { c["iss"] = "http://127.0.0.1:1" }),
		"an expired token": tampered(func(c map[string]any) { c["exp"] = time.Now().Add(-time.Hour).Unix() }),
		"nobody's token":   tampered(func(c map[string]any) { delete(c, "sub") }),
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
	w.browser(o).signIn("ann") // the provider is as it was
}

// The browser is sent to the provider with everything that binds the answer to
// it, and to nowhere else afterwards than the console.
func TestSignInAsksForOneAnswerAtOnePlace(t *testing.T) {
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
	o, m := organize(t), team{}
	o.Know("ann", idp.Person{IDToken: map[string]any{"email": "Ann@corp.example", "email_verified": true, "groups": []string{"guests"}}})
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
	o := organize(t)
	w := build(t, askAll, callThenText, o.config, func(c *app.Config) {
		c.Console.OIDC.NameClaim = "sub"
		c.Proxy.Clients = []app.Client{{Key: "bobs", User: "bob@corp.example"}}
	})
	bob, ann := w.browser(o), w.browser(o)
	bob.signIn("bob")
	ann.signIn("ann")
	agent := w.post("/v1/chat/completions", streamedRequest, "Authorization", "Bearer bobs")
	id := pendingFor(t, bob)
	status, text := bob.decide(id, "approve")
	want(t, status, text, http.StatusForbidden, problem.CodeForbidden)
	if status, text = ann.decide(id, "approve"); status != http.StatusOK || !strings.Contains(text, fmt.Sprintf("%q:%q", "reviewer_id", "ann")) {
		t.Errorf("ann's approval is answered %d %s", status, text)
	}
	agent.rest()
}
