package judge_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/approvals/secrets"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/internal/testing/memstore"
)

// odd is a value that scripts read in a special way.
const odd = `s3q9 $(touch x)'"\k`

// judgeWithSecret is a judge of calls that may have the handle secret://ODD.
func judgeWithSecret(t *testing.T, rules string) *judge.Judge {
	t.Helper()
	s, err := secrets.New(secrets.Options{Store: memstore.New(memstore.Options{}).Secrets, KeyFile: filepath.Join(t.TempDir(), "secrets.key")})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	<-s.Ready()
	if _, err := s.Set(t.Context(), approvals.Secret{Name: "ODD", Principal: ann}, odd); err != nil {
		t.Fatal(err)
	}
	j := newJudge(t, files{"policy.yaml": rules}, judge.Options{File: "policy.yaml"})
	j.UseSecrets(s)
	return j
}

// TestNoSecretsInWrappers: a call that wraps others, or that agents may take for one that does, gets no value: in
// a script it would be code.
func TestNoSecretsInWrappers(t *testing.T) {
	rules := judgeWithSecret(t, "default: ask\n").For("", "")
	const (
		read   = `await tools.exec_command({cmd: "gh secret://ODD"})`
		unread = `if (x) await tools.exec_command({cmd: "gh secret://ODD"})`
		inner  = `{"name":"bash","arguments":{"command":"gh secret://ODD"}}`
		uses   = `{"tool_uses":[{"recipient_name":"functions.bash","parameters":{"command":"gh secret://ODD"}}]}`
		kept   = `,"previous_response_id":"resp_1"`
		wraps  = "wraps other calls"
	)
	script := func(name, text string) intercept.Call {
		return intercept.Call{Name: name, Arguments: text, FreeText: true}
	}
	otherForm := strings.ReplaceAll(callsTools, `"name":{`, `"id":{`)
	for name, tt := range map[string]struct {
		tools, fields string
		call          intercept.Call
		want          string // the error; "": the value is put in as it is
	}{
		"Codex":                                  {tools: codex, call: script("exec", read), want: wraps},
		"Codex, not read":                        {tools: codex, call: script("exec", unread), want: wraps},
		"Codex, in its namespace":                {tools: inNamespace, call: script("functions.exec", read), want: wraps},
		"Codex, without the namespace":           {tools: inNamespace, call: script("exec", read), want: wraps},
		"Codex, without the namespace, not read": {tools: inNamespace, call: script("exec", unread), want: wraps},
		"Codex, in a namespace of its own":       {tools: codex, call: script("functions.exec", read), want: wraps},
		"Codex, mended":                          {tools: codex, call: script("Exec", unread), want: wraps},
		"Codex, mended with its namespace":       {tools: inNamespace, call: script("functions_exec", unread), want: wraps},
		"Codex, with a suffix":                   {tools: codex, call: script("exec:0", unread), want: wraps},
		"kept by the provider":                   {fields: kept, call: script("exec", unread), want: wraps},
		"no tools":                               {call: script("functions.exec", unread), want: wraps},
		"a dispatcher":                           {tools: callsTools, call: intercept.Call{Name: "call_tool", Arguments: inner}, want: wraps},
		"a dispatcher, not read":                 {tools: callsTools, call: intercept.Call{Name: "call_tool", Arguments: `{"name":"bash","arguments":{"command":"gh secret://ODD"},"x":1}`}, want: wraps},
		"a dispatcher, mended":                   {tools: callsTools, call: intercept.Call{Name: "functions.callTool", Arguments: inner}, want: wraps},
		"a dispatcher without its suffix":        {tools: callsTools, call: intercept.Call{Name: "Call", Arguments: inner}, want: wraps},
		"a dispatcher of another form":           {tools: otherForm, call: intercept.Call{Name: "call_tool", Arguments: inner}, want: wraps},
		"parallel":                               {tools: parallel, call: intercept.Call{Name: "parallel", Arguments: uses}, want: wraps},
		"parallel, not offered":                  {tools: bashTool, call: intercept.Call{Name: "multi_tool_use.parallel", Arguments: uses}, want: wraps},

		"a shell with the name of Codex' tool":   {tools: shellExec, call: script("exec", "gh secret://ODD")},
		"a tool with the name of a dispatcher":   {tools: otherForm, call: intercept.Call{Name: "call_tool", Arguments: `{"id":"secret://ODD"}`}},
		"a tool of the agent's own":              {tools: `{"type":"function","name":"login"}`, call: intercept.Call{Name: "login", Arguments: `{"password":"secret://ODD"}`}},
		"a tool of the agent's own, mended":      {tools: `{"type":"function","name":"login"}`, call: intercept.Call{Name: "Login", Arguments: `{"password":"secret://ODD"}`}},
		"a tool of the agent's own, not offered": {tools: bashTool, call: intercept.Call{Name: "login", Arguments: `{"password":"secret://ODD"}`}},
	} {
		from := judge.Origin{Principal: ann, Offer: offering(t, tt.tools, tt.fields)}
		text, err := rules.InsertSecrets(from, tt.call, rules.Secrets(from, tt.call))
		switch {
		case tt.want == "" && (err != nil || !strings.Contains(text, "s3q9")):
			t.Errorf("%s: %q, %v", name, text, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %q, %v; want an error with %q", name, text, err, tt.want)
		}
	}
}

// TestSecretsUnderOtherNames: a value has the form of the tool that agents run for a name that is not offered.
func TestSecretsUnderOtherNames(t *testing.T) {
	rules := judgeWithSecret(t, "default: ask\ntools: {vm_run: {resource: line, as: shell}}\n").For("", "")
	const (
		quoted = `{"command":"gh 's3q9 $(touch x)'\\''\"\\k'"}`
		inVM   = `{"line":"gh 's3q9 $(touch x)'\\''\"\\k'"}`
		vmRun  = `{"type":"function","name":"vm_run"}`
	)
	for name, tt := range map[string]struct {
		tools, fields string
		call, want    string
	}{
		"a shell":                                     {tools: bashTool, call: `bash {"command":"gh 'secret://ODD'"}`, want: quoted},
		"a shell in a namespace":                      {tools: bashTool, call: `functions.bash {"command":"gh 'secret://ODD'"}`, want: quoted},
		"a shell, another case":                       {tools: bashTool, call: `BASH {"command":"gh 'secret://ODD'"}`, want: quoted},
		"a shell, a suffix":                           {tools: bashTool, call: `bash_tool:0 {"command":"gh 'secret://ODD'"}`, want: quoted},
		"a shell, at a place without a value":         {tools: bashTool, call: `functions.bash {"command":"ls # secret://ODD"}`},
		"a shell of the policy":                       {tools: vmRun, call: `vm_run {"line":"gh 'secret://ODD'"}`, want: inVM},
		"a shell of the policy, mended":               {tools: vmRun, call: `VmRun {"line":"gh 'secret://ODD'"}`, want: inVM},
		"a shell of the policy, kept by the provider": {fields: `,"previous_response_id":"resp_1"`, call: `default_api.vm_run {"line":"gh 'secret://ODD'"}`, want: inVM},
	} {
		from := judge.Origin{Principal: ann, Offer: offering(t, tt.tools, tt.fields)}
		tool, arguments, _ := strings.Cut(tt.call, " ")
		c := intercept.Call{Name: tool, Arguments: arguments}
		text, err := rules.InsertSecrets(from, c, rules.Secrets(from, c))
		if (tt.want == "") != (err != nil) || text != tt.want {
			t.Errorf("%s: %s, %v; want %s", name, text, err, tt.want)
		}
	}
}
