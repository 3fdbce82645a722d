package watch

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/console/client"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// script is actions that only remember what they were asked.
type script struct {
	decisions []approvals.Decision
	edited    []string
	loaded    []string
}

func (s *script) decide(d approvals.Decision) tea.Cmd {
	s.decisions = append(s.decisions, d)
	return nil
}

func (s *script) load(id string) tea.Cmd {
	s.loaded = append(s.loaded, id)
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

func TestApproveFromTheList(t *testing.T) {
	s := begin(t, bash("01A", "rm -r drafts"))
	s.shows("1 waiting", "ann, reviewer", "rm -r drafts", "4m00s")
	s.press("a") // the list does not show all of it
	s.decided()
	s.shows("rm -r drafts", "user's message", "Tidy up.", "policy.yaml:7")
	s.press("a") // pressed twice
	s.decided()
	s.settled()
	s.press("a", "a")
	s.decided(approvals.Decision{RequestID: "01A", Action: approvals.ActionApprove})
	s.send(decidedMsg{approvals.Decision{RequestID: "01A"}, ended(bash("01A", "rm"), approvals.StatusApproved, "ann", ""), nil})
	s.shows("bash approved by ann", "Nothing to review", "0 waiting")
}

// After a decision the next request is shown, and a second press does not meet it.
func TestNextRequestIsNotDecidedByAccident(t *testing.T) {
	s := begin(t, bash("01A", "rm -r a"), bash("01B", "rm -r b"))
	s.press("enter")
	s.settled()
	s.press("a")
	s.send(decidedMsg{approvals.Decision{RequestID: "01A"}, ended(bash("01A", "rm"), approvals.StatusApproved, "ann", ""), nil})
	s.shows("rm -r b")
	s.did.decisions = nil
	s.press("a", "d", "e", "r")
	if s.review.question.mode != browsing || len(s.did.edited) > 0 {
		t.Errorf("the mode is %d", s.review.question.mode)
	}
	s.decided()
	s.settled()
	s.press("a")
	s.decided(approvals.Decision{RequestID: "01B", Action: approvals.ActionApprove})
}

func TestDenyWithNote(t *testing.T) {
	s := begin(t, bash("01A", "rm -r drafts"))
	s.press("enter")
	s.settled()
	s.press("d", "nott", "backspace", "space", "aq?", "esc")
	s.decided()
	s.press("d", "keep", "space", "them")
	s.shows("Reason (sent to the model): keep them")
	s.press("enter")
	s.decided(approvals.Decision{RequestID: "01A", Action: approvals.ActionDeny, Note: "keep them"})
}

// What was not on the screen is not approved, however it was scrolled.
func TestWhatWasNotShownIsNotApproved(t *testing.T) {
	var long []string
	for i := range 60 {
		long = append(long, fmt.Sprintf("echo line %d", i))
	}
	s := begin(t, bash("01A", strings.Join(long, "\n")))
	s.press("enter")
	s.settled()
	s.shows("↓ more")
	s.press("a")
	s.decided()
	s.shows("Not all of it was shown", "echo line 20")
	s.press("G", "a") // over the middle
	s.decided()
	s.press("a", "a", "a")
	s.shows("echo line 59")
	s.decided(approvals.Decision{RequestID: "01A", Action: approvals.ActionApprove})

	s.review.deciding = ""
	s.send(tea.WindowSizeMsg{Width: 60, Height: 20}) // other lines: begin again
	s.press("a")
	s.decided()
	for range 10 {
		s.press("pgdown")
	}
	s.press("a")
	s.decided(approvals.Decision{RequestID: "01A", Action: approvals.ActionApprove})

	s.review.deciding = ""
	s.press("v")
	s.send(tea.WindowSizeMsg{Width: 60, Height: 14})
	s.press("r", "a") // as JSON it was not shown
	s.decided()
	s.shows("Not all of it was shown")
	for range 10 {
		s.press("a")
	}
	if len(s.did.decisions) != 1 || s.did.decisions[0].Action != approvals.ActionAllowAlways {
		t.Errorf("when it was shown the decisions are %+v", s.did.decisions)
	}
}

// A key types nothing and uses no passkey, so it does not approve what the rule has confirmed.
func TestConfirmationIsNotTypedHere(t *testing.T) {
	for _, tt := range []struct {
		details approvals.Details
		shows   string
	}{
		{approvals.Details{Confirm: "drafts"}, "approve --confirm"},
		{approvals.Details{Passkey: true}, "use your passkey in the inbox"},
	} {
		r := bash("01A", "rm -r drafts")
		r.Details.Confirm, r.Details.Passkey = tt.details.Confirm, tt.details.Passkey
		s := begin(t, r)
		s.press("enter")
		s.settled()
		s.press("a")
		s.decided()
		s.shows(tt.shows)
		s.press("d", "enter")
		s.decided(approvals.Decision{RequestID: "01A", Action: approvals.ActionDeny})
	}
}

func TestEditShowsTheDifference(t *testing.T) {
	s := begin(t, bash("01A", "rm -r drafts"))
	s.press("enter")
	s.settled()
	s.press("e")
	if want := []string{`01A {"command":"rm -r drafts"}`}; !reflect.DeepEqual(s.did.edited, want) {
		t.Errorf("edited is %q", s.did.edited)
	}
	s.send(draftMsg{"01A", nil, errors.New("no editor")})
	s.shows("Nothing was decided: no editor")
	s.send(draftMsg{"01A", []byte(`{"command":"rm -r cache"}`), nil})
	s.shows(`-   "command": "rm -r drafts"`, `+   "command": "rm -r cache"`)
	s.press("a", "j") // mean nothing here
	s.decided()
	s.press("enter")
	edit := approvals.Decision{RequestID: "01A", Action: approvals.ActionModifyArgs, ModifiedArgs: []byte(`{"command":"rm -r cache"}`)}
	s.decided(edit)
	s.send(decidedMsg{edit, approvals.Request{}, &approvals.InvalidError{Field: "modified_args", Reason: "/command: no"}})
	s.shows("Still pending", "/command: no", "(e edits")
	s.press("e")
	if want := `01A {"command":"rm -r cache"}`; s.did.edited[1] != want {
		t.Errorf("edited again is %q", s.did.edited[1])
	}
	s.press("esc")
	s.shows("rm -r drafts", "user's message")
}

// TestFinding30_CommandsAreShownWhole: Finding 30. The lines of a here-document are no
// commands of their own.
func TestFinding30_CommandsAreShownWhole(t *testing.T) {
	r := bash("01A", "cat > /etc/cron.d/x")
	r.Details.Commands = []string{"cat > /etc/cron.d/x << E\nruns ls\nE", "make > out"}
	s := begin(t, r)
	s.press("enter")
	s.settled()
	s.shows("runs cat > /etc/cron.d/x << E\n     runs ls\n     E\nruns make > out")
}

// TestFinding28_EveryExactPatternIsChosen: Finding 28. A script takes all of them.
func TestFinding28_EveryExactPatternIsChosen(t *testing.T) {
	r := bash("01A", "npm run lint && make")
	r.SuggestedPatterns = []string{"bash(npm run lint)", "bash(make)"}
	s := begin(t, r)
	s.press("enter")
	s.settled()
	s.press("r", "a")
	s.decided(approvals.Decision{RequestID: "01A", Action: approvals.ActionAllowAlways, Patterns: r.SuggestedPatterns, Scope: approvals.GrantAgent})
}

func TestRememberPatterns(t *testing.T) {
	s := begin(t, bash("01A", "rm -r drafts"))
	s.press("enter")
	s.settled()
	s.press("r")
	s.shows("1 [x] bash(rm -r drafts)", "2 [ ] bash(rm:*)")
	s.press("1", "a")
	s.decided()
	s.press("2", "9", "a")
	s.decided(approvals.Decision{RequestID: "01A", Action: approvals.ActionAllowAlways, Patterns: []string{"bash(rm:*)"}, Scope: approvals.GrantAgent})

	fixed := bash("01B", "ls")
	fixed.AllowRemember, fixed.Details.Fixed = false, true
	s = begin(t, fixed)
	s.press("enter")
	s.settled()
	s.press("r")
	s.shows("cannot be remembered")
	s.press("e")
	s.shows("cannot be edited")
}

func TestTheSlowerIsToldWhoDecided(t *testing.T) {
	r := bash("01A", "rm -r drafts")
	s := begin(t, r, bash("01B", "ls"))
	s.press("enter")
	s.settled()
	s.press("d", "because")
	s.send(requestMsg{ended(r, approvals.StatusDenied, "bob", "not on a Friday")})
	s.shows("It was decided meanwhile: denied by bob: not on a Friday")
	s.press("esc")
	s.settled()
	s.press("a", "d")
	s.shows("It has ended: denied by bob")
	s.decided()
	s.press("esc")
	s.shows("1 waiting")
	if strings.Contains(s.screen(), "drafts") {
		t.Errorf("the list shows what has ended:\n%s", s.screen())
	}

	s = begin(t, r)
	s.press("enter")
	s.settled()
	s.press("a")
	s.send(decidedMsg{approvals.Decision{RequestID: "01A"}, approvals.Request{}, &approvals.DecidedError{Request: ended(r, approvals.StatusDenied, "bob", "no")}})
	s.shows("You were too late: denied by bob: no")

	gone := r
	gone.Status, gone.Details.CancelReason = approvals.StatusCancelled, approvals.CancelAgentGone
	s = begin(t, r)
	s.press("enter")
	s.settled()
	s.send(requestMsg{gone})
	s.shows("cancelled: its agent has gone")
}

func TestLostConnectionIsSaid(t *testing.T) {
	s := begin(t, bash("01A", "ls a"), bash("01B", "ls b"))
	s.press("j", "enter")
	s.send(lostMsg{errors.New("gone")}, tickMsg(noon.Add(12*time.Second)), lostMsg{errors.New("gone")})
	s.shows("DISCONNECTED 12s")
	s.send(openedMsg{}, requestMsg{bash("01C", "ls c")}, readyMsg{[]string{"01C"}})
	if s.connection.connected != true || strings.Contains(s.screen(), "DISCONNECTED") {
		t.Errorf("it is back:\n%s", s.screen())
	}
	s.shows("it ended while the connection was lost") // which is looked at
	s.press("esc")
	s.shows("1 waiting", "ls c")
	s.send(refusedMsg{errors.New("your token was taken back")})
	if s.failure == nil {
		t.Error("a refusal does not end it")
	}
}

// Updates leave the model that they were made from as it was.
func TestUpdateIsPure(t *testing.T) {
	s := begin(t, bash("01A", "ls a"), bash("01B", "ls b"))
	s.press("enter")
	s.settled()
	before := s.Model
	screen := s.screen()
	for _, msg := range []tea.Msg{
		requestMsg{bash("01C", "ls c")},
		requestMsg{ended(bash("01A", "ls a"), approvals.StatusDenied, "bob", "")},
		openedMsg{},
		readyMsg{},
		lostMsg{},
		tickMsg(noon.Add(time.Hour)),
		tea.KeyPressMsg{Code: 'd', Text: "d"},
		tea.KeyPressMsg{Code: 'r', Text: "r"},
		tea.WindowSizeMsg{Width: 40, Height: 10},
		decidedMsg{approvals.Decision{RequestID: "01A"}, ended(bash("01A", "ls a"), approvals.StatusDenied, "ann", ""), nil},
	} {
		before.Update(msg)
		if got := plain(before.View().Content); got != screen {
			t.Fatalf("%T changed the model it came to:\n%s", msg, got)
		}
	}
}

func TestFilter(t *testing.T) {
	s := begin(t, bash("01A", "rm -r drafts"), bash("01B", "ls notes"))
	s.press("/", "NOTES")
	if screen := s.screen(); strings.Contains(screen, "drafts") || !strings.Contains(screen, "ls notes") {
		t.Errorf("filtered is\n%s", screen)
	}
	s.press("enter", "enter")
	s.shows("ls notes")
	s.press("esc", "esc")
	s.shows("rm -r drafts", "ls notes")
	s.press("/", "nothing has this", "enter")
	s.shows("No match.")
	s.press("/", "esc")
	s.shows("rm -r drafts")
}
