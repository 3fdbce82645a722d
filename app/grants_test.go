package app_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/problem"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/nats-io/nats-server/v2/server"
)

// lint calls bash with a command that has suggested patterns, until the model gets a denial.
func lint(r *fakemodel.Request) fakemodel.Reply {
	if strings.Contains(string(r.Body), `"role":"tool"`) {
		return fakemodel.Answer{Text: "Understood."}.Reply(r)
	}
	return fakemodel.Answer{Calls: []fakemodel.Call{{ID: "call_sesame", Name: "bash", Arguments: `{"command":"npm run lint"}`}}}.Reply(r)
}

const askBash = "default: ask\ntools:\n  bash: {resource: command, as: shell}\n"

// twoClients are two users of one tenant, and a third of another.
func twoClients(c *app.Config) {
	c.Proxy.Clients = []app.Client{
		{Key: "ann-key", Tenant: "acme", User: "ann", Agent: "coder"},
		{Key: "bob-key", Tenant: "acme", User: "bob", Agent: "coder"},
		{Key: "eve-key", Tenant: "other", User: "ann", Agent: "coder"},
	}
}

// turn is one question of an agent, whose answer comes when it is released.
func (w *world) turn(key string, header ...string) chan string {
	answer := make(chan string, 1)
	header = append([]string{"Authorization", "Bearer " + key}, header...)
	if !slices.Contains(header, "X-Heldcall-Run") {
		header = append(header, "X-Heldcall-Run", "r"+time.Now().String())
	}
	go func() {
		c, err := w.tryPost("/v1/chat/completions", wholeRequest, header...)
		if err != nil {
			answer <- err.Error()
			return
		}
		answer <- c.rest()
	}()
	return answer
}

// passes checks that a call is allowed without a request.
func (w *world) passes(key string, header ...string) {
	w.t.Helper()
	select {
	case got := <-w.turn(key, header...):
		if !strings.Contains(got, "npm run lint") {
			w.t.Fatalf("the call is not let through: %s", got)
		}
	case <-time.After(soon):
		w.t.Fatal("the call is held")
	}
	w.pending(0)
}

// denies checks that a call is denied without a request.
func (w *world) denies(key string, header ...string) {
	w.t.Helper()
	select {
	case got := <-w.turn(key, header...):
		if strings.Contains(got, "npm run lint") || !strings.Contains(got, "Understood.") {
			w.t.Fatalf("the call is not denied: %s", got)
		}
	case <-time.After(soon):
		w.t.Fatal("the call is held")
	}
	w.pending(0)
}

// asks reports that people are asked about a call, and has them approve it.
func (w *world) asks(key string, header ...string) {
	w.t.Helper()
	answer := w.turn(key, header...)
	w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionApprove})
	if got := <-answer; !strings.Contains(got, "npm run lint") {
		w.t.Fatalf("the approved call is not let through: %s", got)
	}
}

// always has a call asked about and decides it for always.
func (w *world) always(d approvals.Decision, key string, header ...string) approvals.Grant {
	w.t.Helper()
	answer := w.turn(key, header...)
	w.decide(w.pending(1)[0].ID, d)
	<-answer
	return w.grants(1)[0]
}

// grants waits until there are n grants in force.
func (w *world) grants(n int) []approvals.Grant {
	w.t.Helper()
	for deadline := time.Now().Add(soon); ; time.Sleep(5 * time.Millisecond) {
		page, err := w.console.Grants(w.t.Context(), approvals.GrantFilter{})
		if err == nil && len(page.Items) == n {
			return page.Items
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("%d grants, want %d (%v)", len(page.Items), n, err)
		}
	}
}

// TestGrantByDecision: an always-allowed call passes without asking, for the
// principals of the grant, until the grant is revoked.
func TestGrantByDecision(t *testing.T) {
	t.Parallel()
	w := build(t, askBash, lint, twoClients)
	g := w.always(approvals.Decision{Action: approvals.ActionAllowAlways, Scope: approvals.GrantUser, Note: "harmless"}, "ann-key")
	if g.Effect != approvals.GrantAllow || g.Scope != approvals.GrantUser || g.Principal != (approvals.Principal{Tenant: "acme", User: "ann"}) ||
		len(g.Patterns) != 1 || g.Patterns[0] != "bash(npm run lint)" || g.GrantedBy != "local" || g.RequestID == "" || g.Note != "harmless" {
		t.Errorf("the grant is %+v", g)
	}
	w.passes("ann-key")
	w.passes("ann-key", "X-Heldcall-Session", "another")
	w.asks("bob-key")
	w.asks("eve-key")
	g = w.grants(1)[0]
	if g.Uses != 2 || g.LastUsedAt == nil {
		t.Errorf("its uses are %d, the last at %v", g.Uses, g.LastUsedAt)
	}
	if _, err := w.console.RevokeGrant(t.Context(), g.ID); err != nil {
		t.Fatal(err)
	}
	w.asks("ann-key")
	if _, err := w.console.RevokeGrant(t.Context(), g.ID); !errors.Is(err, approvals.ErrUnknownGrant) {
		t.Errorf("revoked twice: %v", err)
	}
	log := w.events(15)
	for _, part := range []string{
		`"type":"grant_created"`, `"type":"grant_revoked"`, `"rule":"grant ` + g.ID + `"`, `"action":"allow_always"`, `"patterns":["bash(npm run lint)"]`,
	} {
		if !strings.Contains(log, part) {
			t.Errorf("the audit log lacks %s: %s", part, log)
		}
	}
	if strings.Index(log, `"type":"approval_decision"`) > strings.Index(log, `"type":"grant_created"`) ||
		strings.Index(log, `"type":"grant_created"`) > strings.Index(log, `"type":"call_released"`) {
		t.Error("the events are out of order")
	}
}

// Finding 29: a decision that names nothing else is remembered for the exact call, in this
// session, for 8 hours; longer only if the reviewer writes so.
func TestFinding29_AlwaysNamesNothing(t *testing.T) {
	t.Parallel()
	w := build(t, askBash, lint, twoClients)
	g := w.always(approvals.Decision{Action: approvals.ActionAllowAlways}, "ann-key", "X-Heldcall-Session", "one")
	if g.Scope != approvals.GrantSession || g.SessionID != "one" || g.ExpiresAt == nil || g.ExpiresAt.Sub(g.CreatedAt).Round(time.Minute) != 8*time.Hour ||
		len(g.Patterns) != 1 || g.Patterns[0] != "bash(npm run lint)" {
		t.Errorf("the grant is %+v", g)
	}
	w.passes("ann-key", "X-Heldcall-Session", "one")
	w.asks("ann-key", "X-Heldcall-Session", "two")
	if _, err := w.console.RevokeGrant(t.Context(), g.ID); err != nil {
		t.Fatal(err)
	}
	g = w.always(approvals.Decision{Action: approvals.ActionAllowAlways, GrantExpiresAt: approvals.NeverExpires()}, "ann-key", "X-Heldcall-Session", "one")
	if g.ExpiresAt != nil {
		t.Errorf("the grant ends at %s", g.ExpiresAt)
	}
}

// TestGrantThatDenies: an always-denied call is denied without asking, also if rules
// allow it.
func TestGrantThatDenies(t *testing.T) {
	t.Parallel()
	w := build(t, askBash, lint, twoClients)
	g := w.always(approvals.Decision{Action: approvals.ActionDenyAlways, Scope: approvals.GrantTenant}, "ann-key")
	if g.Effect != approvals.GrantDeny || g.Scope != approvals.GrantTenant {
		t.Errorf("the grant is %+v", g)
	}
	w.denies("ann-key")
	w.denies("bob-key")
	w.asks("eve-key")
	if _, err := w.console.AddGrant(t.Context(), approvals.Grant{
		Effect: approvals.GrantAllow, Principal: approvals.Principal{Tenant: "acme"}, Scope: approvals.GrantTenant, Patterns: []string{"bash(npm run *)"},
	}); err != nil {
		t.Fatal(err)
	}
	w.denies("bob-key")
}

// TestGrantForSession covers one conversation of one principal.
func TestGrantForSession(t *testing.T) {
	t.Parallel()
	w := build(t, askBash, lint, twoClients)
	w.always(approvals.Decision{
		Action: approvals.ActionAllowAlways, Scope: approvals.GrantSession, Patterns: []string{"bash(npm run *)"},
	}, "ann-key", "X-Heldcall-Session", "one")
	w.passes("ann-key", "X-Heldcall-Session", "one")
	w.asks("ann-key", "X-Heldcall-Session", "two")
	w.asks("bob-key", "X-Heldcall-Session", "one")
}

// TestGrantExpires: a grant ends by its time, without anybody doing anything.
func TestGrantExpires(t *testing.T) {
	t.Parallel()
	w := build(t, askBash, lint)
	ends := time.Now().Add(10 * time.Second)
	w.always(approvals.Decision{Action: approvals.ActionAllowAlways, GrantExpiresAt: &ends}, "")
	w.passes("")
	time.Sleep(time.Until(ends))
	w.asks("")
	if page, err := w.console.Grants(t.Context(), approvals.GrantFilter{Expired: true}); err != nil || len(page.Items) != 1 || len(w.grants(0)) != 0 {
		t.Errorf("with those that have ended: %+v, %v", page, err)
	}
}

// TestGrantsSurviveRestart: grants and their uses are durable.
func TestGrantsSurviveRestart(t *testing.T) {
	t.Parallel()
	var config app.Config
	w := build(t, askBash, lint, restarting(&config))
	g := w.always(approvals.Decision{Action: approvals.ActionAllowAlways}, "")
	w.passes("")
	if err := w.stop(); err != nil {
		t.Fatal(err)
	}
	w.start(config)
	if again := w.grants(1)[0]; again.ID != g.ID || again.Uses != 1 || again.LastUsedAt == nil {
		t.Errorf("after a restart the grant is %+v", again)
	}
	w.passes("")
}

// TestGrantsReachReplicas: a grant given on one replica holds on the other, and
// is revoked there.
func TestGrantsReachReplicas(t *testing.T) {
	t.Parallel()
	nats := startNATS(t)
	var config app.Config
	first := build(t, askBash, lint, func(c *app.Config) { c.NATS.URL = nats; config = *c })
	second := &world{t: t, upstream: first.upstream}
	second.start(config)
	g := first.always(approvals.Decision{Action: approvals.ActionAllowAlways}, "")
	began := time.Now()
	second.grants(1)
	second.passes("")
	if _, err := second.console.RevokeGrant(t.Context(), g.ID); err != nil {
		t.Fatal(err)
	}
	first.grants(0)
	t.Logf("granted, used and revoked across replicas in %s", time.Since(began))
	first.asks("")
	second.asks("")
}

// startNATS starts a NATS server outside of heldcall and returns its URL.
func startNATS(t *testing.T) string {
	t.Helper()
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	if !srv.ReadyForConnections(soon) {
		t.Fatal("the NATS server does not start")
	}
	return srv.ClientURL()
}

// TestGrantsInShadow: a grant judges as in earnest, and nothing is held anyway.
func TestGrantsInShadow(t *testing.T) {
	t.Parallel()
	w := build(t, "default: allow\ntools:\n  bash: {resource: command, as: shell}\n", lint, func(c *app.Config) { c.Policy.Mode = "shadow" })
	if _, err := w.console.AddGrant(t.Context(), approvals.Grant{
		Effect: approvals.GrantDeny, Principal: approvals.Principal{Tenant: "default"}, Scope: approvals.GrantTenant, Patterns: []string{"bash(npm run *)"},
	}); err != nil {
		t.Fatal(err)
	}
	w.passes("")
	if log := w.events(2); !strings.Contains(log, "shadow: the policy's verdict is deny: A grant of local denies bash(npm run *)") {
		t.Errorf("not in the audit log: %s", log)
	}
}

// TestRefusedGrants: an invalid grant is refused with a reason, and the request stays pending.
func TestRefusedGrants(t *testing.T) {
	t.Parallel()
	w := build(t, askBash+`rules:
  - ask: ["bash(npm run lint)"]
    when: session == "forgotten"
    remember: false
  - ask: ["bash(npm run lint)"]
    when: session == "asked"
  - ask: ["bash(npm run lint)"]
    when: session == "lifted"
    remember: [session]
`, lint)
	refused := func(session, field, reason string, d approvals.Decision) {
		t.Helper()
		answer := w.turn("", "X-Heldcall-Session", session)
		d.RequestID = w.pending(1)[0].ID
		_, err := w.console.Decide(t.Context(), d)
		invalid := (*approvals.InvalidError)(nil)
		if !errors.As(err, &invalid) || invalid.Field != field || !strings.Contains(invalid.Reason, reason) {
			t.Errorf("%s %v: %v", session, d.Patterns, err)
		}
		w.decide(d.RequestID, approvals.Decision{Action: approvals.ActionApprove})
		<-answer
	}
	always := approvals.Decision{Action: approvals.ActionAllowAlways}
	refused("forgotten", "action", "not to be remembered", always)
	refused("forgotten", "action", "not to be remembered", approvals.Decision{Action: approvals.ActionDenyAlways})
	refused("asked", "action", "Only a denial of such a call can be remembered", always)
	refused("lifted", "scope", "permits [session] only", approvals.Decision{Action: approvals.ActionAllowAlways, Scope: approvals.GrantTenant})
	for pattern, reason := range map[string]string{
		"bash(npm run build)": "do not cover this very call",
		"bash":                "allows every command",
		"bash(*)":             "allows every command",
		"bash(* run lint)":    "does not name the program",
		"*":                   "allows every tool",
		"bash(npm run lint":   "does not end with )",
		"":                    "names no tool",
	} {
		refused("plain", "patterns", reason, approvals.Decision{Action: approvals.ActionAllowAlways, Patterns: []string{pattern}})
	}
	for _, action := range []approvals.Action{approvals.ActionAllowAlways, approvals.ActionDenyAlways} {
		for _, other := range []string{"bash(deploy *)", "send_money"} {
			refused("plain", "patterns", "has nothing to do with this call", approvals.Decision{
				Action: action, Scope: approvals.GrantTenant, Patterns: []string{"bash(npm run *)", other},
			})
		}
	}
	past := time.Now().Add(-time.Minute)
	refused("plain", "grant_expires_at", "past", approvals.Decision{Action: approvals.ActionAllowAlways, GrantExpiresAt: &past})
	refused("plain", "scope", "", approvals.Decision{Action: approvals.ActionAllowAlways, Scope: "world"})
	refused("plain", "template", "no template", approvals.Decision{Action: approvals.ActionAllowAlways, Template: "none"})
	refused("plain", "scope", "only allow_always", approvals.Decision{Action: approvals.ActionApprove, Scope: approvals.GrantUser})
	w.grants(0)
	if g := w.always(always, "", "X-Heldcall-Session", "lifted"); g.Scope != approvals.GrantSession || g.SessionID != "lifted" {
		t.Errorf("the grant is %+v", g)
	}
	w.passes("", "X-Heldcall-Session", "lifted")
}

// TestGrantToOneself: who may not approve what their own agents ask does not grant it
// to them either, by hand or in the decision on what another's agent asks.
func TestGrantToOneself(t *testing.T) {
	t.Parallel()
	for _, allowed := range []bool{false, true} {
		m := team{}
		w := build(t, askBash, lint, twoClients, m.with("ann", "admin"), func(c *app.Config) { c.Console.SelfApproval = allowed })
		w.console = w.as(m["ann"])
		outcome := func(what string, err error) {
			t.Helper()
			if allowed && err != nil {
				t.Errorf("with self_approval %s fails: %v", what, err)
			}
			if !allowed {
				wantCode(t, err, problem.CodeForbidden)
			}
		}
		for _, g := range []approvals.Grant{
			{Scope: approvals.GrantUser, Principal: approvals.Principal{Tenant: "acme", User: "ann"}},
			{Scope: approvals.GrantTenant, Principal: approvals.Principal{Tenant: "acme"}},
		} {
			g.Effect, g.Patterns = approvals.GrantAllow, []string{"bash(npm run *)"}
			_, err := w.console.AddGrant(t.Context(), g)
			outcome("the scope "+string(g.Scope), err)
		}
		for _, g := range []approvals.Grant{
			{Effect: approvals.GrantAllow, Scope: approvals.GrantUser, Principal: approvals.Principal{Tenant: "acme", User: "carl"}},
			{Effect: approvals.GrantAllow, Scope: approvals.GrantTenant, Principal: approvals.Principal{Tenant: "third"}},
			{Effect: approvals.GrantDeny, Scope: approvals.GrantUser, Principal: approvals.Principal{Tenant: "other", User: "ann"}},
		} {
			g.Patterns = []string{"bash(npm run *)"}
			if _, err := w.console.AddGrant(t.Context(), g); err != nil {
				t.Errorf("%s for %+v: %v", g.Effect, g.Principal, err)
			}
		}
		if allowed {
			continue
		}
		answer := w.turn("bob-key")
		d := approvals.Decision{RequestID: w.pending(1)[0].ID, Action: approvals.ActionAllowAlways, Scope: approvals.GrantTenant}
		_, err := w.console.Decide(t.Context(), d)
		outcome("a decision for the tenant", err)
		d.Scope = approvals.GrantUser
		w.decide(d.RequestID, d)
		<-answer
	}
}
