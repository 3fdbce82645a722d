package launch

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/cmd/heldcall/internal/discovery"
)

// Each request and its end has a line that names the call, the question or the result, and the command that shows it.
func TestNotices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		n := NewNotices(&out, nil, app.TerminalConfig{}, nil)
		for _, tt := range []struct {
			event approvals.Event
			want  string
		}{
			{approvals.Event{Type: approvals.EventApprovalRequired, ToolName: "bash"}, "held  bash  ls   4m58s left   heldcall approve ABCDEF\n"},
			{approvals.Event{Type: approvals.EventApprovalDecision, ToolName: "bash", Action: approvals.ActionApprove, ReviewerID: "ann"}, "approved  bash  by ann   heldcall show ABCDEF\n"},
			{approvals.Event{Type: approvals.EventApprovalDecision, ToolName: "bash", Action: approvals.ActionAnswer, ReviewerID: "ann", Note: "in words"}, "answered  bash  by ann   heldcall show ABCDEF\n"},
			{approvals.Event{Type: approvals.EventApprovalRequired, ToolName: "request_decision", Kind: approvals.KindDecision}, "held  question request_decision  ls   4m58s left   heldcall answer ABCDEF\n"},
			{approvals.Event{Type: approvals.EventApprovalExpired, ToolName: "request_input", Kind: approvals.KindCombined}, "expired  question request_input  no decision in time   heldcall show ABCDEF\n"},
			{approvals.Event{Type: approvals.EventApprovalCancelled, ToolName: "bash"}, "cancelled  bash  nothing waits for it   heldcall show ABCDEF\n"},
			{approvals.Event{Type: approvals.EventApprovalRequired, ToolName: "bash", Kind: approvals.KindResult}, "held  result of bash  ls   4m58s left   heldcall approve ABCDEF\n"},
			{approvals.Event{Type: approvals.EventCallReleased, ToolName: "bash"}, ""},
		} {
			out.Reset()
			tt.event.RequestID = "01R00ABCDEF"
			n.Event(tt.event, discovery.Held{Preview: "ls", Heading: "Reads data in 1 call", ExpiresAt: time.Now().Add(298 * time.Second)})
			if got := out.String(); got != tt.want {
				t.Errorf("%s of %s: %q, want %q", tt.event.Type, tt.event.ToolName, got, tt.want)
			}
		}
	})
}

// Another process sends the events of an attached agent.
func TestNoticesDoNotControlTheTerminal(t *testing.T) {
	var out strings.Builder
	n := NewNotices(&out, nil, app.TerminalConfig{}, nil)
	n.Event(approvals.Event{Type: approvals.EventApprovalDecision, Action: approvals.ActionApprove, ToolName: "a\x1b[2J", ReviewerID: "b\x1b[2J", RequestID: "c\x1b"}, discovery.Held{})
	n.Event(approvals.Event{Type: approvals.EventApprovalRequired, ToolName: "a", RequestID: "c\n"}, discovery.Held{Preview: "d\x1b[2J\n"})
	if got := out.String(); strings.Contains(got, "\x1b") || strings.Count(got, "\n") != 2 {
		t.Errorf("%q", got)
	}
}

// A terminal on which the command draws has each sign that is wanted, and its title back at the end.
func TestSignsOfTheTerminal(t *testing.T) {
	t.Setenv("SSH_CONNECTION", "x") // the desktop is another computer's
	for _, wanted := range []app.TerminalConfig{{}, {Title: true}, {OSC9: true}, {Bell: true}} {
		file := filepath.Join(t.TempDir(), "terminal")
		terminal, err := os.Create(file)
		if err != nil {
			t.Fatal(err)
		}
		n := NewNotices(io.Discard, terminal, wanted, nil)
		held := approvals.Event{Type: approvals.EventApprovalRequired, ToolName: "bash", RequestID: "01R"}
		n.waiting[held.RequestID] = true
		n.sign(held, discovery.Held{Preview: "rm x", Heading: "Destroys \x1bx"})
		n.Wait()
		terminal.Close()
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want := ""
		switch {
		case wanted.Title:
			want = "\x1b[22;2t\x1b]2;heldcall: 1 call held\x1b\\\x1b]2;\x1b\\\x1b[23;2t"
		case wanted.OSC9:
			want = "\x1b]9;heldcall holds bash: Destroys \\x1bx\x1b\\"
		case wanted.Bell:
			want = "\a"
		}
		if string(got) != want {
			t.Errorf("%+v: %q, want %q", wanted, got, want)
		}
	}
}

// Calls that come within two seconds are one notification of the desktop.
func TestNotificationsOfTheDesktop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := NewNotices(nil, nil, app.TerminalConfig{}, nil)
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
