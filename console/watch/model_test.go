package watch

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/heldcall/heldcall/approvals"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

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
	s.shows("not to be remembered")
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
