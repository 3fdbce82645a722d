package judge_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/judge"
)

func TestCheckGrant(t *testing.T) {
	j := newJudge(t, files{
		"policy.yaml":   "default: ask\n",
		"a/client.yaml": "default: ask\ntools: {bash: {resource: command, as: shell}}\nrules:\n  - ask: [\"bash(rm *)\"]\n  - deny: [\"bash(dd *)\"]\n",
		"b/client.yaml": "default: deny\n",
	}, judge.Options{Clients: twoClients(), Templates: []approvals.GrantTemplate{
		{Name: "scripts", Effect: approvals.GrantAllow, Patterns: []string{"bash(npm *)", "bash(ls *)"}, Scope: approvals.GrantSession, Lasts: time.Hour},
		{Name: "stop", Effect: approvals.GrantDeny, Patterns: []string{"bash"}},
	}})
	request := func(command, policy string, scopes ...approvals.GrantScope) *approvals.Request {
		return &approvals.Request{
			ToolName: "bash", Arguments: json.RawMessage(bash(command).Arguments), Principal: ann, SessionID: "s", Rule: "x.yaml:1",
			RememberScopes: scopes, Details: approvals.Details{Policy: policy},
		}
	}
	allow := func(patterns ...string) approvals.Grant {
		return approvals.Grant{Effect: approvals.GrantAllow, Principal: ann, SessionID: "s", Patterns: patterns}
	}
	const a = "a/client.yaml"
	for _, tt := range []struct {
		name    string
		grant   approvals.Grant
		request *approvals.Request
		scope   approvals.GrantScope // where it is taken
		field   string               // where it is refused
		reason  string
	}{
		{"covers the call", allow("bash(ls y)"), request("ls y", a), approvals.GrantScopes()[0], "", ""},
		{"of a scope that the rule permits", allow("bash(ls y)"), request("ls y", a, approvals.GrantSession), approvals.GrantSession, "", ""},
		{"of another", approvals.Grant{Effect: approvals.GrantAllow, Patterns: []string{"bash(ls y)"}, Scope: approvals.GrantTenant}, request("ls y", a, approvals.GrantSession), "", "scope", "x.yaml:1 permits"},
		{"by hand", allow("bash(ls *)"), nil, approvals.GrantScopes()[0], "", ""},
		{"that is no pattern", allow("bash("), nil, "", "patterns", ""},
		{"without patterns", allow(), request("ls y", a), "", "patterns", "no pattern can be suggested"},
		{"for other calls", allow("bash(cat *)"), request("ls y", a), "", "patterns", "do not cover"},
		{"for other calls too", allow("bash(ls *)", "bash(cat *)"), request("ls y", a), "", "patterns", "nothing to do with this call"},
		{"that a deny rule outranks", allow("bash(dd *)"), request("dd x", a), "", "action", "no grant overrides a deny rule, or an ask rule without remember: true"},
		{"of a policy that is not known", allow("bash(ls y)"), request("ls y", "c.yaml"), "", "action", "not configured here"},
		{"older record, under two policies", allow("bash(ls y)"), request("ls y", ""), approvals.GrantScopes()[0], "", ""},
		{"by a template", approvals.Grant{Effect: approvals.GrantAllow, Template: "scripts", Principal: ann, SessionID: "s"}, request("ls y", a), approvals.GrantSession, "", ""},
		{"by no template", approvals.Grant{Template: "none"}, request("ls y", a), "", "template", "no template"},
		{"by a template of the other action", approvals.Grant{Effect: approvals.GrantAllow, Template: "stop"}, request("ls y", a), "", "template", "deny, not allow"},
		{"by a template and patterns", approvals.Grant{Template: "stop", Patterns: []string{"bash"}}, request("ls y", a), "", "patterns", "give one of them"},
	} {
		g, err := j.CheckGrant(tt.grant, tt.request)
		if err == nil {
			if tt.field != "" || g.Scope != tt.scope {
				t.Errorf("%s: accepted with the scope %s", tt.name, g.Scope)
			}
			if g.Template != "" && (len(g.Patterns) != 2 || g.ExpiresAt == nil || !g.ExpiresAt.Equal(noon.Add(time.Hour))) {
				t.Errorf("%s: %q until %v", tt.name, g.Patterns, g.ExpiresAt)
			}
			continue
		}
		if invalid := new(approvals.InvalidError); !errors.As(err, &invalid) || invalid.Field != tt.field || !strings.Contains(invalid.Reason, tt.reason) {
			t.Errorf("%s: %v, want %s: %s", tt.name, err, tt.field, tt.reason)
		}
	}
}

func TestGrantCovers(t *testing.T) {
	j := newJudge(t, files{"policy.yaml": "default: ask\ntools: {bash: {resource: command, as: shell}}\n"}, judge.Options{})
	covers := j.GrantCovers(approvals.Grant{Effect: approvals.GrantAllow, Scope: approvals.GrantUser, Principal: ann, Patterns: []string{"bash(ls *)"}})
	for command, want := range map[string]bool{"ls y": true, "ls y; rm x": false, "rm x": false} {
		e := approvals.Event{Type: approvals.EventApprovalRequired, Principal: ann, ToolName: "bash", Before: json.RawMessage(bash(command).Arguments)}
		if got := covers(e); got != want {
			t.Errorf("%s: %t", command, got)
		}
		if e.Type = approvals.EventCallModified; covers(e) {
			t.Errorf("%s: an event that records no verdict is covered", command)
		}
	}
	if j.GrantCovers(approvals.Grant{Patterns: []string{"bash("}})(approvals.Event{}) {
		t.Error("an invalid grant covers a call")
	}
	for tool, want := range map[string]bool{"bash": true, "read": false} {
		if got := j.GrantIsFor(approvals.Grant{Effect: approvals.GrantAllow, Patterns: []string{"bash(ls *)"}}, tool); got != want {
			t.Errorf("a grant is for %s: %t", tool, got)
		}
	}
}
