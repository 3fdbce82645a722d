package app_test

import (
	"encoding/json"
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
	"github.com/heldcall/heldcall/internal/testing/fakeidp"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// organization is a provider, and the configuration of a heldcall that trusts it.
type organization struct {
	*fakeidp.Server
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
	addresses, err := fakemodel.FreeAddresses(2)
	if err != nil {
		t.Fatal(err)
	}
	o := &organization{addresses: addresses}
	o.config = func(c *app.Config) {
		c.Console.Listen, c.Console.URL = addresses[0], "http://"+addresses[0]
		c.Console.OIDC = app.OIDCConfig{
			Issuer: "http://" + addresses[1], ClientID: fakeidp.ClientID, ClientSecret: fakeidp.ClientSecret,
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
	server, err := fakeidp.Start(o.addresses[1], "http://"+o.addresses[0]+oidc.CallbackPath)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	o.Server = server
	for name, groups := range map[string][]string{"ann": {"engineers", "money"}, "bob": {"engineers"}, "vic": {"guests"}, "eve": {"strangers"}} {
		server.Know(name, fakeidp.Person{IDToken: map[string]any{"email": name + "@corp.example", "email_verified": true, "groups": groups}})
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
