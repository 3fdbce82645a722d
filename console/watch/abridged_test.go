package watch

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
)

// large is a request that lists have abridged.
func large(id string) approvals.Request {
	r := bash(id, "echo "+strings.Repeat("many words ", 4<<10)+"\nrm -r the-end")
	r.ArgsPreview = "echo many…"
	return r
}

// Finding 24: a request that was abridged is read whole when it is opened, once, and it is
// not approved, edited or allowed always before that, nor before all of it was on the screen.
func TestAbridgedRequestIsReadWhole(t *testing.T) {
	whole := large("01A")
	s := begin(t, whole.Abridged())
	if len(s.did.loaded) != 0 {
		t.Fatalf("%q are read whole for the list", s.did.loaded)
	}
	s.press("enter")
	s.settled()
	s.shows("Loading the whole call…")
	s.press("a")
	s.shows("The whole call is being loaded.")
	s.press("e", "r", "a", "esc")
	s.decided()
	if len(s.did.edited) != 0 {
		t.Errorf("the editor has %q", s.did.edited)
	}
	if !slices.Equal(s.did.loaded, []string{"01A"}) {
		t.Errorf("%q are read whole, want 01A once", s.did.loaded)
	}
	s.send(wholeMsg{"01A", whole, nil})
	s.shows("many words")
	s.press("a") // the keys pause: another text is shown
	s.decided()
	s.settled()
	s.press("a")
	s.shows("Not all of it was shown.")
	s.decided()

	one := whole // somebody else approved, and the rest of the call stays where it is
	one.RequiredApprovals, one.Decisions = 2, []approvals.Decision{{RequestID: "01A", Action: approvals.ActionApprove, ReviewerID: "bob"}}
	s.send(requestMsg{one.Abridged()})
	s.shows("many words")
	for range 1000 {
		s.press("pgdown")
	}
	s.shows("the-end")
	s.press("a")
	s.decided(approvals.Decision{RequestID: "01A", Action: approvals.ActionApprove})
	if len(s.did.loaded) != 1 {
		t.Errorf("it was read again: %q", s.did.loaded)
	}
}

// Finding 24: where the whole request cannot be read, nothing is approved, and opening it
// again tries again.
func TestAbridgedRequestCannotBeRead(t *testing.T) {
	whole := large("01A")
	s := begin(t, whole.Abridged())
	s.press("enter")
	s.send(wholeMsg{"01A", approvals.Request{}, errors.New("no console")})
	s.shows("The whole call cannot be read: no console")
	s.settled()
	s.press("a")
	s.decided()
	s.press("esc", "enter")
	if len(s.did.loaded) != 2 {
		t.Errorf("%q are read whole, want 01A twice", s.did.loaded)
	}
}

// Finding 24: what ends while it is read whole has ended.
func TestAbridgedRequestEndsWhileItIsRead(t *testing.T) {
	whole := large("01A")
	edited := ended(whole, approvals.StatusApproved, "bob", "")
	edited.Decisions[0].Action, edited.Decisions[0].ModifiedArgs = approvals.ActionModifyArgs, []byte(`{"command":"ls"}`)
	s := begin(t, whole.Abridged())
	s.press("enter")
	s.send(requestMsg{edited.Abridged()}, wholeMsg{"01A", whole, nil})
	if r := s.list.byID["01A"]; r.Status != approvals.StatusApproved {
		t.Fatalf("it is %s", r.Status)
	}
	if len(s.did.loaded) != 2 {
		t.Fatalf("read whole: %q, want twice: the edit is not known", s.did.loaded)
	}
	s.send(wholeMsg{"01A", edited, nil})
	if r := s.list.byID["01A"]; r.Details.Abridged || len(r.Decisions[0].ModifiedArgs) == 0 {
		t.Errorf("it is %+v", r.Details)
	}
	s.settled()
	s.press("a")
	s.decided()
}
