package app_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// stated returns a decision for each action that a request states, and why it is not possible.
func stated(r *approvals.Request) map[string]statedAction {
	all := r.Actions
	d := func(action approvals.Action) approvals.Decision {
		return approvals.Decision{RequestID: r.ID, Action: action}
	}
	edit, answer, window := d(approvals.ActionModifyArgs), d(approvals.ActionAnswer), d(approvals.ActionApprove)
	edit.ModifiedArgs, window.Window = r.Arguments, "15m"
	answer.Answer = "Use the other one."
	var exact []string
	if r.Details.Remember != nil {
		exact = r.Details.Remember.Patterns
	}
	never := d(approvals.ActionDenyAlways)
	if r.Arguments[0] != '{' {
		edit.ModifiedArgs = []byte(`{"file_path":"/srv/app/a.go"}`)
	}
	if r.Asks() {
		answer.Answer, answer.Selected = "", []string{"white"}
	}
	actions := map[string]statedAction{
		"approve": {d(approvals.ActionApprove), all.Approve.Reason}, "deny": {d(approvals.ActionDeny), all.Deny.Reason},
		"edit": {edit, all.Edit.Reason}, "answer": {answer, all.Answer.Reason}, "window": {window, all.Window.Reason},
		"never": {never, all.Never.Reason},
	}
	for _, pattern := range append([]string{""}, all.Always.Patterns...) {
		always := d(approvals.ActionAllowAlways)
		always.Patterns = slices.Clone(exact)
		if strings.Contains(pattern, "*") {
			always.Patterns = append(always.Patterns, pattern)
		}
		actions["always "+pattern] = statedAction{always, all.Always.Reason}
	}
	return actions
}

type statedAction struct {
	decision approvals.Decision
	reason   string
}

// TestStatedActions: each action that a request states is accepted, and each other one is refused with the stated reason.
func TestStatedActions(t *testing.T) {
	t.Parallel()
	const workspace = "default: ask\nworkspace: [/srv/app]\n"
	for _, tt := range []struct{ name, policy, tool, arguments, off string }{
		{"in the workspace", workspace, "Write", `{"file_path":"/srv/app/a.go","content":"sesame"}`, ""},
		{"outside", workspace, "Write", `{"file_path":"/etc/a.go","content":"sesame"}`, "window"},
		{"a relative path, of which the folder is not known", workspace, "Write", `{"file_path":"a.go","content":"sesame"}`, "window"},
		{"without a workspace", "default: ask\n", "Write", `{"file_path":"/srv/app/a.go","content":"sesame"}`, "window"},
		{"a command", workspace + "tools:\n  bash: {resource: command, as: shell}\n", "bash", `{"command":"npm run lint && git status"}`, "window"},
		{"a rule", workspace + "rules:\n  - ask: [Write]\n    remember: true\n", "Write", `{"file_path":"/srv/app/a.go","content":"sesame"}`, "window"},
		{"a rule without more", workspace + "rules:\n  - ask: [Write]\n", "Write", `{"file_path":"/srv/app/a.go","content":"sesame"}`, "window always"},
		{"a rule about a part", workspace + "tools:\n  bash: {resource: command, as: shell}\nrules:\n  - ask: [\"bash(git *)\"]\n", "bash", `{"command":"npm run lint && git status"}`, "window always"},
		{"a critical call", workspace + "tools:\n  Write: {risk: critical}\n", "Write", `{"file_path":"/srv/app/a.go","content":"sesame"}`, "window"},
		{"not to be remembered", workspace + "rules:\n  - ask: [Write]\n    remember: false\n", "Write", `{"file_path":"/srv/app/a.go","content":"sesame"}`, "window always never"},
		{"two approvals", workspace + "rules:\n  - ask: [Write]\n    required_approvals: 2\n", "Write", `{"file_path":"/srv/app/a.go","content":"sesame"}`, "window always never edit"},
		{"in doubt", workspace, "Write", `{"file_path":"/srv/app/a.go","file_path":"/srv/app/b.go","content":"sesame"}`, "window always never"},
		{"a question", offersAll, "request_decision", whichSesame, "approve edit always never window"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := build(t, tt.policy, func(r *fakemodel.Request) fakemodel.Reply {
				if strings.Contains(string(r.Body), `"role":"tool"`) {
					return fakemodel.Answer{Text: "Understood."}.Reply(r)
				}
				return fakemodel.Answer{Calls: []fakemodel.Call{{ID: "call_sesame", Name: tt.tool, Arguments: tt.arguments}}}.Reply(r)
			}, twoClients)
			ask := func(session string) (approvals.Request, chan string) {
				answer := w.turn("ann-key", "X-Heldcall-Session", session, "X-Heldcall-Run", session)
				return w.pending(1)[0], answer
			}
			r, answer := ask("first")
			for name, action := range stated(&r) {
				if (action.reason != "") != slices.ContainsFunc(strings.Fields(tt.off), func(off string) bool { return strings.Contains(name, off) }) {
					t.Errorf("%s is stated with %q", name, action.reason)
				}
			}
			for name := range stated(&r) {
				w.settles(&r, name)
				<-answer
				if r, answer = ask(name); r.Actions == nil {
					t.Fatal("the request states no actions")
				}
			}
			w.decide(r.ID, approvals.Decision{Action: approvals.ActionDeny})
			<-answer
			if ended := w.status(r.ID, approvals.StatusDenied); ended.Actions != nil {
				t.Errorf("a request that has ended states %+v", ended.Actions)
			}
		})
	}
}

// settles makes a decision as a request states it, and denies the request if it then waits.
func (w *world) settles(r *approvals.Request, name string) {
	w.t.Helper()
	action := stated(r)[name]
	decided, err := w.console.Decide(w.t.Context(), action.decision)
	var invalid *approvals.InvalidError
	switch {
	case action.reason == "" && err != nil:
		w.t.Errorf("%s is stated as possible: %v", name, err)
	case action.reason != "" && (!errors.As(err, &invalid) || !strings.Contains(err.Error(), strings.TrimSuffix(action.reason, "."))):
		w.t.Errorf("%s is stated with %q: %v", name, action.reason, err)
	}
	if err != nil || decided.Status == approvals.StatusPending {
		w.decide(r.ID, approvals.Decision{Action: approvals.ActionDeny})
	}
}
