package watch

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/heldcall/heldcall/approvals"
)

// ofRun is a request of a run whose calls are one question.
func ofRun(run, id, command string) approvals.Request {
	r := bash(id, command)
	r.RunID, r.Together = run, "question of "+run
	return r
}

// beginRun opens the calls of a run together.
func beginRun(t *testing.T, requests ...approvals.Request) *session {
	t.Helper()
	s := begin(t, requests...)
	s.press("A")
	s.settled()
	return s
}

// TestCallsOfARunAreDecidedTogether: one key shows all calls of a run, a second decides them.
func TestCallsOfARunAreDecidedTogether(t *testing.T) {
	first, second, third := ofRun("r", "01A", "make a"), ofRun("r", "01B", "make b"), ofRun("other", "01C", "make c")
	s := begin(t, first, second, third)
	s.press("enter")
	s.settled()
	s.shows("call 1 of 2 · A all")
	s.press("A")
	s.shows("2 pending calls of one question", "1 of 2 · bash · high risk", "make a", "2 of 2 · bash", "make b", "a approve all · d deny all")
	s.press("a")
	s.decided() // the page is new
	s.settled()
	s.press("a")
	s.decided(approvals.Decision{RequestID: "01A", Action: approvals.ActionApprove}, approvals.Decision{RequestID: "01B", Action: approvals.ActionApprove})
	s.press("a")
	s.decided()
	s.send(decidedMsg{approvals.Decision{RequestID: "01A"}, ended(first, approvals.StatusApproved, "ann", ""), nil})
	s.send(requestMsg{ended(second, approvals.StatusApproved, "ann", "")})
	s.send(decidedMsg{approvals.Decision{RequestID: "01B"}, ended(second, approvals.StatusApproved, "ann", ""), nil})
	s.shows("2 calls decided.", "1 waiting", "make c")
	s.settled()
	s.press("a")
	s.decided() // the list is shown
}

// TestCallsOfARunAreDeniedTogether: each gets the note, and those that were decided
// meanwhile are reported.
func TestCallsOfARunAreDeniedTogether(t *testing.T) {
	first, second, third := ofRun("r", "01A", "make a"), ofRun("r", "01B", "make b"), ofRun("r", "01C", "make c")
	s := beginRun(t, first, second, third)
	s.press("d", "not now")
	s.shows("Reason (sent to the model): not now")
	s.press("esc", "d", "no", "enter")
	var want []approvals.Decision
	for _, id := range []string{"01A", "01B", "01C"} {
		want = append(want, approvals.Decision{RequestID: id, Action: approvals.ActionDeny, Note: "no"})
	}
	s.decided(want...)
	s.send(decidedMsg{want[0], ended(first, approvals.StatusDenied, "ann", "no"), nil})
	s.send(decidedMsg{want[1], approvals.Request{}, &approvals.DecidedError{Request: ended(second, approvals.StatusApproved, "rob", "")}})
	s.send(decidedMsg{want[2], approvals.Request{}, errors.New("no connection")})
	s.shows("1 calls decided. Not decided by you: bash was approved by rob; bash: no", "make c")
}

// TestCallsThatWereNotShownAreNotApproved: the rest of a long page is shown first; a call that comes
// later is not decided, and one that is read whole only now is shown again.
func TestCallsThatWereNotShownAreNotApproved(t *testing.T) {
	first, second := ofRun("r", "01A", strings.Repeat("make a\n", 30)), ofRun("r", "01B", "make b")
	s := beginRun(t, first, second)
	s.press("a")
	s.decided()
	s.shows("Not all of the calls were shown.")
	s.press("pgdown", "pgdown", "pgdown")
	s.send(requestMsg{ofRun("r", "01C", "make c")})
	s.shows("1 new, not decided here · 2 pending calls of one question")
	s.press("a")
	s.decided(approvals.Decision{RequestID: "01A", Action: approvals.ActionApprove}, approvals.Decision{RequestID: "01B", Action: approvals.ActionApprove})

	abridged := ofRun("r", "01A", "make a")
	abridged.Details.Abridged, abridged.Arguments = true, nil
	s = beginRun(t, abridged, second)
	if len(s.did.loaded) != 1 {
		t.Fatalf("loaded %q", s.did.loaded)
	}
	s.press("a")
	s.decided()
	s.shows("The whole call is being loaded")
	s.send(wholeMsg{"01A", ofRun("r", "01A", "make a"), nil})
	s.press("a")
	s.decided() // the page has changed
	s.settled()
	s.press("a")
	s.decided(approvals.Decision{RequestID: "01A", Action: approvals.ActionApprove}, approvals.Decision{RequestID: "01B", Action: approvals.ActionApprove})
}

// TestTogetherAndSingle: questions are not decided together, one call is no group, and the way back
// leads to single calls.
func TestTogetherAndSingle(t *testing.T) {
	question := deploying()
	question.ID, question.RunID = "01B", "r"
	s := beginRun(t, ofRun("r", "01A", "make a"), question)
	s.shows("No other pending call is part of this question.")
	s = beginRun(t, ofRun("r", "01A", "make a"), ofRun("r", "01B", "make b"))
	s.press("?")
	s.shows("all calls of one question at once")
	s.press("x", "esc")
	s.settled()
	s.shows("call 1 of 2")
	s.press("a")
	s.decided(approvals.Decision{RequestID: "01A", Action: approvals.ActionApprove})
	s = begin(t)
	s.press("A")
	s.shows("Nothing to review.")
	s = beginRun(t, ofRun("r", "01A", "make a"), ofRun("r", "01B", "make b"))
	for i, id := range []string{"01A", "01B"} {
		s.send(requestMsg{ended(ofRun("r", id, "make"), approvals.StatusDenied, "rob", "")})
		s.shows(fmt.Sprintf("%d pending calls of one question", 1-i))
	}
	s.press("d")
	s.shows("None of the calls is pending.")
}

// TestAMixedRunIsSeveralQuestions: only calls that the server has joined are decided together, and a critical one by itself.
func TestAMixedRunIsSeveralQuestions(t *testing.T) {
	edit := func(id, path string) approvals.Request {
		r := ofRun("r", id, "edit "+path)
		r.Details.Commands = nil
		r.Effects = []approvals.Effect{{Kind: approvals.EffectWrite, Target: path, Place: approvals.PlaceWorkspace}}
		return r
	}
	pushed, critical := ofRun("r", "01B", "git push"), ofRun("r", "01C", "rm -rf /")
	pushed.Together, critical.Together, critical.RiskLevel = "by a rule", "", approvals.RiskCritical
	s := begin(t, edit("01A", "src/a.go"), pushed, critical, edit("01D", "src/b\u202e.go"))
	s.press("j", "j", "j", "j") // those of one question are beside each other
	s.press("A")
	s.shows("This request is decided by itself.")
	s.press("k", "A")
	s.shows("No other pending call is part of this question.")
	s.press("k", "A")
	s.settled()
	s.shows("Edits 2 files in src/ · 2 pending calls of one question")
	s.press("a")
	s.decided(approvals.Decision{RequestID: "01A", Action: approvals.ActionApprove}, approvals.Decision{RequestID: "01D", Action: approvals.ActionApprove})
}

// TestTogetherFits: the page fits each width, and what calls contain does nothing.
func TestTogetherFits(t *testing.T) {
	hostile := ofRun("r", "01A", "echo \x1b[31m\u202e"+strings.Repeat("wide ", 40))
	s := beginRun(t, hostile, ofRun("r", "01B", "make b"))
	for _, width := range []int{20, 40, 120} {
		s.send(tea.WindowSizeMsg{Width: width, Height: 10})
		for line := range strings.Lines(s.screen()) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > width {
				t.Errorf("%d columns in %d: %q", n, width, line)
			}
		}
		inert(t, "together", s)
	}
}

// TestBellRingsOnce: calls that come at once ring the bell once, and those at the start do not.
func TestBellRingsOnce(t *testing.T) {
	s := begin(t, bash("01A", "make"))
	rings := func(r approvals.Request) bool {
		next, cmd := s.Update(requestMsg{r})
		s.Model = next.(Model)
		if cmd == nil {
			return false
		}
		raw, ok := cmd().(tea.RawMsg)
		return ok && raw.Msg == "\a"
	}
	if rings(bash("01A", "make")) {
		t.Error("the bell rings for a known request")
	}
	if !rings(bash("01B", "make")) || rings(bash("01C", "make")) {
		t.Error("two requests at once do not ring the bell once")
	}
	s.send(tickMsg(noon.Add(ringEvery)))
	if rings(ended(bash("01D", "make"), approvals.StatusDenied, "rob", "")) || !rings(bash("01E", "make")) {
		t.Error("a later request does not ring the bell, or one that has ended does")
	}
	s.send(lostMsg{}, openedMsg{}, tickMsg(noon.Add(time.Minute)))
	if rings(bash("01F", "make")) {
		t.Error("what waits at a new connection rings the bell")
	}
}
