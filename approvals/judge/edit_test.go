package judge_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/judge"
)

const editPolicy = `
default: deny
tools: {bash: {resource: command, as: shell}, note: {default: deny}}
rules:
  - allow: ["bash(ls *)"]
  - ask: ["bash(psql *)"]
    reviewers: [dba]
  - ask: ["bash(curl *)"]
    reviewers: [security]
    required_approvals: 2
  - ask: [patch]
  - deny: ["bash(ls /etc)", "patch(*secret*)"]
`

func TestEdit(t *testing.T) {
	j := newJudge(t, files{"policy.yaml": "default: deny\n", "a/client.yaml": editPolicy, "b/client.yaml": "default: allow\nrules:\n  - deny: [\"bash(ls b)\"]\n    match: arguments\n"},
		judge.Options{Clients: twoClients()})
	j.KeepGrant(approvals.Grant{ID: "G", Effect: approvals.GrantDeny, Scope: approvals.GrantUser, Principal: bob, Patterns: []string{"bash(ls bob)"}})
	request := func(tool, policy string, who approvals.Principal) approvals.Request {
		return approvals.Request{
			ToolName: tool, Arguments: json.RawMessage(`{}`), Principal: who,
			Details: approvals.Details{Policy: policy, FreeText: tool == "patch", RawArguments: "what the model wrote"},
		}
	}
	const a, none = "a/client.yaml", ""
	for _, tt := range []struct {
		name    string
		request approvals.Request
		args    string
		groups  []string // that have to approve
		refused string
	}{
		{"allowed", request("bash", a, bob), bash("ls x").Arguments, nil, ""},
		{"asked about", request("bash", a, bob), bash("psql x").Arguments, []string{"dba 1"}, ""},
		{"asked about by two rules", request("bash", a, bob), bash("psql x; curl y").Arguments, []string{"security 2", "dba 1"}, ""},
		{"denied by a rule", request("bash", a, bob), bash("ls /etc").Arguments, nil, "client.yaml:12 denies them"},
		{"denied by the default", request("bash", a, bob), bash("make").Arguments, nil, "default denies them"},
		{"denied by the tool's default", request("note", a, bob), `{}`, nil, "tool note"},
		{"denied by a grant", request("bash", a, bob), bash("ls bob").Arguments, nil, "grant G denies them"},
		{"grant of another", request("bash", a, ann), bash("ls bob").Arguments, nil, ""},
		{"by the main policy", request("bash", "policy.yaml", ann), bash("ls x").Arguments, nil, "default denies them"},
		{"by the policy of another client", request("bash", "b/client.yaml", bob), bash("make").Arguments, nil, ""},
		{"policy that is not known", request("bash", "c/client.yaml", ann), bash("ls x").Arguments, nil, "not configured here"},
		{"older record, denied by one of two", request("bash", none, ann), bash("ls b").Arguments, nil, "client.yaml:3 denies them"},
		{"older record, denied by the other", request("bash", none, ann), bash("make").Arguments, nil, "default denies them"},
		{"older record, denied by none", request("bash", none, ann), bash("ls x").Arguments, nil, ""},
		{"older record of no client", request("bash", none, bob), bash("ls x").Arguments, nil, "default denies them"},
		{"free text", request("patch", a, bob), `"add\nline"`, []string{" 1"}, ""},
		{"free text, denied", request("patch", a, bob), `"a secret"`, nil, "client.yaml:12 denies them"},
		{"wraps two", request("multi_tool_use.parallel", a, bob), wrapping(bash("psql x"), bash("ls y")).Arguments, []string{"dba 1"}, ""},
		{"wraps a denied one", request("multi_tool_use.parallel", a, bob), wrapping(bash("psql x"), bash("make")).Arguments, nil, "default denies them"},
		{"wraps an empty call", request("multi_tool_use.parallel", a, bob), `{"tool_uses":[{}]}`, nil, "cannot be read with certainty"},
	} {
		demands, err := j.Edit(tt.request, json.RawMessage(tt.args))
		var groups []string
		for _, d := range demands {
			groups = append(groups, strings.Join(d.Reviewers, ",")+" "+string(rune('0'+d.RequiredApprovals)))
		}
		if (err != nil) != (tt.refused != "") || !slices.Equal(groups, tt.groups) {
			t.Errorf("%s: %q, %v; want %q, %q", tt.name, groups, err, tt.groups, tt.refused)
		}
		if invalid := new(approvals.InvalidError); err != nil && (!errors.As(err, &invalid) || invalid.Field != "modified_args" || !strings.Contains(err.Error(), tt.refused)) {
			t.Errorf("%s: refused with %v, want %q", tt.name, err, tt.refused)
		}
	}
}

// TestEditInShadowMode: an edit of a request from before shadow mode is still denied by the
// rules.
func TestEditInShadowMode(t *testing.T) {
	j := newJudge(t, files{"policy.yaml": "default: deny\n"}, judge.Options{Shadow: true})
	if _, err := j.Edit(approvals.Request{ToolName: "bash"}, json.RawMessage(`{}`)); err == nil {
		t.Error("an edit that the policy denies is accepted")
	}
}
