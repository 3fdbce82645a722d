package nats_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
)

// anyGrant is a policy that takes every grant.
type anyGrant struct{}

func (anyGrant) CheckGrant(g approvals.Grant, _ *approvals.Request) (approvals.Grant, error) {
	if g.Scope == "" {
		g.Scope = approvals.GrantUser
	}
	return g, nil
}

func (a anyGrant) GrantCovers(g approvals.Grant) func(approvals.Event) bool {
	return func(e approvals.Event) bool { return a.GrantIsFor(g, e.ToolName) }
}

func (anyGrant) GrantIsFor(g approvals.Grant, tool string) bool {
	return slices.Contains(g.Patterns, tool)
}

// TestGrantsOverNATS: grants are listed, read, looked at before, written and
// revoked as decisions are: by the reviewer in the subject.
func TestGrantsOverNATS(t *testing.T) {
	st := start(t)
	st.open(t)
	const grant = `{"effect":"allow","principal":{"tenant":"acme corp"},"patterns":["rm"]}`
	preview := ask(t, st.bot, "heldcall.v1.svc.grants.preview", grant)
	if preview["calls"] != 1.0 || preview["covered"] != 1.0 {
		t.Errorf("preview %v", preview)
	}
	g := ask(t, st.bot, "heldcall.v1.grants.local.add", grant)
	id, _ := g["id"].(string)
	if len(id) != 26 || g["granted_by"] != "local" || g["channel"] != "nats" || g["scope"] != "user" {
		t.Fatalf("granted %v", g)
	}
	for _, c := range []struct {
		subject, payload string
		items            int
	}{
		{"heldcall.v1.svc.grants.list", ``, 1},
		{"heldcall.v1.svc.grants.list", `{"tenant":"acme corp","tool":"rm"}`, 1},
		{"heldcall.v1.svc.grants.list", `{"tool":"ls"}`, 0},
	} {
		if items, _ := ask(t, st.bot, c.subject, c.payload)["items"].([]any); len(items) != c.items {
			t.Errorf("%s: %d items", c.payload, len(items))
		}
	}
	if got := ask(t, st.bot, "heldcall.v1.svc.grants.get", `{"id":"`+id+`"}`); got["id"] != id {
		t.Errorf("read %v", got)
	}
	if got := ask(t, st.bot, "heldcall.v1.grants.local.revoke", `{"id":"`+id+`"}`); got["id"] != id {
		t.Errorf("revoked %v", got)
	}
	for _, c := range []struct{ subject, payload, code string }{
		{"heldcall.v1.grants.local.revoke", `{"id":"` + id + `"}`, "unknown_grant"},
		{"heldcall.v1.svc.grants.get", `{"id":"` + id + `"}`, "unknown_grant"},
		{"heldcall.v1.grants.local.add", `{"effect":"allow","granted_by":"rita"}`, "invalid"},
		{"heldcall.v1.grants.local.add", `{"effect":"allow","principal":{"tenant":"a"}}`, "invalid"},
		{"heldcall.v1.svc.grants.list", `{"tenannt":"a"}`, "invalid"},
	} {
		if got := ask(t, st.bot, c.subject, c.payload); got["code"] != c.code {
			t.Errorf("%s %s: %v", c.subject, c.payload, got)
		}
	}
}

// TestDecideAlwaysOverNATS: a decision over NATS is remembered too.
func TestDecideAlwaysOverNATS(t *testing.T) {
	st := start(t)
	r, _ := st.open(t)
	got := ask(t, st.bot, "heldcall.v1.decide.local."+r.ID, `{"action":"allow_always","patterns":["rm"]}`)
	if got["code"] != "invalid" || !strings.Contains(got["message"].(string), "not to be remembered") {
		t.Errorf("a request that may not be remembered: %v", got)
	}
	h, err := st.gate.Open(t.Context(), []approvals.Request{{
		Kind: approvals.KindPermission, Principal: approvals.Principal{Tenant: "acme"}, ToolName: "rm", AllowRemember: true,
	}})
	if err != nil {
		t.Fatal(err)
	}
	got = ask(t, st.bot, "heldcall.v1.decide.local."+h.Requests()[0].ID, `{"action":"deny_always","patterns":["rm"],"scope":"tenant"}`)
	if got["status"] != "denied" {
		t.Fatalf("decided %v", got)
	}
	items, _ := ask(t, st.bot, "heldcall.v1.svc.grants.list", `{}`)["items"].([]any)
	if len(items) != 1 || items[0].(map[string]any)["effect"] != "deny" || items[0].(map[string]any)["scope"] != "tenant" {
		t.Errorf("grants %v", items)
	}
}
