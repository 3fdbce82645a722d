package app_test

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// TestPromise9_WhatIsJudgedIsWhatRuns_DoubtsAreAsked is findings 4, 7 and 10 through the front door: rules
// with an argument or a condition release none of these calls, streamed or whole, and
// reviewers see the reason.
func TestPromise9_WhatIsJudgedIsWhatRuns_DoubtsAreAsked(t *testing.T) {
	t.Parallel()
	const rules = "default: deny\ntools:\n  read_file: {resource: path, as: path, default: ask}\n  transfer: {default: ask}\n  named: {default: ask}\n" +
		"rules:\n  - allow: [\"read_file(./**)\", named]\n  - {allow: [transfer], when: args.amount <= 10}\n"
	for name, tt := range map[string]struct{ tool, args, reason string }{
		"an exponent":       {"transfer", `{"amount":9e-99}`, "which programs read differently"},
		"a decoy":           {"read_file", `{"path":"src/a","other":"/opt/x"}`, "not known for this tool"},
		"a known decoy":     {"read_file", `{"path":"src/a","file_path":"/opt/x"}`, ""},
		"a secret":          {"read_file", `{"path":"src/.env"}`, "may access secrets"},
		"harmless":          {"read_file", `{"path":"src/a"}`, "-"},
		"a plain number":    {"transfer", `{"amount":9.5}`, "-"},
		"allowed by name":   {"named", `{"amount":9e-99,"path":".env","other":"x"}`, "-"},
		"a secret, by name": {"named", `{"path":".env"}`, "-"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := build(t, rules, func(r *fakemodel.Request) fakemodel.Reply {
				return fakemodel.Answer{ID: "x", Calls: []fakemodel.Call{{ID: "c", Name: tt.tool, Arguments: tt.args}}}.Reply(r)
			})
			for _, request := range []string{streamedRequest, wholeRequest} {
				answer := make(chan string, 1)
				go func() { answer <- w.post("/v1/chat/completions", request).rest() }()
				if tt.reason != "-" {
					r := w.pending(1)[0]
					if !strings.Contains(r.Reason, tt.reason) {
						t.Errorf("people are asked because %q, want %q", r.Reason, tt.reason)
					}
					w.decide(r.ID, approvals.Decision{Action: approvals.ActionApprove})
				}
				if got := <-answer; !strings.Contains(got, tt.tool) {
					t.Errorf("got %s", got)
				}
			}
		})
	}
}
