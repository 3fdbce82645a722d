package watch

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/console/client"
)

// script is actions that only remember what they were asked.
type script struct {
	decisions []approvals.Decision
	edited    []string
	loaded    []string
	suggested []string
}

func (s *script) decide(d approvals.Decision) tea.Cmd {
	s.decisions = append(s.decisions, d)
	return nil
}

func (s *script) load(id string) tea.Cmd {
	s.loaded = append(s.loaded, id)
	return nil
}

func (s *script) suggest(id string) tea.Cmd {
	s.suggested = append(s.suggested, id)
	return nil
}

func (s *script) edit(id string, arguments []byte) tea.Cmd {
	s.edited = append(s.edited, id+" "+string(arguments))
	return nil
}

// session is a model in the hands of a reviewer.
type session struct {
	t *testing.T
	Model
	did *script
}

func begin(t *testing.T, requests ...approvals.Request) *session {
	t.Helper()
	did := &script{}
	s := &session{t, New(client.Self{Reviewer: reviewers.Reviewer{Name: "ann", Role: reviewers.RoleReviewer}}, did, noon), did}
	s.send(tea.WindowSizeMsg{Width: 80, Height: 24}, openedMsg{})
	var ids []string
	for _, r := range requests {
		s.send(requestMsg{r})
		ids = append(ids, r.ID)
	}
	s.send(readyMsg{ids})
	return s
}

func (s *session) send(messages ...tea.Msg) {
	s.t.Helper()
	for _, msg := range messages {
		next, _ := s.Update(msg)
		s.Model = next.(Model)
	}
}

// press presses keys by their names; what has none is typed.
func (s *session) press(keys ...string) {
	s.t.Helper()
	codes := map[string]rune{
		"tab":   tea.KeyTab,
		"enter": tea.KeyEnter, "esc": tea.KeyEscape, "up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight,
		"pgdown": tea.KeyPgDown, "pgup": tea.KeyPgUp, "space": tea.KeySpace, "backspace": tea.KeyBackspace,
	}
	for _, name := range keys {
		if name == "shift+tab" {
			s.send(tea.KeyPressMsg{Code: tea.KeyTab, Mod: tea.ModShift})
			continue
		}
		if key, ok := strings.CutPrefix(name, "ctrl+"); ok {
			s.send(tea.KeyPressMsg{Code: rune(key[0]), Mod: tea.ModCtrl})
			continue
		}
		if code, ok := codes[name]; ok {
			text := ""
			if name == "space" {
				text = " "
			}
			s.send(tea.KeyPressMsg{Code: code, Text: text})
			continue
		}
		for _, r := range name {
			s.send(tea.KeyPressMsg{Code: r, Text: string(r)})
		}
	}
}

// settled ends the pause after a change of the screen.
func (s *session) settled() { s.send(settledMsg(s.review.settling)) }

// shows checks that a text is on the screen.
func (s *session) shows(texts ...string) {
	s.t.Helper()
	for _, text := range texts {
		if screen := s.screen(); !strings.Contains(screen, text) {
			s.t.Errorf("the screen does not show %q:\n%s", text, screen)
		}
	}
}

func (s *session) decided(want ...approvals.Decision) {
	s.t.Helper()
	if diff := cmp.Diff(want, s.did.decisions); diff != "" {
		s.t.Errorf("decided was otherwise:\n%s", diff)
	}
	s.did.decisions = nil
}

// bash is a request to run a command.
func bash(id, command string) approvals.Request {
	arguments, _ := json.Marshal(map[string]string{"command": command})
	return approvals.Request{
		ID: id, Kind: approvals.KindPermission, Status: approvals.StatusPending, ToolName: "bash", Arguments: arguments, ArgsPreview: command,
		RiskLevel: approvals.RiskHigh, Rule: "policy.yaml:7", Reason: "Commands are asked about.", Principal: approvals.Principal{Tenant: "default", User: "bob", Agent: "coder"},
		Context: approvals.Context{LastUserMessage: "Tidy up.", AssistantText: "I will remove the drafts."}, RequiredApprovals: 1,
		AllowRemember: true, SuggestedPatterns: []string{"bash(rm -r drafts)", "bash(rm:*)"},
		Details: approvals.Details{Commands: []string{"rm -r drafts"}}, CreatedAt: noon.Add(-time.Minute), ExpiresAt: noon.Add(4 * time.Minute),
	}
}

func ended(r approvals.Request, status approvals.Status, by, note string) approvals.Request {
	r.Status = status
	r.Decisions = []approvals.Decision{{RequestID: r.ID, Action: approvals.ActionDeny, ReviewerID: by, Note: note}}
	return r
}
