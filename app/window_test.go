package app_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// writes calls Write in the workspace, until the model gets a result or a denial.
func writes(r *fakemodel.Request) fakemodel.Reply {
	if strings.Contains(string(r.Body), `"role":"tool"`) {
		return fakemodel.Answer{Text: "Understood."}.Reply(r)
	}
	return fakemodel.Answer{Calls: []fakemodel.Call{{ID: "call_sesame", Name: "Write", Arguments: `{"file_path":"/srv/app/a.go","content":"npm run lint"}`}}}.Reply(r)
}

const askInWorkspace = "default: ask\nworkspace: [/srv/app]\n"

// TestTrustWindow: an approval opens a window for its run, which a reviewer closes, and both are in
// the audit log.
func TestTrustWindow(t *testing.T) {
	t.Parallel()
	w := build(t, askInWorkspace, writes, twoClients)
	run := []string{"X-Heldcall-Session", "s", "X-Heldcall-Run", "r1"}
	answer := w.turn("ann-key", run...)
	r := w.pending(1)[0]
	if !r.Details.Window || approvals.EffectsText(r.Effects) != "writes /srv/app/a.go in the workspace" || r.RiskLevel != approvals.RiskMedium {
		t.Errorf("window %v, effects %q, risk %s", r.Details.Window, approvals.EffectsText(r.Effects), r.RiskLevel)
	}
	for _, wrong := range []approvals.Decision{
		{Action: approvals.ActionApprove, Window: "61m"},
		{Action: approvals.ActionApprove, Window: "-1m"},
		{Action: approvals.ActionApprove, Window: "soon"},
		{Action: approvals.ActionDeny, Window: "15m"},
		{Action: approvals.ActionAllowAlways, Window: "15m"},
	} {
		wrong.RequestID = r.ID
		if _, err := w.console.Decide(t.Context(), wrong); !errors.As(err, new(*approvals.InvalidError)) {
			t.Errorf("%s for %q: %v", wrong.Action, wrong.Window, err)
		}
	}
	w.decide(r.ID, approvals.Decision{Action: approvals.ActionApprove, Window: "15m"})
	<-answer
	g := w.grants(1)[0]
	if !g.Window || g.RunID != r.RunID || g.SessionID != "s" || g.Scope != approvals.GrantSession || g.ExpiresAt == nil || g.ExpiresAt.Sub(g.CreatedAt) != 15*time.Minute || len(g.Patterns) > 0 {
		t.Errorf("the window is %+v", g)
	}
	w.passes("ann-key", run...)
	w.asks("ann-key", "X-Heldcall-Session", "s")
	w.asks("ann-key", "X-Heldcall-Session", "s2", "X-Heldcall-Run", "r1")
	w.asks("bob-key", run...)
	if now := w.grants(1)[0]; !now.ExpiresAt.Equal(*g.ExpiresAt) || now.Uses != 1 {
		t.Errorf("after its use: %+v", now)
	}
	if _, err := w.console.RevokeGrant(t.Context(), g.ID); err != nil {
		t.Fatal(err)
	}
	w.asks("ann-key", run...)
	opened, closed := w.eventsOf(approvals.EventWindowOpened), w.eventsOf(approvals.EventWindowClosed)
	if len(opened) != 1 || len(closed) != 1 || opened[0].Grant.RunID != r.RunID || closed[0].ReviewerID != "local" {
		t.Errorf("opened %+v, closed %+v", opened, closed)
	}
}

// TestTrustWindowEnds: a window ends by itself, and its end is in the audit log.
func TestTrustWindowEnds(t *testing.T) {
	t.Parallel()
	w := build(t, askInWorkspace, writes, twoClients)
	run := []string{"X-Heldcall-Session", "s", "X-Heldcall-Run", "r1"}
	answer := w.turn("ann-key", run...)
	w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionApprove, Window: "2s"}) // a shorter one may have ended before it is granted
	<-answer
	w.grants(0)
	w.asks("ann-key", run...)
	for deadline := time.Now().Add(soon); ; time.Sleep(20 * time.Millisecond) {
		if closed := w.eventsOf(approvals.EventWindowClosed); len(closed) == 1 && closed[0].ReviewerID == approvals.ReviewerTimeout {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the end of the window is not in the audit log")
		}
	}
}

// TestTrustWindowNotOffered: without a workspace, and where the rule forbids to remember, no window
// can be opened.
func TestTrustWindowNotOffered(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]string{
		"no workspace":   "default: ask\n",
		"no remembering": askInWorkspace + "rules:\n  - ask: [Write]\n    remember: false\n",
		"other scopes":   askInWorkspace + "rules:\n  - ask: [Write]\n    remember: [user]\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := build(t, policy, writes, twoClients)
			answer := w.turn("ann-key", "X-Heldcall-Session", "s")
			r := w.pending(1)[0]
			_, err := w.console.Decide(t.Context(), approvals.Decision{RequestID: r.ID, Action: approvals.ActionApprove, Window: "15m"})
			if r.Details.Window || !errors.As(err, new(*approvals.InvalidError)) {
				t.Errorf("offered: %v, opened: %v", r.Details.Window, err)
			}
			w.decide(r.ID, approvals.Decision{Action: approvals.ActionDeny})
			<-answer
		})
	}
}
