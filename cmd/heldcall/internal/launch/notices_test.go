package launch

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// Each request and its end has a line that names the call, the question or the result.
func TestNotices(t *testing.T) {
	var out strings.Builder
	n := NewNotices(&out, nil, nil)
	n.LinkTo("http://console")
	for _, tt := range []struct {
		event approvals.Event
		want  string
	}{
		{approvals.Event{Type: approvals.EventApprovalRequired, ToolName: "bash"}, "bash is held"},
		{approvals.Event{Type: approvals.EventApprovalDecision, ToolName: "bash", Action: approvals.ActionApprove, ReviewerID: "ann"}, "bash is approved by ann"},
		{approvals.Event{Type: approvals.EventApprovalDecision, ToolName: "bash", Action: approvals.ActionAnswer, ReviewerID: "ann", Note: "in words"}, "bash is answered by ann"},
		{approvals.Event{Type: approvals.EventApprovalRequired, ToolName: "request_decision", Kind: approvals.KindDecision}, "the question request_decision is held"},
		{approvals.Event{Type: approvals.EventApprovalDecision, ToolName: "request_decision", Kind: approvals.KindDecision, Action: approvals.ActionAnswer, ReviewerID: "ann"}, "the question request_decision is answered by ann"},
		{approvals.Event{Type: approvals.EventApprovalExpired, ToolName: "request_input", Kind: approvals.KindCombined}, "the question request_input expired: no decision in time"},
		{approvals.Event{Type: approvals.EventApprovalRequired, ToolName: "bash", Kind: approvals.KindResult}, "the result of bash is held"},
		{approvals.Event{Type: approvals.EventCallReleased, ToolName: "bash"}, ""},
	} {
		out.Reset()
		tt.event.RequestID = "01R"
		n.Event(tt.event)
		want := "heldcall: " + tt.want + ": http://console/#/requests/01R\n"
		if tt.want == "" {
			want = ""
		}
		if got := out.String(); got != want {
			t.Errorf("%s of %s: %q, want %q", tt.event.Type, tt.event.ToolName, got, want)
		}
	}
}

// Another process sends the events of an attached agent.
func TestNoticesDoNotControlTheTerminal(t *testing.T) {
	var out strings.Builder
	n := NewNotices(&out, nil, nil)
	n.LinkTo("http://console")
	n.Event(approvals.Event{Type: approvals.EventApprovalDecision, Action: approvals.ActionApprove, ToolName: "a\x1b[2J", ReviewerID: "b\x1b[2J", RequestID: "c\x1b[2J\n"})
	if got, want := out.String(), `heldcall: a\x1b[2J is approved by b\x1b[2J: http://console/#/requests/c\x1b[2J\x0a`+"\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Calls that come within two seconds are one notification of the desktop.
func TestNotificationsOfTheDesktop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := NewNotices(nil, nil, nil)
		for i, tt := range []struct {
			after time.Duration
			ended bool // the one before is not shown any more
			due   bool
		}{
			{0, true, true},
			{time.Second, true, false},
			{time.Second, true, true},
			{time.Minute, false, false},
		} {
			time.Sleep(tt.after)
			if tt.ended {
				n.showing = false
			}
			if got := n.due(); got != tt.due {
				t.Errorf("%d: %t", i, got)
			}
		}
	})
}
