package policy

import (
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/rule"
)

// TestSilence: a time-out releases a call if each part of it is allowed, or matches a rule
// with on_timeout: approve.
func TestSilence(t *testing.T) {
	p := mustParse(t, `default: ask
tools:
  bash: {resource: command, as: shell}
rules:
  - allow: ["bash(ls *)"]
  - {ask: ["bash(git *)"], on_timeout: approve, timeout: 10s}
  - {ask: ["bash(echo *)"], on_timeout: approve}
  - {ask: ["bash(npm *)"], timeout: 1h}
  - {ask: [note], on_timeout: approve, timeout: 1h}
  - {ask: [send], on_timeout: approve, confirm: type}
`)
	for _, tt := range []struct {
		tool, args string
		approves   bool
		timeout    time.Duration
	}{
		{"note", `{"text":"rm -rf /"}`, true, time.Hour},
		{"send", `{"text":"x"}`, false, rule.DefaultTimeout}, // silence types nothing
		{"bash", `{"command":"git push"}`, true, 10 * time.Second},
		{"bash", `{"command":"git push && git pull"}`, true, 10 * time.Second},
		{"bash", `{"command":"git push; ls x"}`, true, 10 * time.Second},
		{"bash", `{"command":"git push; echo x"}`, true, rule.DefaultTimeout},
		{"bash", `{"command":"git push; npm test"}`, false, 10 * time.Second},
		{"bash", `{"command":"echo x; npm test"}`, false, rule.DefaultTimeout},
		{"bash", `{"command":"git push; rm -rf /srv"}`, false, 10 * time.Second},
		{"bash", `{"command":"git push $(rm -rf /srv)"}`, false, 10 * time.Second},
		{"bash", `{"command":"git push > /etc/passwd"}`, false, 10 * time.Second},
	} {
		v := p.Judge(Call{Tool: tt.tool, Arguments: tt.args})
		if v.Action != Ask || (v.OnTimeout == approvals.OnTimeoutApprove) != tt.approves || v.Timeout != tt.timeout {
			t.Errorf("%s %s: %s, %s after %s", tt.tool, tt.args, v.Action, v.OnTimeout, v.Timeout)
		}
	}
}
