package conversation

import (
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/chat"
)

func TestIdentify(t *testing.T) {
	acme := approvals.Principal{Tenant: "acme", User: "u"}
	doIt := intercept.UserText{Content: []byte(`"do it"`)}
	opening := (&Request{Principal: acme}).identify(&intercept.Info{}, doIt, "", nil)
	for name, tt := range map[string]struct {
		request   Request
		info      intercept.Info
		continued string
		session   string
		run       string
		named     bool
		opened    bool
	}{
		"a header":                   {request: Request{Session: "h"}, info: intercept.Info{Session: "b"}, continued: "c", session: "h"},
		"the body":                   {info: intercept.Info{Session: "b"}, continued: "c", session: "b"},
		"what the request continues": {continued: "c", session: "c"},
		"opening words":              {request: Request{Principal: acme}, session: opening.Session, opened: true},
		"a named run":                {request: Request{Session: "h", Run: "r1", Principal: approvals.Principal{Tenant: DefaultTenant}}, session: "h", run: "r1", named: true},
		"a named run of a tenant":    {request: Request{Session: "h", Run: "r1", Principal: acme}, session: "h", run: "r1@acme", named: true},
		"a run that could be another's": {
			request: Request{Session: "h", Run: "r1@acme", Principal: approvals.Principal{Tenant: DefaultTenant}}, session: "h", run: "r1@acme@default", named: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			id := tt.request.identify(&tt.info, doIt, tt.continued, nil)
			if id.Session != tt.session || id.Run != tt.run || id.Named != tt.named || id.Opened != tt.opened {
				t.Errorf("got %+v", id)
			}
		})
	}
	for name, other := range map[string]Identity{
		"another user":   (&Request{Principal: approvals.Principal{Tenant: "acme", User: "v"}}).identify(&intercept.Info{}, doIt, "", nil),
		"other words":    (&Request{Principal: acme}).identify(&intercept.Info{}, intercept.UserText{Content: []byte(`"do that"`)}, "", nil),
		"another answer": (&Request{Principal: acme}).identify(&intercept.Info{Refers: []string{"resp_1"}}, doIt, "", nil),
	} {
		if other.Session == opening.Session {
			t.Errorf("%s: the same session", name)
		}
	}
}

// Different parts never make the same key.
func TestKeysOfTheStore(t *testing.T) {
	seen := make(map[string]string)
	for _, who := range []approvals.Principal{{}, {Tenant: "a"}, {User: "a"}, {Tenant: "a", User: "b"}, {Tenant: "a:1:b"}} {
		for _, parts := range [][]string{{}, {""}, {"a"}, {"a", "b"}, {"ab"}, {"1:a"}, {"a", ""}, {"", "a"}} {
			id := Identity{Principal: who}
			key, of := id.Key(parts...), who.Tenant+"|"+who.User+"|"+who.Agent
			for _, part := range parts {
				of += "|" + part + ";"
			}
			if other, known := seen[key]; known {
				t.Errorf("%q and %q have the key %q", of, other, key)
			}
			seen[key] = of
		}
	}
}

// The run follows from what the user wrote, or from the answer that results belong to.
func TestIdentityOfTheRun(t *testing.T) {
	b := newBench()
	first := b.prepared(t, chatRequest()).Identity()
	again := b.prepared(t, requestTo(chat.Dialect{}, `{"model":"m","stream":true,"messages":[{"role":"user","content":"do it"}]}`)).Identity()
	if !first.Derived || first.Run != again.Run || first.Session != again.Session {
		t.Errorf("equal conversations are %+v and %+v", first, again)
	}
	results := requestTo(chat.Dialect{}, `{"model":"m","messages":[{"role":"tool","tool_call_id":"call_1","content":"done"}]}`)
	c := b.prepared(t, results)
	c.continued = keptAnswer{Session: "s1", Run: "r1", User: "said"}
	if id := c.Identity(); id.Run != "r1" || id.Session != "s1" || id.Derived || c.userMessage() != "said" {
		t.Errorf("results belong to %+v, message %q", id, c.userMessage())
	}
}
